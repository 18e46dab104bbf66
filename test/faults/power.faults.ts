// Power loss at every write and fsync of issuing, recording, delivering and checkpoints: all that a shop's process does to
// its folder is written down once, and for each step of it a disk that lost its power there is laid out and
// opened. What was answered, read, pushed or sent before is on it, no address is issued again, nothing is half.

import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { resume } from '../../src/domain/allocation.ts';
import { openHighWaterMark } from '../../src/store/mark/high-water-mark.ts';
import { countersOf } from '../../src/store/mark/resume.ts';
import { openStore, type Store } from '../../src/store/open-store.ts';
import { chainOf } from '../sandbox/support.ts';
import { createRandom } from '../simulation/random.ts';
import { cleanUp, connectionOf, tempFolder, whenOver } from '../support/files.ts';
import { shopOn } from '../support/ledger.ts';
import { startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';
import { Disk, type Luck, lucks } from './shim/disk.ts';
import { layOut, printOf } from './shim/lay-out.ts';
import type { Step } from './shim/log.ts';
import { noShim } from './shim/shim.ts';
import { type Watched, watch } from './shim/watch.ts';
import { howMany, unless } from './thorough.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, 'shop.ts');

/** Runs the shop with its writes watched. */
async function record(rounds: number): Promise<Watched> {
  const receiver = await startReceiver();
  whenOver(() => receiver.close());
  const { path, ...store } = await openTestStore();
  await store.addWallet();
  await store.write((tx) => store.addresses.deriveAhead(tx, 1, 3 * rounds));
  await store.addStore({
    callbackUrl: `${receiver.origin}/cb`,
    allowPrivateCallback: true,
    allowHttpCallback: true,
  });
  await shopOn({ path, ...store }, chainOf(110)).follow();
  await store.database.close();
  return watch(program, path, `${rounds}`);
}

/** What somebody outside relies on. */
interface Promised {
  readonly issued: Set<number>;
  /** The status of each payment, by its address. */
  readonly paid: Map<number, number>;
  readonly delivered: Set<number>;
}

function promise(promised: Promised, text: string): void {
  for (const line of text.trimEnd().split('\n')) {
    const [what, id, status] = line.split(' ');
    if (what === 'issued') promised.issued.add(Number(id));
    if (what === 'paid') promised.paid.set(Number(id), Number(status));
    if (what === 'delivered') promised.delivered.add(Number(id));
  }
}

/** Opens it as a start does, and holds it against what was promised. */
async function expectKept(path: string, promised: Promised): Promise<void> {
  const store = await openStore({
    path,
    create: false,
    network: undefined,
    newInstance: () => 'another',
  });
  try {
    const sqlite = connectionOf(store.database);
    expect(sqlite.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(sqlite.pragma('foreign_key_check')).toEqual([]);
    expectIssued(store, path, promised);
    expectWhole(store, promised);
  } finally {
    await store.database.close();
  }
}

function expectIssued(store: Store, path: string, { issued }: Promised): void {
  const rows = connectionOf(store.database).prepare(
    "SELECT derivation_index FROM addresses WHERE origin = 'issued'",
  );
  const onFile = new Set(rows.pluck().all() as number[]);
  expect([...issued].filter((index) => !onFile.has(index))).toEqual([]);
  const { nextIndex } = store.catalog.wallet(1);
  expect(nextIndex).toBeGreaterThan(Math.max(-1, ...onFile));
  const mark = openHighWaterMark(path, store.instance);
  mark.close();
  const { kind, skips } = resume(countersOf(store), mark.reading);
  // Also a backup that is put back now would go on behind all that was answered.
  const marked = Math.max(0, ...(mark.reading?.raises ?? []).map(({ to }) => to));
  expect(marked).toBeGreaterThan(Math.max(-1, ...issued));
  // A loss of power is no restored backup, and makes no gap in the merchant's wallet.
  expect(kind).toBe('continue');
  expect(skips.reduce((sum, { from, to }) => sum + to - from, 0)).toBeLessThanOrEqual(3);
}

interface Payment {
  readonly address: number;
  readonly status: number;
  readonly told: number;
  readonly statusHash: string | null;
}

function expectWhole(store: Store, { paid, delivered }: Promised): void {
  const sqlite = connectionOf(store.database);
  const payments = sqlite
    .prepare(
      `SELECT address_id AS address, p.status, a.status_hash AS statusHash, (SELECT c.status FROM callbacks c
        WHERE c.payment_id = p.id ORDER BY c.version DESC LIMIT 1) AS told
      FROM payments p JOIN addresses a ON a.id = p.address_id`,
    )
    .all() as Payment[];
  // Payment, callback and the status of its address: all three or none.
  expect(payments.filter((each) => each.told !== each.status || each.statusHash === null)).toEqual(
    [],
  );
  const known = sqlite.prepare(
    'SELECT count(*) FROM addresses WHERE status_hash IS NOT NULL AND id NOT IN (SELECT address_id FROM payments)',
  );
  expect(known.pluck().get()).toBe(0);
  const statuses = new Map(payments.map(({ address, status }) => [address, status]));
  const lost = [...paid].filter(([address, status]) => (statuses.get(address) ?? -1) < status);
  expect(lost).toEqual([]);
  const settled = sqlite.prepare(
    "SELECT c.id FROM callbacks c WHERE state = 'delivered' AND (SELECT count(*) FROM attempts WHERE callback_id = c.id) > 0",
  );
  const recorded = new Set(settled.pluck().all() as number[]);
  expect([...delivered].filter((id) => !recorded.has(id))).toEqual([]);
}

/** How many checkpoints there were that something was promised after: the main file was written, and synced. */
function checkpointsIn(steps: readonly Step[], main: string | undefined): number {
  const last = steps.findLastIndex(({ kind }) => kind === 'say');
  return steps.slice(0, last).filter((step) => step.kind === 'sync' && step.inode === main).length;
}

it.skipIf(unless(noShim))(
  'a loss of power anywhere takes nothing back and leaves nothing half',
  async () => {
    const rounds = howMany('rounds of a shop', 6, 24);
    const draws = howMany('random remains of each step', 2, 12);
    const { folder, before, steps } = await record(rounds);
    const disk = new Disk(before);
    const promised: Promised = { issued: new Set(), paid: new Map(), delivered: new Set() };
    const random = createRandom(1).fraction;
    const variants: Luck[] = [...lucks, ...Array<Luck>(draws - 1).fill('some')];
    const here = tempFolder();
    const path = join(here, 'paygate.db');
    const seen = new Set<string>();
    for (const [number, step] of steps.entries()) {
      disk.take(step);
      if (step.kind === 'say') promise(promised, step.text);
      for (const luck of disk.inDoubt === 0 ? (['nothing'] as const) : variants) {
        const remains = disk.remains(luck, random);
        const { issued, paid, delivered } = promised;
        const print = `${printOf(remains)} ${issued.size} ${[...paid.values()]} ${delivered.size}`;
        if (seen.has(print)) continue;
        seen.add(print);
        layOut(here, folder, remains);
        try {
          await expectKept(path, promised);
        } catch (error) {
          const what = `step ${number} of ${steps.length}, ${step.kind}, ${luck}`;
          throw new Error(`${what}: ${error instanceof Error ? error.message : error}`, {
            cause: error,
          });
        }
      }
    }
    const checkpoints = checkpointsIn(steps, before.get(join(folder, 'paygate.db'))?.inode);
    const counts = (kind: Step['kind']) => steps.filter((step) => step.kind === kind).length;
    process.stdout.write(
      `power loss: ${rounds} rounds, ${counts('write')} writes, ${counts('sync')} syncs, ` +
        `${seen.size} different disks; ${promised.issued.size} addresses, ${promised.paid.size} payments, ` +
        `${promised.delivered.size} deliveries, none lost; ${checkpoints} checkpoints\n`,
    );
    // Else nothing was tried.
    expect(
      Math.min(promised.issued.size, promised.paid.size, promised.delivered.size),
    ).toBeGreaterThan(5);
    expect(checkpoints).toBeGreaterThan(2);
  },
);
