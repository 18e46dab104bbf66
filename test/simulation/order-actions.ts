// Actions around orders. Shops make, cancel and accept them. Customers pay them exactly, short,
// over and late, and ask for new quotes. The market's rate changes.

import { addressToScript } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { type PaymentJson, paymentLine } from '../../src/domain/order/order-json.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import type { Reply } from '../support/app.ts';
import { open } from './app-actions.ts';
import { noteFinals } from './invariants.ts';
import { amountSatOf, answeredOrder, type SimulatedOrder } from './orders.ts';
import type { Random } from './random.ts';
import { type Action, finish, noteVersion, type Run, settle } from './run.ts';
import { indexOf } from './wallet-keys.ts';

const post = (run: Run, path: string, body: object = {}): Promise<Reply> =>
  finish(run, run.app.ask(`/api/v3/orders${path}`, { method: 'POST', body: JSON.stringify(body) }));

/** Records the version that a shop is answered. */
const noteAnswer = (run: Run, { status, body }: Reply): void =>
  void (status === 200 && noteVersion(run, body.id, body.version));

const shown = (cents: number): string =>
  `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;

function somePrice(random: Random) {
  if (random.chance(0.4)) {
    const amountSat = random.int(1_000, 3_000_000);
    return { price: { kind: 'sat', amountSat }, body: { amount_sat: amountSat } } as const;
  }
  const cents = random.int(100, 200_000);
  return {
    price: { kind: 'fiat', currency: 'EUR', minor: BigInt(cents) },
    body: { amount: shown(cents), currency: 'EUR' },
  } as const;
}

export const order: Action = async (run, random) => {
  const shop = random.pick(open(run));
  const { price, body } = somePrice(random);
  const tolerance = random.pick([0, 0.5, 5]);
  const reply = await post(run, '', {
    ...body,
    store_id: shop.id,
    expires_in: random.pick([300, 900, 3_600, 2_592_000, 0]),
    quote_seconds: random.pick([300, 900]),
    tolerance_percent: tolerance,
  });
  noteAnswer(run, reply);
  // No price, or no scanned wallet.
  if (reply.status === 503) return `order: ${shop.name} none, ${reply.body.message}`;
  if (reply.status !== 200) throw new Error(`no order: ${JSON.stringify(reply.body)}`);
  const { address } = reply.body;
  const known = run.issued.find((each) => each.address === address);
  if (known !== undefined) throw new Error(`${address} was issued before its order`);
  const toleranceBasisPoints = tolerance * 100;
  run.shopOrders.set(
    address,
    answeredOrder(run.app.path, { price, toleranceBasisPoints }, reply.body),
  );
  const index = indexOf(shop.wallet, address);
  run.issued.push({ address, shop, index, script: addressToScript(address, networks.regtest) });
  return `order: ${shop.name} ${index}, ${JSON.stringify(body)}`;
};

const someOrder = ({ shopOrders }: Run, random: Random): SimulatedOrder | undefined =>
  random.recent([...shopOrders.values()]);

/** The satoshis of a payment to an order. */
function someValue(order: SimulatedOrder, random: Random): number {
  const amountSat = amountSatOf(order);
  const how = random.weighted({ exact: 5, short: 2, over: 1.5, tolerated: 1.5, part: 2 });
  const part = { exact: 1, short: 0.99, over: 1.2, tolerated: 0.996, part: 0.5 }[how];
  return Math.max(600, Math.ceil(amountSat * part));
}

const payOrder: Action = (run, random) => {
  const chosen = someOrder(run, random);
  return chosen === undefined ? order(run, random) : payTo(run, random, chosen);
};

function payTo(run: Run, random: Random, chosen: SimulatedOrder): string {
  const values = Array.from({ length: random.int(1, 2) }, () => someValue(chosen, random));
  try {
    for (const valueSat of values) run.app.chain.pay([{ address: chosen.address, valueSat }]);
  } catch (error) {
    if (error instanceof PaygateError) return `payOrder: refused, ${error.message}`;
    throw error;
  }
  return `payOrder: ${chosen.id} ${amountSatOf(chosen)} with ${values.join(' and ')}`;
}

type Command = 'quote' | 'cancel' | 'accept';

async function command(run: Run, random: Random, name: Command): Promise<string> {
  const chosen = someOrder(run, random);
  return chosen === undefined ? `${name}: no order` : commandOf(run, chosen, name);
}

/** Sends a command. A refusal by the order's status is no failure. */
async function commandOf(run: Run, chosen: SimulatedOrder, name: Command): Promise<string> {
  noteFinals(run);
  const reply = await post(run, `/${chosen.id}/${name}`);
  noteAnswer(run, reply);
  const { status, body } = reply;
  const what = `${name}: ${chosen.id}`;
  if (status === 409 || status === 503) return `${what} refused, ${body.message}`;
  if (status !== 200) throw new Error(`${what} ${status} ${JSON.stringify(body)}`);
  run.shopOrders.set(chosen.address, answeredOrder(run.app.path, chosen, body));
  if (name === 'cancel' && body.status !== 'canceled') throw new Error(`${what}: ${body.status}`);
  return `${what} ${body.status}, version ${body.version}`;
}

/** A smaller amount may need fewer confirmations, which the next block finds. */
const requote: Action = async (run, random) => {
  const done = await command(run, random, 'quote');
  run.needsBlock = true;
  return done;
};

export function requoteOrder(run: Run, chosen: SimulatedOrder): Promise<string> {
  run.needsBlock = true;
  return commandOf(run, chosen, 'quote');
}

const cancelOrder: Action = (run, random) => command(run, random, 'cancel');
const acceptOrder: Action = (run, random) => command(run, random, 'accept');

const setRate: Action = (run, random) => {
  run.market.euros = random.pick([undefined, 40_000, 50_000, 60_000, 61_234.56]);
  return `setRate: ${run.market.euros ?? 'no answer'}`;
};

/**
 * An order is paid while paygate is down, and its quote ends meanwhile. A payment is on time if the
 * quote was in force when the outage began.
 */
const outage: Action = async (run, random) => {
  const chosen = someOrder(run, random);
  if (chosen === undefined) return order(run, random);
  const { app, world, activeFaults } = run;
  const isSteady =
    activeFaults.length === 0 && !run.steps.some((each) => /^(jump|sleep|exhaust)/.test(each));
  if (isSteady) await settle(run);
  const hadQuote = hasQuote(chosen, world.now());
  await finish(run, app.stop());
  const before = new Set(app.chain.mempool());
  const paid = payTo(run, random, chosen);
  const added = app.chain.mempool().filter((each) => !before.has(each));
  const minutes = random.pick([6, 18]);
  await world.advance(minutes * 60_000);
  await app.start();
  if (isSteady && hadQuote) {
    await settle(run);
    const { body } = await finish(run, app.ask(`/api/v3/orders/${chosen.id}`));
    const late = added.filter(({ txid }) =>
      body.payments.some((each: PaymentJson) => paymentLine(each).txid === txid && each.late),
    );
    if (late.length > 0) throw new Error(`late by our outage: ${JSON.stringify(body)}`);
  }
  return `outage: ${minutes} min, ${paid}`;
};

/** Whether a payment is on time now. */
const hasQuote = ({ price, quotes, expiresAt }: SimulatedOrder, now: number): boolean =>
  (price.kind === 'sat' ? [{ expiresAt }] : quotes).some(
    (each) => (each.expiresAt ?? now + 1) > now,
  );

/** Quotes lapse, orders expire. */
const lapse: Action = async (run, random) => {
  const minutes = random.pick([6, 18, 63]);
  await run.world.advance(minutes * 60_000);
  return `lapse: ${minutes} min`;
};

export const orderActions = {
  ...{ order, payOrder, requote, cancelOrder, acceptOrder, setRate, lapse, outage },
};

export const orderWeights: Readonly<Record<keyof typeof orderActions, number>> = {
  order: 11,
  payOrder: 12,
  requote: 4,
  cancelOrder: 1.5,
  acceptOrder: 2,
  setRate: 3,
  lapse: 4,
  outage: 3,
};
