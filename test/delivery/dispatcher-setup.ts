// A dispatcher over a real file, with the real sender and real receivers. The test sets the clock.

import { callbackChannel } from '../../src/delivery/delivery-channel.ts';
import {
  DeliveryDispatcher,
  type DeliveryLimits,
  type DispatcherParts,
  deliveryLimits,
} from '../../src/delivery/dispatcher.ts';
import { createSender, type Sender } from '../../src/delivery/sender.ts';
import { createNotifications } from '../../src/store/delivery/notification-queue.ts';
import type { Outbox } from '../../src/store/delivery/outbox.ts';
import { createFileState } from '../../src/store/file/file-state.ts';
import { Catalog } from '../../src/store/wallets/catalog.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../support/receiver.ts';
import { createTestWorld } from '../support/world.ts';
import { type Owed, openOwed } from './owed.ts';

const closing: (() => Promise<unknown>)[] = [];

/** Ends all that a test started; for `afterEach`. */
export async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

export async function receiver(options?: ReceiverOptions): Promise<Receiver> {
  const shop = await startReceiver(options);
  closing.push(shop.close);
  return shop;
}

interface Parts extends Omit<DispatcherParts, 'channel'> {
  readonly outbox: Outbox;
  readonly sender: Sender;
}

export interface SetUp {
  readonly owed?: Owed;
  readonly world?: ReturnType<typeof createTestWorld>;
  readonly limits?: Partial<DeliveryLimits>;
  /** In place of the real parts. */
  readonly parts?: (parts: Parts) => Partial<Parts>;
}

export function setUp({ owed = openOwed(), world = createTestWorld(), limits, parts }: SetUp = {}) {
  if (!closing.includes(owed.close)) closing.push(owed.close);
  const { database, outbox } = owed;
  const sender = createSender(world, { version: '0.1', listeners: () => [] });
  const notifications = createNotifications(
    database.orm,
    new Catalog(database.orm, 'regtest'),
    createFileState(database.orm),
  );
  const bounds = { limits: { ...deliveryLimits, ...limits } };
  const real = { world, database, outbox, sender, notifications, ...bounds };
  const used = { ...real, ...parts?.(real) };
  const channel = callbackChannel(used.outbox, used);
  const dispatcher = new DeliveryDispatcher({ ...used, channel });
  closing.push(async () => {
    const stopped = dispatcher.stop();
    await world.advance(60_000);
    await stopped;
  });
  const states = () =>
    outbox
      .list({ limit: 1000 })
      .reverse()
      .map((row) => row.state);
  return { owed, world, outbox, dispatcher, states };
}
