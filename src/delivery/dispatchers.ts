// Both channels to shops. Each has a dispatcher of its own, with limits, leases and a circuit
// breaker. Neither channel waits for the other.

import type { DeliveryCounts } from '../store/delivery/delivery-counts.ts';
import type { DeliveryRecords } from '../store/delivery/delivery-records.ts';
import type { Records } from '../store/open-records.ts';
import type { AgeJudge } from '../world/clock-watch.ts';
import type { World } from '../world/world.ts';
import { callbackChannel, type DeliveryChannel, webhookChannel } from './delivery-channel.ts';
import { DeliveryDispatcher, type DispatcherStatus } from './dispatcher.ts';
import type { Sender } from './sender.ts';

/** A channel, as findings and metrics see it. */
export interface ChannelStatus {
  readonly noun: DeliveryChannel['noun'];
  readonly queue: DeliveryCounts & Pick<DeliveryRecords, 'failingShops'>;
  readonly dispatcher: DispatcherStatus;
}

export interface Dispatchers {
  readonly channels: readonly ChannelStatus[];
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Resolves when nothing is in flight and nothing is due. */
  idle(): Promise<void>;
}

interface DispatchersParts {
  readonly world: World;
  readonly records: Records;
  readonly sender: Sender;
  readonly isHeldBack: () => boolean;
  readonly clock?: AgeJudge;
}

export function createDispatchers({ records, ...parts }: DispatchersParts): Dispatchers {
  const { outbox, webhooks, events } = records;
  const common = { ...records, ...parts };
  const toCallbacks = callbackChannel(outbox, parts);
  const toWebhooks = webhookChannel(webhooks, parts);
  const callback = new DeliveryDispatcher({ ...common, channel: toCallbacks });
  const webhook = new DeliveryDispatcher({ ...common, channel: toWebhooks });
  const both = [callback, webhook];
  events.on('callbacksDue', () => callback.wake());
  events.on('webhooksDue', () => webhook.wake());
  events.on('retryRequested', () => {
    for (const each of both) each.retry();
  });
  return {
    channels: [
      { noun: 'callback', queue: outbox, dispatcher: callback },
      { noun: 'webhook', queue: webhooks, dispatcher: webhook },
    ],
    async start() {
      for (const each of both) await each.start();
    },
    async stop() {
      await Promise.all(both.map((each) => each.stop()));
    },
    async idle() {
      for (const each of both) await each.idle();
    },
  };
}
