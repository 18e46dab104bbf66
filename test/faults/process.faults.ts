// Faults of the process `paygate serve`: kill -9 while clients request addresses, a second process
// on the same file, a disk whose fsync fails.

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { startChildWith } from '../support/child.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, look, pragma, tempFolder } from '../support/files.ts';
import { eventually, prepareServe, type ServeSetup, serve } from './serving.ts';
import { buildShim, noShim } from './shim/shim.ts';
import { cannotRun, howMany } from './thorough.ts';

afterEach(cleanUp);

const clients = 24;
/** The longest time from the first address to the kill; kills fall between and into commits. */
const maxRunMs = 400;

const issuedOn = (path: string): Map<string, number> => {
  const sqlite = look(path, { readonly: true });
  expect(pragma(sqlite, 'integrity_check')).toBe('ok');
  const rows = sqlite
    .prepare("SELECT address, derivation_index FROM addresses WHERE origin = 'issued'")
    .raw()
    .all() as [string, number][];
  sqlite.close();
  return new Map(rows);
};

/** Each address was answered once and is in the database. */
function expectStored(path: string, answered: readonly string[]): void {
  expect(new Set(answered).size).toBe(answered.length);
  const issued = issuedOn(path);
  expect(answered.filter((address) => !issued.has(address))).toEqual([]);
  expect(new Set(issued.values()).size).toBe(issued.size);
}

it('kill -9 while many clients request addresses: none is issued twice, each answer is stored', async () => {
  const kills = howMany('kills of serve', 12, 200);
  const setup = await prepareServe();
  const answered: string[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const paygate = await serve(setup);
    const before = answered.length;
    const ask = async (): Promise<void> => {
      for (;;) {
        const answer = await paygate.newAddress();
        if (answer === undefined) return;
        if (answer.status === 200) answered.push(answer.address ?? '');
        // paygate scans the wallet first.
        else expect(answer.status).toBe(503);
      }
    };
    const asking = Promise.all(Array.from({ length: clients }, ask));
    await eventually('the first answer', () => answered.length > before);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * maxRunMs));
    paygate.kill();
    expect((await paygate.ended).by).toBe('SIGKILL');
    await asking;
  }
  expectStored(setup.path, answered);
  const unanswered = issuedOn(setup.path).size - answered.length;
  process.stdout.write(
    `${kills} kills of serve, ${answered.length} addresses answered, each once; ${unanswered} committed but not answered\n`,
  );
  expect(answered.length).toBeGreaterThan(kills);
});

it('a second serve on the same file ends with one line, and the first goes on', async () => {
  const setup = await prepareServe();
  const paygate = await serve(setup);
  const second = await runProcess(setup.args);
  expect(second).toEqual({
    code: 1,
    stdout: '',
    stderr: `paygate: ${setup.path}: another \`paygate serve\` uses this database\n`,
  });
  await eventually('an address', async () => (await paygate.newAddress())?.status === 200);
  paygate.kill();
  await paygate.ended;
  // The kernel has released the lock.
  const third = await serve(setup);
  third.kill('SIGTERM');
  expect((await third.ended).by).toBe(0);
});

/** paygate on a disk whose every fsync fails as soon as `fail` is called. */
async function onFailingDisk(setup: ServeSetup) {
  const eio = join(tempFolder(), 'eio');
  const env = {
    LD_PRELOAD: buildShim(tempFolder()),
    FAULTS_ROOT: dirname(setup.path),
    FAULTS_EIO: eio,
  };
  const paygate = await serve(setup, env);
  return { paygate, fail: () => writeFileSync(eio, '') };
}

it.skipIf(cannotRun(noShim))(
  'a failed fsync while an address is issued ends paygate with exit code 74',
  async () => {
    const setup = await prepareServe();
    const { paygate, fail } = await onFailingDisk(setup);
    const answered: string[] = [];
    await eventually('ten addresses', async () => {
      const { address } = (await paygate.newAddress()) ?? {};
      if (address !== undefined) answered.push(address);
      return answered.length === 10;
    });
    fail();
    const asked = await Promise.all([paygate.newAddress(), paygate.newAddress()]);
    expect(asked.map((answer) => answer?.status === 200)).toEqual([false, false]);
    const { by, errors } = await paygate.ended;
    expect(by).toBe(74);
    expect(errors).toContain('the disk lost a write, paygate ends at once');
    const again = await serve(setup);
    const { address = '' } = (await again.newAddress()) ?? {};
    expectStored(setup.path, [...answered, address]);
  },
);

it.skipIf(cannotRun(noShim))(
  'a failed fsync while a payment is recorded ends paygate with exit code 74',
  async () => {
    const setup = await prepareServe();
    const { paygate, fail } = await onFailingDisk(setup);
    let address = '';
    await eventually('an address', async () => {
      ({ address = '' } = (await paygate.newAddress()) ?? {});
      return address !== '';
    });
    await eventually('to be caught up', async () => (await paygate.health()).electrum.caught_up);
    fail();
    setup.chain.pay([{ address, valueSat: 7_000 }]);
    expect((await paygate.ended).by).toBe(74);
    expect(setup.receiver.requests).toEqual([]);
    // On a sound disk paygate finds the payment again and sends the callback.
    await serve(setup);
    await setup.receiver.waitFor(1);
    expect(setup.receiver.requests[0]?.url).toContain(`addr=${address}`);
  },
);

it.skipIf(cannotRun(noShim))(
  'a failed fsync in a checkpoint ends paygate with exit code 74, and no commit is lost',
  async () => {
    const setup = await prepareServe();
    const eio = join(tempFolder(), 'eio');
    const env = {
      LD_PRELOAD: buildShim(tempFolder()),
      FAULTS_ROOT: dirname(setup.path),
      FAULTS_EIO: eio,
    };
    const child = startChildWith(env, join(import.meta.dirname, 'checkpoint.ts'), setup.path);
    expect(await child.line()).toBe('committed');
    writeFileSync(eio, '');
    child.say('go on');
    expect(await child.line()).toBe('fatal');
    expect(await child.ended).toEqual({ by: 74, errors: '' });
    const sqlite = look(setup.path);
    expect(pragma(sqlite, 'integrity_check')).toBe('ok');
    const row = sqlite.prepare("SELECT length(value) FROM settings WHERE name = 'committed'");
    expect(row.pluck().get()).toBe(100_000);
  },
);
