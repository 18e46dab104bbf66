// A shop with orders in an end-to-end test. Paygate runs on both Electrum servers. The test moves
// paygate's clock, and sets the price of the only price source.

import { expect, onTestFinished } from 'vitest';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import { startReceiver } from '../support/receiver.ts';
import { expectAgreement } from './agreement.ts';
import type { Clock } from './clock.ts';
import type { Server } from './paygate.ts';
import type { Shop } from './shop.ts';
import type { Stage, StoreAnswer } from './stage.ts';
import {
  type EventBody,
  openWebhookReceiver,
  type ReceivedEvent,
  type WebhookReceiver,
} from './webhooks.ts';

/** More than all advances of most tests together. */
export const behindSeconds = 45 * 60;

/** As `GET /api/v3/events` has it. */
type ListedEvent = EventBody & { readonly id: string };

export interface Order {
  readonly id: string;
  readonly address: string;
  /** As it was made. */
  readonly made: OrderJson;
  get(): Promise<OrderJson>;
  /** Waits until it has these values. */
  becomes(expected: object): Promise<void>;
  /** POST to `quote`, `cancel` or `accept`. */
  post(command: string): Promise<OrderJson>;
  /** One payment to its address. Returns the txid. */
  pay(valueSat: number): Promise<string>;
  /** The types of its events, the oldest first. */
  eventTypes(): Promise<string[]>;
  /**
   * Checks that its events have these types. Their versions rise by one. Each begins with the
   * status of the one before. The newest shows the order as it is now, and the webhook received it
   * last.
   */
  expectEvents(...types: readonly string[]): Promise<void>;
}

export interface OrderShop {
  readonly clock: Clock;
  /** The price of one bitcoin, for the next question of paygate: at most one in a minute. */
  readonly market: { eur: number };
  readonly webhooks: WebhookReceiver;
  create(body: object): Promise<Order>;
  /** All orders, the newest first. */
  list(): Promise<OrderJson[]>;
  /** Stops paygate in its tracks, for `killAndStart`. */
  suspend(): void;
  /** SIGKILL, and a new start on the same file. */
  killAndStart(meanwhile?: () => Promise<unknown>): Promise<void>;
  /** A clean stop, and a new start on the same file. */
  stopAndStart(meanwhile: () => Promise<unknown>): Promise<void>;
  /** Advances the clock while no request to the shop is on its way. */
  passTime(seconds: number): Promise<void>;
  /** Stops paygate, and checks the whole file against the node, all callbacks and all webhooks. */
  finish(chain?: 'reorganised'): Promise<void>;
}

export interface OrderShopOptions {
  /** How far the clock of paygate is behind at first; `behindSeconds` by default. */
  readonly behind?: number;
  /** Runs before paygate serves. */
  readonly prepare?: (store: StoreAnswer) => Promise<void>;
  /** More options of `serve`. */
  readonly serve?: readonly string[];
}

/** Opens a store with prices in EUR; one bitcoin is 50,000 EUR. */
export async function openOrderShop(
  stage: Stage,
  { behind = behindSeconds, prepare = async () => {}, serve = [] }: OrderShopOptions = {},
): Promise<OrderShop> {
  const clock = stage.setClock(behind);
  const market = { eur: 50_000 };
  const source = await startReceiver({
    answer: () => ({ status: 200, body: JSON.stringify({ EUR: market.eur }) }),
  });
  onTestFinished(() => source.close());
  const webhooks = await openWebhookReceiver(clock.now);
  onTestFinished(() => webhooks.close());
  const prices = ['--price', 'own', '--price-source', `${source.origin}/#{CODE}`, ...serve];
  const shop: Shop = await stage.openShop();
  const store: StoreAnswer = await stage.addStore(
    'p2wpkh',
    shop.callbackUrl,
    ...['--webhook-url', webhooks.url, '--webhook-events', 'order,payment'],
  );
  await prepare(store);
  let server: Server = await stage.serveOnBoth('first', ...prices);

  async function request(path: string, body?: object) {
    const reply = await stage.askApi(server, path, body);
    expect(reply).toMatchObject({ status: 200 });
    return reply.body;
  }

  /** Another store of the file has no webhook. */
  const isOfStore = ({ data }: ListedEvent): boolean =>
    (data.order?.store_id ?? store.id) === store.id;

  async function listEvents(): Promise<ListedEvent[]> {
    const { data, has_more } = await request('/events?limit=100');
    expect(has_more).toBe(false);
    return data.filter(isOfStore);
  }

  async function untilDelivered(): Promise<void> {
    const pending = async () =>
      (await listEvents()).filter(
        ({ id }, index, events) => !isSuperseded(index, events) && !webhooks.hasAccepted(id),
      );
    await expect.poll(pending).toEqual([]);
  }

  function orderOf(made: OrderJson): Order {
    const { id, address } = made;
    const order: Order = {
      ...{ id, address, made },
      get: () => request(`/orders/${id}`),
      async becomes(expected) {
        await expect.poll(() => order.get()).toMatchObject(expected);
      },
      post: (command) => request(`/orders/${id}/${command}`, {}),
      pay: (valueSat) => stage.network.pay({ address, valueSat }),
      async eventTypes() {
        const events = (await listEvents()).filter((event) => event.data.order?.id === id);
        return events.map(({ type }) => type);
      },
      async expectEvents(...types) {
        const events = (await listEvents()).filter((event) => event.data.order?.id === id);
        expect(events.map(({ type }) => type)).toEqual(types);
        const orders = events.flatMap(({ data }) => data.order ?? []);
        expect(orders.map(({ version }) => version)).toEqual(types.map((_, index) => index + 2));
        const statuses = ['open', ...orders.map(({ status }) => status)];
        expect(events.map(({ data }) => data.was)).toEqual(statuses.slice(0, -1));
        expect(lasting(orders.at(-1) ?? made)).toEqual(lasting(await order.get()));
        await untilDelivered();
        expectReceived(webhooks.acceptedOf(id), events);
      },
    };
    return order;
  }

  return {
    clock,
    market,
    webhooks,
    create: async (body) => orderOf(await request('/orders', body)),
    async list() {
      const found: OrderJson[] = [];
      for (let after = ''; ; after = `&after=${found.at(-1)?.id}`) {
        const { data, has_more } = await request(`/orders?limit=100${after}`);
        found.push(...data);
        if (!has_more) return found;
      }
    },
    suspend: () => server.suspend(),
    async killAndStart(meanwhile = async () => {}) {
      await server.kill();
      await meanwhile();
      server = await stage.serveOnBoth('second', ...prices);
    },
    async stopAndStart(meanwhile) {
      await server.stop();
      await meanwhile();
      server = await stage.serveOnBoth('second', ...prices);
    },
    async passTime(seconds) {
      await server.settled();
      await untilDelivered();
      clock.advance(seconds);
    },
    async finish(chain) {
      await server.settled();
      await untilDelivered();
      await server.stop();
      webhooks.verify(store.webhook_secret);
      // After a reorganisation, another event has the same status of the same payment.
      shop.verify(store.webhook_secret, chain && shop.received.length);
      await expectAgreement(stage);
    },
  };
}

/** The shop accepted events as they are listed, in their order, and the newest one. */
function expectReceived(accepted: readonly ReceivedEvent[], events: readonly ListedEvent[]): void {
  const received = accepted.map(({ id, type, timestamp, data }) => ({ id, type, timestamp, data }));
  const ids = accepted.map(({ id }) => id);
  expect(received).toEqual(events.filter(({ id }) => ids.includes(id)));
  expect(received.at(-1)).toEqual(events.at(-1));
}

/** Whether a newer event may go in its place. */
const isSuperseded = (index: number, events: readonly ListedEvent[]): boolean =>
  ['order.processing', 'order.updated'].includes(events[index]?.type ?? '') &&
  events.slice(index + 1).some(({ data }) => data.order?.id === events[index]?.data.order?.id);

/** What does not change without an event: not depth and blocks, and not the quote. */
function lasting({ quote: _, uri: __, missing_sat: ___, ...order }: OrderJson) {
  const payments = order.payments.map(
    ({ status: _, confirmations: __, height: ___, ...payment }) => payment,
  );
  return { ...order, payments };
}
