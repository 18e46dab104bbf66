// An order of a stranger: what is refused, and that many at once never widen the gap.

import { afterEach, describe, expect, test } from 'vitest';
import { type LinkOrderOptions, orderByLink } from '../../src/checkout/link-order.ts';
import { type LinkBody, parseLinkInput } from '../../src/domain/order/link-input.ts';
import { LinkRefusal } from '../../src/domain/order/link-refusal.ts';
import { idBytes, idOf } from '../../src/domain/order/order-id.ts';
import { type PayerInput, parsePayerInput } from '../../src/domain/order/payer-input.ts';
import { scanGap, unpaidLimitOf } from '../../src/domain/store/allocation.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { nextTurn } from '../../src/lib/next-turn.ts';
import { cleanUp } from '../support/files.ts';
import { openShop, type Shop } from '../support/ledger.ts';
import { now } from '../support/store.ts';

afterEach(cleanUp);

const linkGap = unpaidLimitOf(scanGap);

interface Stranger {
  readonly shop: Shop;
  readonly issued: string[];
  /** From a network of its own each time, or from a given one. */
  order(amount?: string, network?: string, formKey?: string): Promise<string>;
}

/** Orders by a new link. An order answers its status, or why it was refused. */
async function openLink(
  body: LinkBody,
  changes: Partial<LinkOrderOptions> = {},
): Promise<Stranger> {
  const shop = await openShop();
  const input = { ...parseLinkInput({ title: 'Tips', ...body }), storeId: 1 };
  const publicId = idOf('lnk', new Uint8Array(idBytes));
  const link = await shop.write((tx) => shop.links.create(tx, now, { ...input, publicId }));
  const issued: string[] = [];
  let ids = 0;
  let clients = 0;
  const nextClient = (): string => {
    clients += 1;
    return `192.0.2.${clients}`;
  };
  const options: LinkOrderOptions = {
    records: shop,
    world: {
      now: () => now,
      randomBytes(length) {
        ids += 1;
        return new Uint8Array(length).fill(ids);
      },
    },
    prices: { rateCents: async (currency) => (currency === 'EUR' ? 5_000_000 : null) },
    walletGap: scanGap,
    checkIssuing: () => {},
    ensureInvoice: async () => {},
    isPending: () => false,
    onIssued: ({ address }) => void issued.push(address),
    ...changes,
  };
  async function order(amount?: string, network = nextClient(), formKey?: string): Promise<string> {
    const { input } = parsePayerInput(link, { amount });
    const form = { ...(input as PayerInput), language: 'de', network, formKey };
    try {
      return (await orderByLink(options, link, form)).status;
    } catch (error) {
      if (error instanceof LinkRefusal) return error.reason;
      if (error instanceof PaygateError) return error.message;
      throw error;
    }
  }
  return { shop, issued, order };
}

const countOf = (outcomes: readonly string[], outcome: string): number =>
  outcomes.filter((each) => each === outcome).length;

describe('an order by a link', () => {
  test('has an address that is watched, and the price of now', async () => {
    const { shop, issued, order } = await openLink({ currency: 'EUR', min: '5' });
    expect(await order('12,50')).toBe('open');
    const [row] = shop.orderView.list({ limit: 2 });
    if (row === undefined) throw new Error('there is no order');
    expect(shop.orderView.json(row, now)).toMatchObject({
      ...{ amount: '12.50', amount_sat: 25_000, language: 'de', address: issued[0] },
    });
  });

  test.each<[string, LinkBody, string, Partial<LinkOrderOptions>]>([
    ['inactive', { active: false, amount_sat: 5_000 }, '', {}],
    ['no-price', { currency: 'CHF' }, '10', {}],
    ['no-price', { currency: 'EUR' }, '10', { prices: undefined }],
    ['too-small', { currency: 'EUR' }, '0.01', {}],
    ['too-large', { currency: 'EUR' }, '9999999999999', {}],
  ])('is refused: %s %#', async (reason, body, amount, changes) => {
    const { shop, issued, order } = await openLink(body, changes);
    expect(await order(amount)).toBe(reason);
    expect([issued, shop.orderView.list({ limit: 2 })]).toEqual([[], []]);
  });

  test('waits for its Lightning invoice', async () => {
    const asked: number[] = [];
    const ensureInvoice: LinkOrderOptions['ensureInvoice'] = async ({ id }) => {
      await nextTurn();
      asked.push(id);
    };
    const { order } = await openLink({ amount_sat: 5_000 }, { ensureInvoice });
    await order();
    expect(asked).toEqual([1]);
  });

  test('is refused while no address may be issued, and while there is no fresh price', async () => {
    const refuse = () => {
      throw new PaygateError('unavailable', 'not now');
    };
    const displaced = await openLink({ amount_sat: 5_000 }, { checkIssuing: refuse });
    expect(await displaced.order()).toBe('not now');
    const stale = await openLink(
      { currency: 'EUR' },
      { prices: { rateCents: async () => refuse() } },
    );
    expect(await stale.order('10')).toBe('no-price');
    expect([...displaced.issued, ...stale.issued]).toEqual([]);
  });
});

test('a stranger who is refused costs no question for the price', async () => {
  let asked = 0;
  const rateCents = async () => {
    asked += 1;
    return 5_000_000;
  };
  const { order } = await openLink({ currency: 'EUR', amount: '10.00' }, { prices: { rateCents } });
  for (let count = 0; count < 4; count += 1) await order(undefined, '192.0.2.99');
  expect(asked).toBe(3);
  for (let count = 3; count < linkGap; count += 1) await order();
  expect([await order(), asked]).toEqual(['gap', linkGap]);
});

test('a form that is sent twice at once makes one order, with one quote', async () => {
  const { shop, issued, order } = await openLink({ currency: 'EUR', amount: '10.00' });
  const sent = ['one', 'one', 'two'].map((formKey) => order(undefined, '192.0.2.1', formKey));
  expect(await Promise.all(sent)).toEqual(['open', 'open', 'open']);
  const rows = shop.orderView.list({ limit: 9 });
  expect(rows.map((row) => shop.orderView.record(row).quotes.length)).toEqual([1, 1]);
  expect(issued).toHaveLength(2);
});

test('50 orders at once never widen the gap, and the shop goes on', async () => {
  const { shop, issued, order } = await openLink({ currency: 'EUR', amount: '10.00' });
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => order()));
  expect([countOf(outcomes, 'open'), countOf(outcomes, 'gap')]).toEqual([linkGap, 50 - linkGap]);
  expect(new Set(issued).size).toBe(linkGap);
  expect(shop.catalog.wallet(1).nextIndex).toBe(linkGap);
  expect((await shop.issue()).address).not.toBe('');
  expect(await order()).toBe('gap');
});
