// `deliver.ts DATABASE`: the dispatcher over a file, a process of its own that is killed at some moment.
// It prints `idle` when all that was owed is delivered and written down. Each line that it is told is a
// number of callbacks that it owes from then on; it prints `owed` once they are committed.

import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { CallbackDispatcher } from '../../src/delivery/dispatcher.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { openDatabase } from '../../src/store/db/database.ts';
import { createOutbox } from '../../src/store/records/outbox.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';

const [path = ''] = process.argv.slice(2);

/** One system call, so that a kill never leaves half a line. */
const print = (text: string): void => void writeSync(1, `${text}\n`);

async function deliver(): Promise<void> {
  const world = createNodeWorld({ logLevel: 'error' });
  const database = openDatabase({ path, create: false });
  const outbox = createOutbox(database);
  const sender = createSender(world, { version: '0.1', listeners: () => [] });
  const dispatcher = new CallbackDispatcher({ world, database, outbox, sender });
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
    print('owed');
    dispatcher.wake();
  }
}

deliver().catch((error: unknown) => {
  print(`error: ${error}`);
  process.exit(1);
});
