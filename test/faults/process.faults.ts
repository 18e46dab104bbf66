// What befalls the process of `paygate serve`: kill -9 while many ask it for addresses, a second one on the same
// file, a disk that loses what was synced.

import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { startChildWith } from '../support/child.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, look, pragma, tempFolder } from '../support/files.ts';
import { eventually, openPremises, type Premises, serve } from './serving.ts';
import { buildShim, noShim } from './shim/shim.ts';
import { howMany, unless } from './thorough.ts';

afterEach(cleanUp);

const clients = 24;
/** After the first answer of a life, so that kills fall between and into commits. */
const maxLifeMs = 400;

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

/** Each was answered once and is on file. */
function expectOnFile(path: string, answered: readonly string[]): void {
  expect(new Set(answered).size).toBe(answered.length);
  const issued = issuedOn(path);
  expect(answered.filter((address) => !issued.has(address))).toEqual([]);
  expect(new Set(issued.values()).size).toBe(issued.size);
}

it('kill -9 while many clients ask: no address twice, and each that was answered is on file', async () => {
  const kills = howMany('kills of serve', 12, 200);
  const premises = await openPremises();
  const answered: string[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const paygate = await serve(premises);
    const before = answered.length;
    const ask = async (): Promise<void> => {
      for (;;) {
        const answer = await paygate.newAddress();
        if (answer === undefined) return;
        if (answer.status === 200) answered.push(answer.address ?? '');
        // It scans the wallet first.
        else expect(answer.status).toBe(503);
      }
    };
    const asking = Promise.all(Array.from({ length: clients }, ask));
    await eventually('the first answer', () => answered.length > before);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * maxLifeMs));
    paygate.kill();
    expect((await paygate.ended).by).toBe('SIGKILL');
    await asking;
  }
  expectOnFile(premises.path, answered);
  const unanswered = issuedOn(premises.path).size - answered.length;
  process.stdout.write(
    `${kills} kills of serve, ${answered.length} addresses answered, each once; ${unanswered} committed but not answered\n`,
  );
  expect(answered.length).toBeGreaterThan(kills);
});

it('a second serve on the file ends with one line, and the first one goes on', async () => {
  const premises = await openPremises();
  const paygate = await serve(premises);
  const second = await runCli(premises.args);
  expect(second).toEqual({
    code: 1,
    stdout: '',
    stderr: `paygate: ${premises.path}: another \`paygate serve\` uses this database\n`,
  });
  await eventually('an address', async () => (await paygate.newAddress())?.status === 200);
  paygate.kill();
  await paygate.ended;
  // The kernel has given the lock back.
  const third = await serve(premises);
  third.kill('SIGTERM');
  expect((await third.ended).by).toBe(0);
});

/** Paygate on a disk whose every fsync fails as soon as `fail` is called. */
async function onFailingDisk(premises: Premises) {
  const eio = join(tempFolder(), 'eio');
  const env = {
    LD_PRELOAD: buildShim(tempFolder()),
    FAULTS_ROOT: dirname(premises.path),
    FAULTS_EIO: eio,
  };
  const paygate = await serve(premises, env);
  return { paygate, env, fail: () => writeFileSync(eio, ''), mend: () => rmSync(eio) };
}

it.skipIf(unless(noShim))(
  'an fsync that fails while an address is issued ends it with 74',
  async () => {
    const premises = await openPremises();
    const { paygate, fail } = await onFailingDisk(premises);
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
    const again = await serve(premises);
    const { address = '' } = (await again.newAddress()) ?? {};
    expectOnFile(premises.path, [...answered, address]);
  },
);

it.skipIf(unless(noShim))(
  'an fsync that fails while a payment is recorded ends it with 74',
  async () => {
    const premises = await openPremises();
    const { paygate, fail } = await onFailingDisk(premises);
    let address = '';
    await eventually('an address', async () => {
      ({ address = '' } = (await paygate.newAddress()) ?? {});
      return address !== '';
    });
    await eventually('to be caught up', async () => (await paygate.health()).electrum.caught_up);
    fail();
    premises.chain.pay([{ address, valueSat: 7_000 }]);
    expect((await paygate.ended).by).toBe(74);
    expect(premises.receiver.requests).toEqual([]);
    // On a sound disk it is found again, and told.
    await serve(premises);
    await premises.receiver.waitFor(1);
    expect(premises.receiver.requests[0]?.url).toContain(`addr=${address}`);
  },
);

it.skipIf(unless(noShim))(
  'an fsync that fails in a checkpoint ends it too, with all that was committed',
  async () => {
    const premises = await openPremises();
    const eio = join(tempFolder(), 'eio');
    const env = {
      LD_PRELOAD: buildShim(tempFolder()),
      FAULTS_ROOT: dirname(premises.path),
      FAULTS_EIO: eio,
    };
    const child = startChildWith(env, join(import.meta.dirname, 'checkpoint.ts'), premises.path);
    expect(await child.line()).toBe('committed');
    writeFileSync(eio, '');
    child.say('go on');
    expect(await child.line()).toBe('fatal');
    expect(await child.ended).toEqual({ by: 74, errors: '' });
    const sqlite = look(premises.path);
    expect(pragma(sqlite, 'integrity_check')).toBe('ok');
    const row = sqlite.prepare("SELECT length(value) FROM settings WHERE name = 'committed'");
    expect(row.pluck().get()).toBe(100_000);
  },
);
