// `shop.ts DATABASE ROUNDS`: a shop's whole business on a file, a process of its own whose writes are watched
// (shim/disk.c): addresses are issued in groups, payments to them recorded, their callbacks delivered, the log is
// moved into the file now and then. What somebody outside may rely on is printed once it is committed:
// `issued INDEX`, `paid ADDRESS_ID STATUS`, `delivered CALLBACK_ID`.

import { fstatSync, statSync, writeSync } from 'node:fs';
import { CallbackDispatcher } from '../../src/delivery/dispatcher.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { nextTurn } from '../../src/lib/next-turn.ts';
import { type Highwater, openHighwater } from '../../src/store/mark/high-water-mark.ts';
import { resumeCounters } from '../../src/store/mark/resume.ts';
import type { Issued } from '../../src/store/records/addresses.ts';
import { copyTold } from '../../src/store/records/settings.ts';
import { syncData } from '../../src/world/disk.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { chainOf } from '../sandbox/support.ts';
import { type Shop, shopOn } from '../support/ledger.ts';
import { openTestStore } from '../support/store.ts';

const [path = '', rounds = ''] = process.argv.slice(2);

/** One system call: it is said whole or not at all. */
const say = (text: string): void => void writeSync(1, `${text}\n`);

async function issue(shop: Shop, count: number): Promise<Issued[]> {
  const one = async (): Promise<Issued> => {
    const issued = await shop.issue();
    say(`issued ${issued.derivationIndex}`);
    return issued;
  };
  return Promise.all(Array.from({ length: count }, one));
}

async function observe(shop: Shop, issued: Issued): Promise<void> {
  await shop.observe(issued);
  for (const { status } of shop.payments(issued)) say(`paid ${issued.id} ${status}`);
}

async function run(): Promise<void> {
  const world = createNodeWorld({ logLevel: 'error' });
  let mark: Highwater | undefined;
  const store = await openTestStore({
    path,
    beforeCommit: (raises) => mark?.raise(raises),
    // So that the log is moved into the main file every few rounds.
    logBytes: 400_000,
    // A slow disk, so that commits come between its being written and its sync.
    async syncData(descriptor) {
      const isMain = fstatSync(descriptor).ino === statSync(path).ino;
      for (let turn = 0; isMain && turn < 300; turn += 1) await nextTurn();
      await syncData(descriptor);
    },
  });
  const shop = shopOn(store, chainOf(110));
  mark = openHighwater(path, shop.instance);
  await resumeCounters(shop, mark, world);
  const copied = copyTold(shop.catalog, world.now());
  if (copied !== undefined) throw new Error(copied.text);
  await shop.follow();
  const sender = createSender(world, { version: '0.1', listeners: () => [] });
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

  const paid: Issued[] = [];
  for (let round = 0; round < Number(rounds); round += 1) {
    const [first] = await issue(shop, 1 + (round % 3));
    if (first === undefined) throw new Error('nothing was issued');
    shop.chain.pay([{ address: first.address, valueSat: 1000 + round }]);
    await observe(shop, first);
    paid.push(first);
    await deliver();
    if (round % 2 === 0) continue;
    await shop.mine();
    for (const each of paid.slice(-4)) await observe(shop, each);
    await deliver();
  }
  await dispatcher.stop();
  await shop.database.close();
  say('closed');
  process.exit(0);
}

run().catch((error: unknown) => {
  say(`error: ${error instanceof Error ? error.stack : error}`);
  process.exit(1);
});
