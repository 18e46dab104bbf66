// Lanes of notifications after a failure. The sender is one of the test, which sends nothing.

import { afterEach, expect, test } from 'vitest';
import { minuteMs, secondMs } from '../../src/lib/time-units.ts';
import type { Sent } from '../../src/notify/notification-sender.ts';
import { Notifier } from '../../src/notify/notifier.ts';
import {
  type NotificationChannel,
  notifications,
} from '../../src/store/schema/notification-schema.ts';
import { cleanUp } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

/** Two mails and a request to a webhook, of which `send` is asked. @returns what was attempted */
async function openLanes(send: (recipient: string) => Sent) {
  const records = await openTestStore();
  const world = createTestWorld();
  const owe = (channel: NotificationChannel, recipient: string): void => {
    const due = { createdAt: world.now(), nextAttemptAt: world.now() };
    const row = {
      publicId: recipient,
      channel,
      recipient,
      type: 'findings',
      notice: '{}',
    } as const;
    records.database.orm
      .insert(notifications)
      .values({ ...row, ...due })
      .run();
  };
  owe('mail', 'first');
  owe('mail', 'second');
  owe('webhook', 'hook');
  const attempted: string[] = [];
  const sender = {
    send: async ({ recipient }: { readonly recipient: string }) => {
      attempted.push(recipient);
      return send(recipient);
    },
    test: async () => [],
  };
  const notifier = new Notifier({ world, records, sender });
  async function pass(ms: number): Promise<string[]> {
    for (let left = ms; left > 0; left -= secondMs) {
      await world.advance(secondMs);
      await notifier.idle();
    }
    return attempted.splice(0).sort();
  }
  notifier.start();
  await notifier.idle();
  return { world, pass, first: attempted.splice(0).sort(), stop: () => notifier.stop() };
}

const failed = (isOfMail: boolean): Sent => ({
  ...{ kind: 'failed', reason: 'no answer', isOfMail, isPermanent: false },
});

test('a lane whose server fails pauses for a minute, and no other lane does', async () => {
  const lanes = await openLanes((recipient) =>
    recipient === 'hook' ? { kind: 'sent' } : failed(false),
  );
  expect(lanes.first).toEqual(['first', 'hook']);
  expect(await lanes.pass(minuteMs - secondMs)).toEqual([]);
  // The first of them is due again.
  expect(await lanes.pass(secondMs)).toEqual(['first']);
  await lanes.stop();
});

test('a mail that alone is refused delays no other mail', async () => {
  const lanes = await openLanes((recipient) =>
    recipient === 'first' ? failed(true) : { kind: 'sent' },
  );
  expect(lanes.first).toEqual(['first', 'hook', 'second']);
  expect(await lanes.pass(10 * secondMs)).toEqual(['first']);
  await lanes.stop();
});

test('a lane whose attempt cannot be made pauses for a minute, and the log says so', async () => {
  const lanes = await openLanes((recipient) => {
    if (recipient === 'first') throw new Error('a fault of paygate');
    return { kind: 'sent' };
  });
  expect(lanes.first).toEqual(['first', 'hook']);
  expect(lanes.world.logs.filter(({ level }) => level === 'error')).toMatchObject([
    { message: 'notifications could not be sent', fields: { reason: 'a fault of paygate' } },
  ]);
  expect(await lanes.pass(minuteMs - secondMs)).toEqual([]);
  expect(await lanes.pass(secondMs)).toEqual(['first']);
  await lanes.stop();
});
