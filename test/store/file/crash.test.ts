// A process that is killed with SIGKILL at random moments: no answer is taken back, no transaction
// is partial, no address is issued twice.

import { afterEach, expect, it } from 'vitest';
import { settings } from '../../../src/store/schema/schema.ts';
import { startChild } from '../../support/child.ts';
import { cleanUp, connectionOf, pragma } from '../../support/files.ts';
import { openTestStore } from '../../support/store.ts';

afterEach(cleanUp);

const program = `${import.meta.dirname}/../program.ts`;
const rounds = 10;

/** One file through many lives; answers how many indexes were handed out. */
async function live(seed: number): Promise<number> {
  const { path, database, ...first } = await openTestStore();
  await first.addWallet();
  // Otherwise the child would spend most of its time deriving.
  await first.write((tx) => first.addresses.deriveAhead(tx, 1, 300));
  await first.addStore();
  await database.close();
  const answered = new Set<number>();
  for (let round = 0; round < rounds; round += 1) {
    const child = startChild(program, 'issue', path, `${seed * 1000 + round}`);
    // Some lives end by the parent, anywhere, the others by themselves, between two statements.
    expect(await child.line()).toBe('continue');
    for (let lines = round % 2 === 0 ? 2 + 3 * round : 0; lines > 0; lines -= 1) {
      const line = await child.line();
      if (line === undefined) break;
      answer(line, answered);
      if (lines === 1) child.kill();
    }
    const { by, errors } = await child.ended;
    expect({ by, errors }).toEqual({ by: 'SIGKILL', errors: '' });
    for (const line of await child.rest()) answer(line, answered);
    await expectWhole(path, answered);
  }
  return answered.size;
}

function answer(line: string, answered: Set<number>): void {
  const index = Number(line);
  expect(index, line).toBeGreaterThanOrEqual(0);
  // The index was never issued before.
  expect(answered).not.toContain(index);
  answered.add(index);
}

async function expectWhole(path: string, answered: ReadonlySet<number>): Promise<void> {
  const { database, catalog } = await openTestStore({ path });
  const sqlite = connectionOf(database);
  expect(pragma(sqlite, 'integrity_check')).toBe('ok');
  const rows = sqlite
    .prepare(`SELECT derivation_index FROM addresses WHERE origin = 'issued'`)
    .pluck()
    .all() as number[];
  const issued = new Set(rows);
  expect([...answered].filter((index) => !issued.has(index))).toEqual([]);
  const named = database.orm.select({ name: settings.name }).from(settings).all();
  const halves = named.filter(({ name }) => name.startsWith('issued '));
  expect(halves.map(({ name }) => Number(name.slice(7))).sort()).toEqual(rows.sort());
  expect(catalog.wallet(1).nextIndex).toBeGreaterThan(Math.max(-1, ...issued));
  await database.close();
}

it('S-135 loses no answered address, whenever it is killed', async () => {
  const handedOut = await Promise.all([live(1), live(2)]);
  // Otherwise nothing was tested.
  expect(Math.min(...handedOut)).toBeGreaterThan(20);
});
