// The check of a snapshot as `serve` starts it, in a process of its own. It reports the damage or
// why it could not check, and ends with paygate.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { checkInProcess } from '../../src/cli/service/check-process.ts';
import { withSqlite } from '../../src/store/db/driver.ts';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, '../../src/main.ts');
const { signal } = new AbortController();

/** With what would make `serve` take another network, and the command refuse the file. */
function check(path: string): Promise<readonly string[]> {
  const bundle = bundleOf(program);
  const env = { ...process.env, ...bundleEnv(bundle), PAYGATE_NETWORK: 'mainnet' };
  return checkInProcess([bundle], env)(path, signal);
}

async function closedFile(): Promise<string> {
  const records = await openTestStore();
  await records.addWallet();
  await records.database.close();
  return records.path;
}

test('a copy that is whole has no faults', async () => {
  expect(await check(await closedFile())).toEqual([]);
});

test('a damaged one has some', async () => {
  const path = await closedFile();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xa5, 4096 * 3, 4096 * 12));
  expect((await check(path)).length).toBeGreaterThan(0);
});

test.each([
  'create view report as select count(*) from payments',
  'create index by_value on payments(value_sat)',
  'create table notes(text)',
])('what an operator has added is no damage: %s', async (sql) => {
  const path = await closedFile();
  withSqlite(path, {}, (sqlite) => sqlite.exec(sql));
  expect(await check(path)).toEqual([]);
});

test('a copy that cannot be read gives an error text', async () => {
  const path = join(tempFolder(), 'copy.db');
  await expect(check(path)).rejects.toThrow(`paygate: ${path}: there is no such file`);
});

test('a killed check process gives no result', async () => {
  const killed = checkInProcess(['-e', 'process.kill(process.pid, "SIGKILL")']);
  await expect(killed('copy.db', signal)).rejects.toThrow('the check ended with SIGKILL');
});

test('it ends when its signal aborts', async () => {
  const world = createTestWorld();
  const path = join(tempFolder(), 'pid');
  writeFileSync(path, '');
  const hang = `require('node:fs').writeFileSync(process.argv.at(-1), String(process.pid));
    setInterval(() => {}, 1_000_000);`;
  const stopping = new AbortController();
  const checked = checkInProcess(['-e', hang])(path, stopping.signal);
  const pid = () => Number(readFileSync(path, 'utf8'));
  await world.until(() => pid() > 0, 'the process');
  stopping.abort();
  await expect(checked).rejects.toThrow();
  await world.until(() => !isThere(pid()), 'its end');
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
