// `shop.ts DATABASE ROUNDS`: a shop's whole business on a file, a process of its own whose writes are watched
// (shim/disk.c): addresses are issued in groups, payments to them recorded, their callbacks delivered, checkpoints made
// now and then. What leaves the process is printed: `issued INDEX`, `paid ADDRESS_ID STATUS`, `delivered CALLBACK_ID`.
// That is what a caller is answered, a socket or an event stream pushes, a request reads in any turn of the event loop,
// and what a callback says.

import { writeSync } from 'node:fs';
import { CallbackDispatcher } from '../../src/delivery/dispatcher.ts';
import { createSender, type Sender } from '../../src/delivery/sender.ts';
import { nextTurn } from '../../src/lib/next-turn.ts';
import { type HighWaterMark, openHighWaterMark } from '../../src/store/mark/high-water-mark.ts';
import { resumeCounters } from '../../src/store/mark/resume.ts';
import type { IssuedAddress } from '../../src/store/records/address-row.ts';
import { copyWarning } from '../../src/store/records/settings.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { chainOf } from '../sandbox/support.ts';
import { connectionOf } from '../support/files.ts';
import { type Shop, shopOn } from '../support/ledger.ts';
import { openTestStore, type TestStore } from '../support/store.ts';

const [path = '', rounds = ''] = process.argv.slice(2);

/** One system call: it is said whole or not at all. */
const say = (text: string): void => void writeSync(1, `${text}\n`);

async function issue(shop: Shop, count: number): Promise<IssuedAddress[]> {
  const one = async (): Promise<IssuedAddress> => {
    const issued = await shop.issue();
    say(`issued ${issued.derivationIndex}`);
    return issued;
  };
  return Promise.all(Array.from({ length: count }, one));
}

async function observe(shop: Shop, issued: IssuedAddress): Promise<void> {
  await shop.observe(issued);
  for (const { status } of shop.payments(issued)) say(`paid ${issued.id} ${status}`);
}

/** Says whatever a request would read now. */
function readerOf({ database }: TestStore) {
  const sqlite = connectionOf(database);
  const issued = sqlite.prepare(
    "SELECT derivation_index FROM addresses WHERE origin = 'issued' ORDER BY id",
  );
  const paid = sqlite.prepare<[], { id: number; status: number }>(
    'SELECT address_id AS id, status FROM payments',
  );
  const idOf = sqlite.prepare<[string], number>('SELECT id FROM addresses WHERE address = ?');
  const said = new Set<string>();
  function sayOnce(text: string): void {
    if (said.has(text)) return;
    said.add(text);
    say(text);
  }
  return {
    read() {
      for (const index of issued.pluck().all()) sayOnce(`issued ${index}`);
      for (const { id, status } of paid.all()) sayOnce(`paid ${id} ${status}`);
    },
    /** What a callback says is out before it is sent. */
    sending(query: string) {
      const sent = new URLSearchParams(query);
      say(`paid ${idOf.pluck().get(sent.get('addr') ?? '')} ${sent.get('status')}`);
    },
  };
}

async function run(): Promise<void> {
  const world = createNodeWorld({ logLevel: 'error' });
  let mark: HighWaterMark | undefined;
  const store: TestStore = await openTestStore({
    path,
    beforeCommit: (raises) => mark?.raise(raises),
  });
  const reader = readerOf(store);
  // What sockets and event streams push.
  store.events.on('paymentChanged', () => reader.read());
  // So that a commit makes a checkpoint every few rounds.
  connectionOf(store.database).pragma('wal_autocheckpoint = 100');
  const shop = shopOn(store, chainOf(110));
  mark = openHighWaterMark(path, shop.instance);
  await resumeCounters(shop, mark, world);
  const copied = copyWarning(shop.catalog, world.now());
  if (copied !== undefined) throw new Error(copied.text);
  await shop.follow();
  const plain = createSender(world, { version: '0.1', listeners: () => [] });
  const sender: Sender = {
    ...plain,
    send(order, signal) {
      reader.sending(order.query);
      return plain.send(order, signal);
    },
  };
  const dispatcher = new CallbackDispatcher({ ...shop, world, sender });
  await dispatcher.start();
  const delivered = new Set<number>();

  async function deliver(): Promise<void> {
    dispatcher.wake();
    await dispatcher.idle();
    for (const { id, state } of shop.outbox.list({ limit: 1000 })) {
      if (state !== 'delivered' || delivered.has(id)) continue;
      delivered.add(id);
      say(`delivered ${id}`);
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
  say('closed');
  process.exit(0);
}

run().catch((error: unknown) => {
  say(`error: ${error instanceof Error ? error.stack : error}`);
  process.exit(1);
});
