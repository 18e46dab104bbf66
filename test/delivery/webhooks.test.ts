// Events on their way to a webhook: the dispatcher over a real file, with the real sender.

import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { webhookChannel } from '../../src/delivery/delivery-channel.ts';
import { DeliveryDispatcher } from '../../src/delivery/dispatcher.ts';
import { createDispatchers } from '../../src/delivery/dispatchers.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { rotatedSecrets } from '../../src/delivery/signature.ts';
import { stores } from '../../src/store/schema/schema.ts';
import { cleanUp } from '../support/files.ts';
import type { Shop } from '../support/ledger.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { createTestWorld } from '../support/world.ts';
import { closeAll, receiver } from './dispatcher-setup.ts';
import { addEvent, openWebhook } from './events.ts';

const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await closeAll();
  await cleanUp();
});

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

function deliver(shop: Shop) {
  const world = createTestWorld();
  const sender = createSender(world, { version: '0.1', listeners: () => [] });
  const channel = webhookChannel(shop.webhooks, { world, sender });
  const dispatcher = new DeliveryDispatcher({ ...shop, world, channel });
  stops.push(async () => {
    const stopped = dispatcher.stop();
    await world.advance(60_000);
    await stopped;
  });
  return { world, dispatcher };
}

const verify = (key: string, { body = '', headers }: ReceivedRequest): unknown =>
  new Webhook(key).verify(body, headers as Record<string, string>);

describe('an event', () => {
  it('is posted with the stored body, and the published library verifies it', async () => {
    const receiving = await receiver({ answer: () => ({ status: 204 }) });
    const shop = await openWebhook(`${receiving.origin}/hook?a=%7e&secret=tulip`);
    shop.database.orm.update(stores).set({ createdAt: 0 }).run();
    const { dispatcher, world } = deliver(shop);
    world.jumpWallClock(Date.now() - world.now());
    addEvent(shop);
    await dispatcher.start();
    await dispatcher.idle();
    const [request] = receiving.requests;
    const { body, publicId } = shop.webhooks.event(1);
    expect(request).toMatchObject({
      ...{ method: 'POST', url: '/hook?a=%7e&secret=tulip', body },
      headers: {
        ...{ 'content-type': 'application/json', 'webhook-id': publicId },
        ...{ 'user-agent': 'paygate/0.1', 'content-length': String(body.length) },
      },
    });
    expect(request && verify(secret, request)).toEqual(JSON.parse(body));
    expect(shop.webhooks.event(1)).toMatchObject({ state: 'delivered', attemptCount: 1 });
    expect(world.logs).toMatchObject([
      {
        ...{ level: 'info', message: 'webhook attempted' },
        fields: { storeId: 1, eventId: publicId, type: 'payment.seen', httpStatus: 204 },
      },
    ]);
    expect(JSON.stringify(world.logs)).not.toContain('tulip');
  });

  it('is signed with both secrets after a rotation', async () => {
    const receiving = await receiver();
    const shop = await openWebhook(receiving.origin);
    const { dispatcher, world } = deliver(shop);
    world.jumpWallClock(Date.now() - world.now());
    const fresh = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
    const rotated = rotatedSecrets({ webhookSecret: secret }, fresh, world.now());
    shop.database.orm.update(stores).set(rotated).run();
    addEvent(shop);
    await dispatcher.start();
    await dispatcher.idle();
    const [request] = receiving.requests;
    if (request === undefined) throw new Error('no request came');
    for (const key of [fresh, secret]) expect(verify(key, request)).toMatchObject({ data: {} });
    const other = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    expect(() => verify(other, request)).toThrow();
  });

  it.each([200, 201, 202, 204, 299])('is received with %i', async (status) => {
    const receiving = await receiver({ answer: () => ({ status }) });
    const shop = await openWebhook(receiving.origin);
    addEvent(shop);
    const { dispatcher } = deliver(shop);
    await dispatcher.start();
    await dispatcher.idle();
    expect(shop.webhooks.event(1).state).toBe('delivered');
  });

  it.each([
    [300, 'status', 'only 2xx counts as received'],
    [302, 'redirect', 'redirects are not followed'],
    [404, 'status', 'only 2xx counts as received'],
    [503, 'status', 'only 2xx counts as received'],
  ])('is not received with %i, and is sent again', async (status, outcome, reason) => {
    const headers = { location: '/elsewhere' };
    const receiving = await receiver();
    receiving.script({ status, headers });
    const shop = await openWebhook(receiving.origin);
    addEvent(shop);
    const { dispatcher, world } = deliver(shop);
    await dispatcher.start();
    await dispatcher.idle();
    expect(shop.webhooks.event(1)).toMatchObject({
      ...{ state: 'owed', step: 1, outcome },
      reason: expect.stringContaining(reason),
    });
    await world.advance(5_000);
    await dispatcher.idle();
    expect(receiving.requests.map(({ url }) => url)).toEqual(['/', '/']);
    const ids = receiving.requests.map((request) => request.headers['webhook-id']);
    expect(new Set(ids).size).toBe(1);
    expect(shop.webhooks.event(1)).toMatchObject({ state: 'delivered', attemptCount: 2 });
  });

  it('goes to no private address unless the store allows it', async () => {
    const receiving = await receiver();
    const shop = await openWebhook(receiving.origin);
    shop.database.orm.update(stores).set({ allowPrivateCallback: false }).run();
    addEvent(shop);
    const { dispatcher } = deliver(shop);
    await dispatcher.start();
    await dispatcher.idle();
    expect(receiving.requests).toEqual([]);
    expect(shop.webhooks.event(1)).toMatchObject({ state: 'owed', outcome: 'refused' });
  });

  it('waits for no answer of an event of another address', async () => {
    const receiving = await receiver();
    receiving.script({ status: 200 }, 'hang');
    const shop = await openWebhook(receiving.origin);
    const { dispatcher, world } = deliver(shop);
    await dispatcher.start();
    addEvent(shop, { addressId: 3 });
    await dispatcher.idle();
    for (const addressId of [1, 1, 2]) addEvent(shop, { addressId });
    dispatcher.wake();
    await receiving.waitFor(3);
    await world.until(() => shop.webhooks.event(4).state === 'delivered', 'the other address');
    expect([2, 3].map((id) => shop.webhooks.event(id).state)).toEqual(['owed', 'owed']);
  });

  it('is sent again under the same id when the process ends before the record', async () => {
    const receiving = await receiver();
    const shop = await openWebhook(receiving.origin);
    addEvent(shop);
    const first = deliver(shop);
    const arrived = receiving.waitFor(1);
    receiving.script('hang');
    await first.dispatcher.start();
    await arrived;
    const stopped = first.dispatcher.stop();
    await first.world.advance(6_000);
    await stopped;
    expect(shop.webhooks.event(1)).toMatchObject({ state: 'owed', attemptCount: 0 });
    const second = deliver(shop);
    await second.dispatcher.start();
    await second.dispatcher.idle();
    const [lost, again] = receiving.requests;
    expect(again?.headers['webhook-id']).toBe(lost?.headers['webhook-id']);
    expect(again?.body).toBe(lost?.body);
    expect(shop.webhooks.event(1)).toMatchObject({ state: 'delivered', attemptCount: 2 });
  });
});

describe('callbacks and webhooks', () => {
  it.each(['callback', 'webhook'] as const)(
    'a %s host that hangs delays only its own',
    async (noun) => {
      const hanging = await receiver({ answer: () => 'hang' });
      const well = await receiver();
      const [webhookUrl, callbackUrl] =
        noun === 'callback' ? [well.origin, hanging.origin] : [hanging.origin, well.origin];
      const shop = await openWebhook(webhookUrl);
      shop.database.orm.update(stores).set({ callbackUrl }).run();
      const world = createTestWorld();
      const sender = createSender(world, { version: '0.1', listeners: () => [] });
      const both = createDispatchers({ world, records: shop, sender, isHeldBack: () => false });
      await both.start();
      for (let count = 1; count <= 4; count += 1) {
        const issued = await shop.issue();
        shop.chain.pay([{ address: issued.address, valueSat: 5_000 }]);
        await shop.observe(issued);
        shop.events.emit('callbacksDue');
        await well.waitFor(count);
      }
      const done = { owed: 0, exhausted: 0 };
      const channel = noun === 'callback' ? shop.webhooks : shop.outbox;
      await world.until(() => channel.counts().owed === 0, 'the other channel');
      expect(channel.counts()).toEqual(done);
      expect((noun === 'callback' ? shop.outbox : shop.webhooks).counts().owed).toBe(4);
      const stopped = both.stop();
      await world.advance(6_000);
      await stopped;
    },
  );
});
