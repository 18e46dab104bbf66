// `deliver.ts DATABASE [webhook]`: the dispatcher of callbacks on a file, or that of webhooks, in a
// process that a test kills. It prints `idle`
// when every pending callback is delivered and recorded. Each line of input, `FROM TO`, adds
// callbacks with these ids; it prints `added` after their commit.

import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { callbackChannel, webhookChannel } from '../../src/delivery/delivery-channel.ts';
import { DeliveryDispatcher } from '../../src/delivery/dispatcher.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { createNotifications } from '../../src/store/delivery/notification-queue.ts';
import { createOutbox } from '../../src/store/delivery/outbox.ts';
import { createWebhookQueue } from '../../src/store/delivery/webhook-queue.ts';
import { openDatabase } from '../../src/store/file/database.ts';
import { createFileState } from '../../src/store/file/file-state.ts';
import { Catalog } from '../../src/store/wallets/catalog.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';

const [path = '', noun = 'callback'] = process.argv.slice(2);

/** One system call, so a kill never truncates the output. */
const print = (text: string): void => void writeSync(1, `${text}\n`);

async function deliver(): Promise<void> {
  const world = createNodeWorld({ logLevel: 'error' });
  const database = openDatabase({ path, create: false });
  const outbox = createOutbox(database);
  const sender = createSender(world, { version: '0.1', listeners: () => [] });
  const channel =
    noun === 'webhook'
      ? webhookChannel(createWebhookQueue(database.orm), { world, sender })
      : callbackChannel(outbox, { world, sender });
  const notifications = createNotifications(
    database.orm,
    new Catalog(database.orm, 'regtest'),
    createFileState(database.orm),
  );
  const dispatcher = new DeliveryDispatcher({ world, database, channel, notifications });
  await dispatcher.start();
  await dispatcher.idle();
  print('idle');
  for await (const line of createInterface(process.stdin)) {
    const [from = 0, to = 0] = line.split(' ').map(Number);
    await database.write((tx) => {
      for (let id = from; id < to; id += 1) {
        const txid = (id - 1).toString(16).padStart(64, '0') as never;
        const facts = { address: `bcrt1q${id - 1}`, txid, valueSat: 1000, rbf: false };
        const event = { status: 0, cycle: 0 } as const;
        outbox.enqueue(tx, world.now(), {
          ...facts,
          ...event,
          paymentId: id,
          storeId: 1 + (id % 2),
        });
      }
    });
    print('added');
    dispatcher.wake();
  }
}

deliver().catch((error: unknown) => {
  print(`error: ${error}`);
  process.exit(1);
});
