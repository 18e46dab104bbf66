// `paygate doctor` as a person types it: beside a running paygate, without one, and on what is
// wrong. Each check is seen well and ill in test/doctor.

import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Check, ok, runChecks } from '../../src/doctor/doctor-check.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { type ReceiverOptions, startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

type Finding = { check: string; state: string; text: string };

async function receiver(options: ReceiverOptions = {}) {
  const started = await startReceiver(options);
  whenOver(() => started.close());
  return started;
}

async function doctor(app: TestApp, ...more: string[]) {
  const args = ['doctor', '--db', app.path, '--electrum', ...app.labels, '--json'];
  const listen = ['--listen', `127.0.0.1:${app.port}`];
  const { code, stdout, stderr } = await runProcess([...args, ...listen, ...more]);
  expect(stderr).toBe('');
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Finding[] };
  const of = (name: string) => checks.find(({ check }) => check === name);
  return { code, ok, checks, of };
}

/** `paygate` sets its umask; the tests' own process has another. */
function makePrivate(path: string): void {
  for (const end of ['', '-wal', '-shm', '.lock']) {
    if (existsSync(`${path}${end}`)) chmodSync(`${path}${end}`, 0o600);
  }
}

describe('a paygate that is well', () => {
  it('passes beside a running serve, and sends no callback', async () => {
    const app = await openApp();
    await untilReady(app);
    await app.newAddress();
    await app.world.advance(15 * 60_000);
    await app.world.until(() => existsSync(join(dirname(app.path), 'backups/latest.db')));
    makePrivate(app.path);
    const { code, ok, checks, of } = await doctor(
      app,
      ...['--public-url', `http://127.0.0.1:${app.port}`],
    );
    expect(checks.filter(({ state }) => state === 'fail')).toEqual([]);
    expect([code, ok]).toEqual([0, true]);
    expect(checks.map(({ check }) => check)).toEqual([
      ...['database', 'mark', 'disk', 'file system', 'permissions', 'clock', 'wallets', 'snapshot'],
      ...['electrum', 'serve', 'public URL', 'callback'],
    ]);
    expect(of('electrum')?.text).toContain(
      'block 110, paygate sandbox 1, proves a transaction of it',
    );
    expect(of('serve')).toMatchObject({ state: 'ok' });
    expect(of('public URL')).toMatchObject({ state: 'warn' });
    expect(of('public URL')?.text).toContain('without TLS');
    expect(of('callback')).toMatchObject({
      state: 'ok',
      text: `store 1: HEAD ${app.receiver.origin}/ was answered with 200 by 127.0.0.1`,
    });
    expect(app.receiver.requests).toMatchObject([{ method: 'HEAD', url: '/' }]);
    expect(app.receiver.requests[0]?.headers['webhook-signature']).toBeUndefined();
    expect(JSON.stringify(checks)).not.toMatch(/s3cr3t|tpub|pgk_|whsec/);
  });

  it('by default checks the Electrum servers of the running serve', async () => {
    const app = await openApp({ servers: 2 });
    await untilReady(app);
    const listen = ['--listen', `127.0.0.1:${app.port}`, '--json'];
    const { stdout } = await runProcess(['doctor', '--db', app.path, ...listen]);
    const found = (JSON.parse(stdout).checks as Finding[]).filter(
      ({ check }) => check === 'electrum',
    );
    expect(found.map(({ state, text }) => [state, text.split(': ')[0]])).toEqual(
      app.labels.map((label) => ['ok', label]),
    );
    // What runs there on another file is not asked for its servers: regtest has no built-in list.
    const other = await openTestStore();
    const foreign = await runProcess(['doctor', '--db', other.path, ...listen]);
    expect(foreign.stdout).toContain('no built-in servers; name one with --electrum');
  });

  it('is checked without a serve too, in readable lines; a fault exits with 1', async () => {
    const app = await openApp();
    await untilReady(app);
    await app.stop();
    makePrivate(app.path);
    const args = ['doctor', '--db', app.path, '--listen', `127.0.0.1:${app.port}`];
    const well = await runProcess([...args, '--electrum', app.labels[0] ?? '']);
    expect(well).toMatchObject({ code: 0, stderr: '' });
    expect(well.stdout).toMatch(/^skip +serve +no paygate runs at /m);
    expect(well.stdout).toMatch(/^ok +mark +/m);
    const ill = await runProcess([...args, '--electrum', 'tcp://127.0.0.1:1']);
    expect(ill.code).toBe(1);
    expect(ill.stdout).toMatch(/^fail +electrum +tcp:\/\/127\.0\.0\.1:1: cannot connect/m);
  });

  it('reports a damaged or missing file, and checks the rest', async () => {
    const path = join(tempFolder(), 'paygate.db');
    const shop = await receiver();
    const args = ['doctor', '--db', path, '--network', 'regtest', '--json'];
    const asked = [...args, '--electrum', 'tcp://127.0.0.1:1', '--public-url', shop.origin];
    const none = await runProcess(asked);
    expect(JSON.parse(none.stdout).checks[0]).toMatchObject({ check: 'database', state: 'skip' });
    expect(existsSync(path)).toBe(false);
    writeFileSync(path, 'not a database at all'.repeat(100));
    const foreign = JSON.parse((await runProcess(asked)).stdout);
    expect(foreign.checks[0]).toMatchObject({
      state: 'fail',
      text: `${path}: is not a paygate database`,
    });
    expect(foreign.checks.at(-1).text).toContain('another program than paygate answers with 200');
    const of = ({ stdout }: { stdout: string }, name: string) =>
      (JSON.parse(stdout).checks as Finding[]).find(({ check }) => check === name);
    expect(of(await runProcess(asked), 'disk')).toMatchObject({ state: 'ok' });
    chmodSync(path, 0o644);
    expect(of(await runProcess(asked), 'permissions')?.text).toContain(`${path}: others may read`);
    // No server is asked for another network than the file's.
    const unknown = await runProcess(['doctor', '--db', path, '--json']);
    expect(of(unknown, 'electrum')).toMatchObject({
      state: 'skip',
      text: 'the network of the file could not be read; name it with --network',
    });
  });

  it('reports a network without a list of servers, and a mistyped option', async () => {
    const path = join(tempFolder(), 'paygate.db');
    const args = ['doctor', '--db', path, '--network', 'regtest'];
    const { stdout } = await runProcess(args, { PAYGATE_LISTN: '*:80' });
    expect(stdout).toMatch(/^warn +environment +PAYGATE_LISTN: no option has this name/m);
    expect(stdout).toMatch(
      /^fail +electrum +regtest has no built-in servers; name one with --electrum$/m,
    );
  });
});

describe('a check', () => {
  it('has a deadline, and one that breaks does not end the others', async () => {
    const world = createTestWorld();
    let ended: unknown;
    const checks: Check[] = [
      {
        name: 'slow',
        run: (signal) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              ended = signal.reason;
              resolve(ok('too late'));
            });
          }),
      },
      {
        name: 'broken',
        run: () => {
          throw new Error('it broke');
        },
      },
      { name: 'well', run: () => ok('yes') },
    ];
    const found = runChecks(world, checks);
    await world.advance(20_000);
    expect(await found).toEqual([
      { check: 'slow', state: 'fail', text: 'the check was not done after 20 seconds' },
      { check: 'broken', state: 'fail', text: 'it broke' },
      { check: 'well', state: 'ok', text: 'yes' },
    ]);
    expect(ended).toBeInstanceOf(Error);
  });
});
