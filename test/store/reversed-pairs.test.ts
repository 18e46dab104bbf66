// An order.paid that the chain took back before it was sent, and its order.reversed. They are left
// out only if the shop certainly knows the state that is left.

import { asc } from 'drizzle-orm';
import { afterEach, describe, expect, test } from 'vitest';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';
import type { AttemptRecord } from '../../src/store/delivery/attempts.ts';
import { deliveries, eventColumns, isOf } from '../../src/store/schema/delivery-schema.ts';
import { createRandom } from '../simulation/random.ts';
import { cleanUp } from '../support/files.ts';
import { type OrderScene, openOrder } from '../support/order-scene.ts';
import { now } from '../support/store.ts';

afterEach(cleanUp);

const rows = ({ shop }: OrderScene) =>
  shop.database.orm
    .select(eventColumns)
    .from(deliveries)
    .where(isOf('webhook'))
    .orderBy(asc(deliveries.id))
    .all();

/** The last events and their states, without `order.` */
const lastStates = (scene: OrderScene, count = 2): string[] =>
  rows(scene)
    .slice(-count)
    .map(({ type, state }) => `${type.replace('order.', '')} ${state}`);

const sentPair = ['paid superseded', 'reversed owed'];
const mootPair = ['paid superseded', 'reversed superseded'];

/** Far behind every time of a scene: all pending events are due. */
const later = now + 400 * hourMs;

/** The shop receives what is due. @returns the bodies, in order */
async function send(scene: OrderScene, outcome: 'delivered' | 'timeout' = 'delivered') {
  const { webhooks, write } = scene.shop;
  const limits = { limit: 9, perReceiver: 9, leaseMs: 30_000, afterReceiverId: 0 };
  const bodies: string[] = [];
  for (;;) {
    const [claimed] = await write((tx) => webhooks.claim(tx, later, { ...limits, limit: 1 }));
    if (claimed === undefined) return bodies;
    bodies.push(claimed.content);
    const attempt: AttemptRecord = {
      ...{ startedAt: later, durationMs: 5, outcome, httpStatus: null, reason: null, body: null },
      ...{ address: null, phases: {}, doubt: null },
    };
    const next = { step: claimed.step + 1, at: later + hourMs };
    await write((tx) => webhooks.record(tx, later, claimed, attempt, next));
  }
}

const openEuros = () => openOrder({ expiresAt: null });

describe('neither is sent', () => {
  test('if the shop knows nothing of the order, and nothing is left', async () => {
    const scene = await openEuros();
    await scene.pay(25_000);
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(lastStates(scene)).toEqual(mootPair);
    expect(await send(scene)).toEqual([]);
  });

  test('if the last event that it received shows what is left', async () => {
    const scene = await openEuros();
    await scene.pay(25_000);
    await send(scene);
    await scene.mine(2);
    await scene.reorganise(2, 'mempool');
    expect(lastStates(scene)).toEqual(mootPair);
    await scene.mine(2);
    await scene.reorganise(2, 'mempool');
    expect(lastStates(scene)).toEqual(mootPair);
    expect(await send(scene)).toEqual([]);
  });
});

describe('order.reversed is sent', () => {
  test('if the order is open as the shop knows it, without money that it knows', async () => {
    const scene = await openEuros();
    await scene.pay(10_000);
    await send(scene);
    await scene.pay(15_000);
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(scene.json()).toMatchObject({ status: 'open', received_sat: 0 });
    expect(lastStates(scene)).toEqual(sentPair);
  });

  test('if the shop knows nothing of the order, and money is left', async () => {
    const scene = await openEuros();
    await scene.pay(10_000);
    await scene.mine(2);
    await scene.pay(15_000);
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(scene.json()).toMatchObject({ status: 'open', received_sat: 10_000 });
    expect(lastStates(scene)).toEqual(sentPair);
  });

  test('if less of the same money is final than the shop knows', async () => {
    const scene = await openEuros();
    await scene.pay(10_000);
    await scene.mine(2);
    await scene.pay(15_000);
    await send(scene);
    expect(scene.json()).toMatchObject({ status: 'processing', confirmed_sat: 10_000 });
    await scene.mine(2);
    await scene.reorganise(4, 'mempool');
    expect(scene.json()).toMatchObject({ status: 'processing', confirmed_sat: 0 });
    expect(lastStates(scene)).toEqual(sentPair);
  });

  test('if other payments of the same sum are left than the shop knows', async () => {
    const scene = await openEuros();
    await scene.pay(25_000);
    await send(scene);
    await scene.replace(25_000);
    await scene.mine(2);
    await scene.reorganise(2, 'mempool');
    expect(scene.json()).toMatchObject({ status: 'processing', received_sat: 25_000 });
    expect(lastStates(scene)).toEqual(sentPair);
  });

  test('if the shop does not know that the order was accepted', async () => {
    const scene = await openEuros();
    scene.shop.chain.pay([{ address: scene.json().address, valueSat: 10_000 }]);
    await scene.mine(2);
    expect(await send(scene)).toHaveLength(1);
    await scene.pay(5_000);
    await scene.accept();
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(scene.json()).toMatchObject({ status: 'open', confirmed_sat: 10_000 });
    expect(lastStates(scene)).toEqual(sentPair);
  });

  test('if the shop may have received an event whose request failed', async () => {
    const scene = await openEuros();
    await scene.pay(25_000);
    expect(await send(scene, 'timeout')).toHaveLength(1);
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(scene.json()).toMatchObject({ status: 'open', received_sat: 0 });
    expect(lastStates(scene, 3)).toEqual(['processing superseded', ...sentPair]);
  });

  test('if the record of a request was lost with the process', async () => {
    const scene = await openEuros();
    const { webhooks, write } = scene.shop;
    await scene.pay(25_000);
    await write((tx) =>
      webhooks.claim(tx, later - hourMs, {
        limit: 1,
        perReceiver: 1,
        leaseMs: 1,
        afterReceiverId: 0,
      }),
    );
    await write((tx) => webhooks.releaseLeases(tx));
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(lastStates(scene, 3)).toEqual(['processing superseded', ...sentPair]);
  });

  test('if the lease of a request ended without a record', async () => {
    const scene = await openEuros();
    const { webhooks, write } = scene.shop;
    await scene.pay(25_000);
    const at = now + minuteMs;
    await write((tx) =>
      webhooks.claim(tx, at, { limit: 1, perReceiver: 1, leaseMs: 1, afterReceiverId: 0 }),
    );
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(lastStates(scene, 3)).toEqual(['processing superseded', ...sentPair]);
  });

  test('if an older event will still be sent', async () => {
    const scene = await openOrder();
    await scene.pass(2 * hourMs);
    await scene.pay(25_000);
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(scene.json().status).toBe('expired');
    expect(rows(scene).map(({ type, state }) => `${type} ${state}`)).toEqual([
      ...['order.expired owed', 'order.processing superseded'],
      ...['order.paid superseded', 'order.reversed owed'],
    ]);
  });

  test('if the shop had no webhook for an event', async () => {
    const scene = await openOrder({ expiresAt: null }, { webhookUrl: null });
    await scene.pay(25_000);
    await scene.shop.write((tx) =>
      scene.shop.catalog.changeStore(tx, 1, { webhookUrl: 'https://shop.example/hook' }),
    );
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(lastStates(scene, 3)).toEqual(['processing unsent', ...sentPair]);
  });
});

describe('in a copy, whose original may have sent more, order.reversed is sent', () => {
  const copied = (scene: OrderScene, at: number) =>
    scene.shop.write((tx) => scene.shop.state.versionsRaisedAt.write(tx, at));
  const beforeAll = now - 1;

  test('although the file knows of no event', async () => {
    const scene = await openEuros();
    await copied(scene, now);
    await scene.pay(25_000);
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(lastStates(scene)).toEqual(sentPair);
  });

  test('although the file delivered what is left', async () => {
    const scene = await openEuros();
    await scene.pay(25_000);
    await send(scene);
    await copied(scene, now + minuteMs);
    await scene.mine(2);
    await scene.reorganise(2, 'mempool');
    expect(lastStates(scene)).toEqual(sentPair);
  });

  test('although the file did not send the order.paid', async () => {
    const scene = await openEuros();
    await scene.pay(25_000);
    await scene.mine(2);
    await copied(scene, later);
    await scene.reorganise(2, 'drop');
    expect(lastStates(scene)).toEqual(sentPair);
  });

  test('but not for an order that it made, whose events it sent', async () => {
    const scene = await openEuros();
    await copied(scene, beforeAll);
    await scene.pay(25_000);
    await scene.mine(2);
    await scene.reorganise(2, 'drop');
    expect(lastStates(scene)).toEqual(mootPair);
    await scene.pay(25_000);
    await send(scene);
    await scene.mine(2);
    await scene.reorganise(2, 'mempool');
    expect(lastStates(scene)).toEqual(mootPair);
  });
});

/** What a shop acts on. */
const knowledge = ({ status, late, payments, ...order }: OrderJson) => ({
  ...{ status, late, received_sat: order.received_sat, confirmed_sat: order.confirmed_sat },
  ...{ excess_sat: order.excess_sat, accepted_at: order.accepted_at },
  txids: payments.flatMap(({ txid, gone }) => (gone ? [] : [txid])).sort(),
});

const orderIn = (body: string): OrderJson => JSON.parse(body).data.order;

const first = ['part', 'part', 'whole', 'confirmed', 'nothing'] as const;
const then = ['part', 'replace', 'replace', 'accept', 'nothing'] as const;

test('whatever the chain does and the shop receives, it knows each order as its newest event shows it', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = createRandom(seed);
    const scene = await openEuros();
    let known = scene.json();
    const receive = (bodies: readonly string[]) => {
      for (const order of bodies.map(orderIn)) if (order.version > known.version) known = order;
    };
    const steps: string[] = [];
    const take = async (step: string) => {
      steps.push(step);
      if (step === 'part') await scene.pay(random.pick([10_000, 15_000]));
      else if (step === 'whole') await scene.pay(25_000);
      else if (step === 'confirmed') await scene.mine(2);
      else if (step === 'replace' && steps.at(-2) === 'part') await scene.replace(10_000);
      else if (step === 'accept') await scene.accept().catch(() => undefined);
      else if (step === 'send') receive(await send(scene));
      // The shop received it, and its answer was lost.
      else if (step === 'timeout') receive(await send(scene, 'timeout'));
    };
    for (let round = 0; round < 3; round += 1) {
      for (let left = 2; left > 0; left -= 1) await take(random.pick(first));
      await take(random.pick(['send', 'send', 'timeout', 'nothing']));
      for (let left = 2; left > 0; left -= 1) await take(random.pick(then));
      await take('confirmed');
      steps.push('reorganise');
      await scene.reorganise(random.pick([2, 4]), random.pick(['mempool', 'drop']));
    }
    await take('send');
    const newest = rows(scene).at(-1);
    if (newest === undefined) continue;
    const shown = knowledge(orderIn(newest.body));
    expect(knowledge(known), `seed ${seed}: ${steps.join(' ')}`).toEqual(shown);
  }
});
