// `shop.ts DATABASE ROUNDS`: issues addresses in groups, records payments, delivers callbacks and
// makes checkpoints, in a process whose writes the shim records (shim/disk.c). It prints each fact
// that leaves it: `issued INDEX`, `paid ADDRESS_ID STATUS`, `delivered CALLBACK_ID`. A fact leaves
// by a response, a push, a callback, or a read in any turn of the event loop.

import { writeSync } from 'node:fs';
import { callbackChannel } from '../../src/delivery/delivery-channel.ts';
import { DeliveryDispatcher } from '../../src/delivery/dispatcher.ts';
import { createSender, type Sender } from '../../src/delivery/sender.ts';
import { nextTurn } from '../../src/lib/next-turn.ts';
import { CounterMark } from '../../src/store/resume/counter-mark.ts';
import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { chainOf } from '../sandbox/support.ts';
import { connectionOf } from '../support/files.ts';
import { type Shop, shopOn } from '../support/ledger.ts';
import { openTestStore, type TestRecords } from '../support/store.ts';

const [path = '', rounds = ''] = process.argv.slice(2);

/** One system call, so the text is never truncated. */
const print = (text: string): void => void writeSync(1, `${text}\n`);

async function issue(shop: Shop, count: number): Promise<IssuedAddress[]> {
  const one = async (): Promise<IssuedAddress> => {
    const issued = await shop.issue();
    print(`issued ${issued.derivationIndex}`);
    return issued;
  };
  return Promise.all(Array.from({ length: count }, one));
}

async function observe(shop: Shop, issued: IssuedAddress): Promise<void> {
  await shop.observe(issued);
  for (const { status } of shop.payments(issued)) print(`paid ${issued.id} ${status}`);
}

/** Prints the facts that a request would read now, each once. */
function readerOf({ database }: TestRecords) {
  const sqlite = connectionOf(database);
  const issued = sqlite.prepare(
    "SELECT derivation_index FROM addresses WHERE origin = 'issued' ORDER BY id",
  );
  const paid = sqlite.prepare<[], { id: number; status: number }>(
    'SELECT address_id AS id, status FROM payments',
  );
  const idOf = sqlite.prepare<[string], number>('SELECT id FROM addresses WHERE address = ?');
  const printed = new Set<string>();
  function printOnce(text: string): void {
    if (printed.has(text)) return;
    printed.add(text);
    print(text);
  }
  return {
    read() {
      for (const index of issued.pluck().all()) printOnce(`issued ${index}`);
      for (const { id, status } of paid.all()) printOnce(`paid ${id} ${status}`);
    },
    /** Prints the status in a callback before the callback is sent. */
    sending(query: string) {
      const sent = new URLSearchParams(query);
      print(`paid ${idOf.pluck().get(sent.get('addr') ?? '')} ${sent.get('status')}`);
    },
  };
}

async function run(): Promise<void> {
  const world = createNodeWorld({ logLevel: 'error' });
  const mark = new CounterMark();
  const records: TestRecords = await openTestStore({
    path,
    beforeCommit: (raises) => mark.raise(raises),
  });
  const reader = readerOf(records);
  // WebSockets and event streams push at this moment.
  records.events.on('paymentChanged', () => reader.read());
  // SQLite's own checkpoint then runs every few rounds.
  connectionOf(records.database).pragma('wal_autocheckpoint = 100');
  const shop = shopOn(records, chainOf(110));
  await mark.begin(shop, world);
  const { text } = shop.state.copied.read();
  if (text !== '') throw new Error(text);
  await shop.follow();
  const plain = createSender(world, { version: '0.1', listeners: () => [] });
  const sender: Sender = {
    ...plain,
    send(order, signal) {
      reader.sending(order.query);
      return plain.send(order, signal);
    },
  };
  const channel = callbackChannel(shop.outbox, { world, sender });
  const dispatcher = new DeliveryDispatcher({ ...shop, world, channel });
  await dispatcher.start();
  const delivered = new Set<number>();

  async function deliver(): Promise<void> {
    dispatcher.wake();
    await dispatcher.idle();
    for (const { id, state } of shop.outbox.list({ limit: 1000 })) {
      if (state !== 'delivered' || delivered.has(id)) continue;
      delivered.add(id);
      print(`delivered ${id}`);
    }
  }

  let isOver = false;
  const reading = (async () => {
    while (!isOver) {
      await nextTurn();
      reader.read();
    }
  })();
  const paid: IssuedAddress[] = [];
  for (let round = 0; round < Number(rounds); round += 1) {
    const [first] = await issue(shop, 1 + (round % 3));
    if (first === undefined) throw new Error('nothing was issued');
    shop.chain.pay([{ address: first.address, valueSat: 1000 + round }]);
    await observe(shop, first);
    paid.push(first);
    await deliver();
    if (round % 3 === 2 && !shop.database.checkpoint()) throw new Error('no checkpoint was made');
    if (round % 2 === 0) continue;
    await shop.mine();
    for (const each of paid.slice(-4)) await observe(shop, each);
    await deliver();
  }
  await dispatcher.stop();
  isOver = true;
  await reading;
  await shop.database.close();
  mark.close();
  print('closed');
  process.exit(0);
}

run().catch((error: unknown) => {
  print(`error: ${error instanceof Error ? error.stack : error}`);
  process.exit(1);
});
