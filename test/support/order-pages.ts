// Every state of an order's page, and how an order gets there.

import { CustomerPage } from '../../src/checkout/customer-page.tsx';
import type { Reading } from '../../src/checkout/reading.ts';
import type { Translation } from '../../src/checkout/words/languages.ts';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { inEuros, type OrderScene, openOrder } from './order-scene.ts';

const texts = { reference: '1007', description: 'Café', returnUrl: 'https://shop.example/' };
const openPriced = (changes: Parameters<typeof openOrder>[0] = {}): Promise<OrderScene> =>
  openOrder({ ...inEuros, ...texts, ...changes });

type Steps = (scene: OrderScene) => Promise<unknown>;

async function reach(scene: Promise<OrderScene>, steps: Steps): Promise<OrderScene> {
  await steps(await scene);
  return scene;
}

const quoteMs = 15 * minuteMs;
const lateMs = quoteMs + 5 * minuteMs;

const byName = {
  open: () => openPriced(),
  openInSatoshis: () => openOrder(texts),
  openWithoutEnd: () => openOrder({ expiresAt: null }),
  partPaid: () => reach(openPriced(), ({ pay }) => pay(10_000)),
  lapsed: () => reach(openPriced(), ({ pass }) => pass(quoteMs)),
  lapsedPartPaid: () =>
    reach(openPriced(), async ({ pay, pass }) => {
      await pay(10_000);
      await pass(quoteMs);
    }),
  fallen: () =>
    reach(openPriced(), async ({ pay, evict }) => {
      await pay(25_000);
      await evict();
    }),
  fallenAndLapsed: () =>
    reach(openPriced(), async ({ pay, evict, pass }) => {
      await pay(25_000);
      await evict();
      await pass(quoteMs);
    }),
  fallenAndExpired: () =>
    reach(openPriced(), async ({ pay, evict, pass }) => {
      await pay(25_000);
      await evict();
      await pass(2 * hourMs);
    }),
  replaced: () =>
    reach(openPriced(), async ({ pay, replace }) => {
      await pay(25_000);
      await replace(24_990);
    }),
  takenBack: () =>
    reach(openPriced(), async ({ pay, replace }) => {
      await pay(25_000);
      await replace(0);
    }),
  unpriced: () =>
    reach(openPriced(), async ({ pass, pay }) => {
      await pass(lateMs);
      await pay(25_000);
    }),
  asked: () =>
    reach(openPriced({ latePolicy: 'ask' }), async ({ pass, pay, requote }) => {
      await pass(lateMs);
      await pay(25_000);
      await pass(30 * minuteMs);
      await requote(5_000_000);
    }),
  askedAndExpired: () =>
    reach(openPriced({ latePolicy: 'ask' }), async ({ pass, pay }) => {
      await pass(lateMs);
      await pay(25_000);
      await pass(2 * hourMs);
    }),
  accepted: () =>
    reach(openPriced({ latePolicy: 'ask' }), async ({ pass, pay, accept }) => {
      await pass(lateMs);
      await pay(25_000);
      await accept();
    }),
  processing: () => reach(openPriced(), ({ pay }) => pay(25_000)),
  processingLate: () =>
    reach(openOrder(), async ({ pass, pay }) => {
      await pass(2 * hourMs);
      await pay(25_000);
    }),
  paid: () =>
    reach(openPriced(), async ({ pay, mine }) => {
      await pay(25_000);
      await mine(2);
    }),
  paidTooMuch: () =>
    reach(openPriced(), async ({ pay, mine }) => {
      await pay(20_000);
      await pay(6_000);
      await mine(2);
    }),
  paidAgain: () =>
    reach(openPriced(), async ({ pay, mine, pass, price }) => {
      await pay(25_000);
      await mine(2);
      await pass(45 * minuteMs);
      await pay(5_000);
      await price(5_000_000);
    }),
  refunded: () =>
    reach(openPriced(), async ({ pay, mine, refund }) => {
      await pay(31_000);
      await mine(2);
      await refund(5_000, 1_000);
    }),
  refundedInPart: () =>
    reach(openPriced(), async ({ pay, mine, refund }) => {
      await pay(31_000);
      await mine(2);
      await refund(2_000);
    }),
  refundAsked: () =>
    reach(openPriced(), async ({ pay, mine, prepareRefund }) => {
      await pay(31_000);
      await mine(2);
      await prepareRefund(6_000, null);
    }),
  refundPrepared: () =>
    reach(openPriced(), async ({ pay, mine, cancel, prepareRefund }) => {
      await pay(10_000);
      await mine(2);
      await cancel();
      await prepareRefund(10_000, 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080');
    }),
  canceledAndRefunded: () =>
    reach(openPriced(), async ({ pay, mine, cancel, refund }) => {
      await pay(10_000);
      await mine(2);
      await cancel();
      await refund(10_000);
    }),
  expiredAndRefunded: () =>
    reach(openPriced(), async ({ pay, mine, pass, refund }) => {
      await pay(10_000);
      await mine(2);
      await pass(2 * hourMs);
      await refund(10_000);
    }),
  rest: () => reach(openPriced(), ({ pay }) => pay(24_500)),
  expired: () => reach(openPriced(), ({ pass }) => pass(2 * hourMs)),
  expiredWithMoney: () =>
    reach(openPriced(), async ({ pay, pass }) => {
      await pay(10_000);
      await pass(2 * hourMs);
    }),
  canceled: () => reach(openPriced(), ({ cancel }) => cancel()),
  canceledWithMoney: () =>
    reach(openPriced(), async ({ pay, cancel }) => {
      await pay(10_000);
      await cancel();
    }),
} satisfies Record<string, () => Promise<OrderScene>>;

export type StateName = keyof typeof byName;
export const stateNames = Object.keys(byName) as StateName[];

export const openState = (name: StateName): Promise<OrderScene> => byName[name]();

/** A reader who did not choose a language. */
export const readerOf = (translation: Translation): Reading => ({
  ...translation,
  langQuery: '',
  queryIn: (code) => `?lang=${code}`,
});

export const renderOrder = async (scene: OrderScene, translation: Translation): Promise<string> =>
  String(await CustomerPage({ shown: scene.shown(), reading: readerOf(translation) }));
