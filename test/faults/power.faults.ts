// Power loss at every write and fsync while addresses are issued, payments recorded, callbacks
// delivered and checkpoints made. The shim records the steps of one process. For each step, the
// disk after a power loss is written to a folder and opened. It contains everything that was
// answered, read, pushed or sent before. No address is issued again, and no record is partial.

import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { resume } from '../../src/domain/store/allocation.ts';
import { openHighWaterMark } from '../../src/store/mark/high-water-mark.ts';
import { openRecords, type Records } from '../../src/store/open-records.ts';
import { countersOf } from '../../src/store/resume/resume.ts';
import { chainOf } from '../sandbox/support.ts';
import { createRandom } from '../simulation/random.ts';
import { cleanUp, connectionOf, tempFolder, whenOver } from '../support/files.ts';
import { shopOn } from '../support/ledger.ts';
import { startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';
import { Disk, type Survival, survivals } from './shim/disk.ts';
import { fingerprintOf, layOut } from './shim/lay-out.ts';
import type { Step } from './shim/log.ts';
import { noShim } from './shim/shim.ts';
import { type Watched, watch } from './shim/watch.ts';
import { cannotRun, howMany } from './thorough.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, 'shop.ts');

/** Runs shop.ts and records its writes. */
async function record(rounds: number): Promise<Watched> {
  const receiver = await startReceiver();
  whenOver(() => receiver.close());
  const { path, ...records } = await openTestStore();
  await records.addWallet();
  await records.write((tx) => records.addresses.deriveAhead(tx, 1, 3 * rounds));
  await records.addStore({
    callbackUrl: `${receiver.origin}/cb`,
    allowPrivateCallback: true,
    allowHttpCallback: true,
  });
  await shopOn({ path, ...records }, chainOf(110)).follow();
  await records.database.close();
  return watch(program, path, `${rounds}`);
}

/** What a client or a shop has learnt, so a power loss must not undo it. */
interface Acknowledged {
  readonly issued: Set<number>;
  /** The status of each payment, by its address. */
  readonly paid: Map<number, number>;
  readonly delivered: Set<number>;
}

function acknowledge(acknowledged: Acknowledged, text: string): void {
  for (const line of text.trimEnd().split('\n')) {
    const [what, id, status] = line.split(' ');
    if (what === 'issued') acknowledged.issued.add(Number(id));
    if (what === 'paid') acknowledged.paid.set(Number(id), Number(status));
    if (what === 'delivered') acknowledged.delivered.add(Number(id));
  }
}

/** Opens the database as a start does, and compares it with what was acknowledged. */
async function expectDurable(path: string, acknowledged: Acknowledged): Promise<void> {
  const records = await openRecords({
    path,
    create: false,
    network: undefined,
    newInstance: () => 'another',
  });
  try {
    const sqlite = connectionOf(records.database);
    expect(sqlite.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(sqlite.pragma('foreign_key_check')).toEqual([]);
    expectIssued(records, path, acknowledged);
    expectWhole(records, acknowledged);
  } finally {
    await records.database.close();
  }
}

function expectIssued(records: Records, path: string, { issued }: Acknowledged): void {
  const rows = connectionOf(records.database).prepare(
    "SELECT derivation_index FROM addresses WHERE origin = 'issued'",
  );
  const onFile = new Set(rows.pluck().all() as number[]);
  expect([...issued].filter((index) => !onFile.has(index))).toEqual([]);
  const { nextIndex } = records.catalog.wallet(1);
  expect(nextIndex).toBeGreaterThan(Math.max(-1, ...onFile));
  const mark = openHighWaterMark(path, records.instance);
  mark.close();
  const { kind, skips } = resume(countersOf(records), mark.reading);
  // A backup that is restored now would also continue behind every answered address.
  const marked = Math.max(0, ...(mark.reading?.raises ?? []).map(({ to }) => to));
  expect(marked).toBeGreaterThan(Math.max(-1, ...issued));
  // A power loss does not count as a restored backup, and leaves no gap in the merchant's wallet.
  expect(kind).toBe('continue');
  expect(skips.reduce((sum, { from, to }) => sum + to - from, 0)).toBeLessThanOrEqual(3);
}

interface Payment {
  readonly address: number;
  readonly status: number;
  readonly lastCallback: number;
  readonly statusHash: string | null;
}

function expectWhole(records: Records, { paid, delivered }: Acknowledged): void {
  const sqlite = connectionOf(records.database);
  const payments = sqlite
    .prepare(
      `SELECT address_id AS address, p.status, a.status_hash AS statusHash, (SELECT c.status FROM deliveries c
        WHERE c.payment_id = p.id ORDER BY c.version DESC LIMIT 1) AS lastCallback
      FROM payments p JOIN addresses a ON a.id = p.address_id`,
    )
    .all() as Payment[];
  // A payment, its callback and the status of its address are committed together.
  expect(
    payments.filter((each) => each.lastCallback !== each.status || each.statusHash === null),
  ).toEqual([]);
  const known = sqlite.prepare(
    'SELECT count(*) FROM addresses WHERE status_hash IS NOT NULL AND id NOT IN (SELECT address_id FROM payments)',
  );
  expect(known.pluck().get()).toBe(0);
  const statuses = new Map(payments.map(({ address, status }) => [address, status]));
  const lost = [...paid].filter(([address, status]) => (statuses.get(address) ?? -1) < status);
  expect(lost).toEqual([]);
  const settled = sqlite.prepare(
    `SELECT c.id FROM deliveries c WHERE channel = 'callback' AND state = 'delivered'
      AND (SELECT count(*) FROM attempts a WHERE a.channel = c.channel AND delivery_id = c.id) > 0`,
  );
  const recorded = new Set(settled.pluck().all() as number[]);
  expect([...delivered].filter((id) => !recorded.has(id))).toEqual([]);
}

/** Counts the checkpoints (syncs of the main file) before the last acknowledgement. */
function checkpointsIn(steps: readonly Step[], main: string | undefined): number {
  const last = steps.findLastIndex(({ kind }) => kind === 'print');
  return steps.slice(0, last).filter((step) => step.kind === 'sync' && step.inode === main).length;
}

it.skipIf(cannotRun(noShim))(
  'a power loss at any step undoes nothing acknowledged and leaves no partial record',
  async () => {
    const rounds = howMany('rounds of a shop', 6, 24);
    const draws = howMany('random disks of each step', 2, 12);
    const { folder, before, steps } = await record(rounds);
    const disk = new Disk(before);
    const acknowledged: Acknowledged = { issued: new Set(), paid: new Map(), delivered: new Set() };
    const random = createRandom(1).fraction;
    const variants: Survival[] = [...survivals, ...Array<Survival>(draws - 1).fill('some')];
    const here = tempFolder();
    const path = join(here, 'paygate.db');
    const seen = new Set<string>();
    for (const [number, step] of steps.entries()) {
      disk.take(step);
      if (step.kind === 'print') acknowledge(acknowledged, step.text);
      for (const survival of disk.inDoubt === 0 ? (['nothing'] as const) : variants) {
        const remains = disk.remains(survival, random);
        const { issued, paid, delivered } = acknowledged;
        const fingerprint = `${fingerprintOf(remains)} ${issued.size} ${[...paid.values()]} ${delivered.size}`;
        if (seen.has(fingerprint)) continue;
        seen.add(fingerprint);
        layOut(here, folder, remains);
        try {
          await expectDurable(path, acknowledged);
        } catch (error) {
          const what = `step ${number} of ${steps.length}, ${step.kind}, ${survival}`;
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
        `${seen.size} different disks; ${acknowledged.issued.size} addresses, ${acknowledged.paid.size} payments, ` +
        `${acknowledged.delivered.size} deliveries, none lost; ${checkpoints} checkpoints\n`,
    );
    // With fewer this test proves nothing.
    expect(
      Math.min(acknowledged.issued.size, acknowledged.paid.size, acknowledged.delivered.size),
    ).toBeGreaterThan(5);
    expect(checkpoints).toBeGreaterThan(2);
  },
);
