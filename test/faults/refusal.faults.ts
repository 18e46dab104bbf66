// A disk that refuses the writes of a running `paygate serve`: read-only, full, over quota, without
// permission, or broken. /healthz, /readyz and the API report it. No Electrum server is blamed.
// paygate recovers by itself once the disk accepts writes.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { cleanUp, look, pragma, tempFolder, whenOver } from '../support/files.ts';
import { eventually, prepareServe, serve } from './serving.ts';
import { buildShim, noShim } from './shim/shim.ts';
import { cannotRun, howMany } from './thorough.ts';

afterEach(cleanUp);

const reasons = {
  EROFS: 'its disk is mounted read-only (EROFS)',
  ENOSPC: 'its disk is full (ENOSPC)',
  EACCES: 'its user may not write to it any more (EACCES)',
  EDQUOT: 'the disk quota of its user is used up (EDQUOT)',
  EIO: 'its disk refuses writes (EIO)',
} as const;

/** Each takes a minute, until paygate has recovered. */
const chosen = Object.entries(reasons).slice(0, howMany('reasons of a disk to refuse', 2, 5));

it.skipIf(cannotRun(noShim)).each(chosen)(
  'a disk refuses writes with %s, and later accepts them',
  async (name, reason) => {
    const setup = await prepareServe();
    const { chain, receiver } = setup;
    const refuse = join(tempFolder(), 'refuse');
    const paygate = await serve(setup, {
      LD_PRELOAD: buildShim(tempFolder()),
      FAULTS_ROOT: dirname(setup.path),
      FAULTS_REFUSE: refuse,
    });
    const issued: string[] = [];
    await eventually('an address', async () => {
      const { address } = (await paygate.newAddress()) ?? {};
      if (address !== undefined) issued.push(address);
      return issued.length === 2;
    });
    await eventually('to be caught up', async () => (await paygate.health()).electrum.caught_up);
    const readiness = async () => (await fetch(`${paygate.origin}/readyz`)).json();

    writeFileSync(refuse, `${constants.errno[name as keyof typeof constants.errno]}`);
    expect(await paygate.newAddress()).toMatchObject({ status: 503 });
    const warning = `the high-water mark of the database cannot be written: ${reason}`;
    expect((await paygate.health()).warnings.join('\n')).toContain(warning);
    expect(await readiness()).toEqual({
      ready: false,
      reasons: [`no address is issued: ${warning}`],
    });
    chain.pay([{ address: issued[0] ?? '', valueSat: 5_000 }]);
    chain.mine(1);
    await eventually('the database too', async () =>
      (await paygate.health()).warnings.join().includes('the database cannot be written: '),
    );
    for (let checks = 0; checks < 30; checks += 1) {
      const { warnings, electrum } = await paygate.health();
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('cannot be written');
      expect(electrum.servers).toMatchObject([{ state: 'live' }]);
      expect(electrum.servers[0]).not.toHaveProperty('error');
      expect(await readiness()).toMatchObject({ ready: false });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(receiver.requests).toEqual([]);

    rmSync(refuse);
    await eventually('status ok', async () => (await paygate.health()).status === 'ok');
    expect(await readiness()).toEqual({ ready: true, reasons: [] });
    await receiver.waitFor(1);
    expect(receiver.requests[0]?.url).toContain(`addr=${issued[0]}`);
    const next = await paygate.newAddress();
    expect(next).toMatchObject({ status: 200 });
    expect(issued).not.toContain(next?.address);
    expect((await paygate.health()).electrum.height).toBe(chain.tipHeight);
    paygate.kill('SIGTERM');
    expect(await paygate.ended).toMatchObject({ by: 0 });
    expect(pragma(look(setup.path), 'integrity_check')).toBe('ok');
  },
);

/**
 * Mounts an ext4 that becomes read-only after an error. `trigger` is the kernel's file that reports
 * such an error. Undefined if it cannot be mounted here.
 */
function ext4Disk(): { readonly folder: string; readonly trigger: string } | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'paygate-disk-'));
  whenOver(() => rmSync(folder, { recursive: true, force: true }));
  const [image, at] = [join(folder, 'image'), mkdtempSync(join(folder, 'disk-'))];
  writeFileSync(image, '');
  truncateSync(image, 150 * 1024 * 1024);
  const made = spawnSync('mkfs.ext4', ['-q', image]);
  const options = 'loop,errors=remount-ro';
  if (made.status !== 0 || spawnSync('mount', ['-o', options, image, at]).status !== 0) {
    return undefined;
  }
  whenOver(() => void execFileSync('umount', [at]));
  const device = execFileSync('findmnt', ['-no', 'SOURCE', at], { encoding: 'utf8' }).trim();
  return { folder: at, trigger: `/sys/fs/ext4/${basename(device)}/trigger_fs_error` };
}

it('a disk becomes read-only after an error of its file system', async ({ skip }) => {
  const made = ext4Disk();
  if (made === undefined || !existsSync(made.trigger)) return skip('no disk can be mounted here');
  const setup = await prepareServe(join(made.folder, 'paygate.db'));
  const paygate = await serve(setup);
  await eventually('an address', async () => (await paygate.newAddress())?.status === 200);
  await eventually('to be caught up', async () => (await paygate.health()).electrum.caught_up);
  writeFileSync(made.trigger, '1');
  expect(await paygate.newAddress()).toMatchObject({ status: 503 });
  setup.chain.mine(1);
  const reason = 'cannot be written: its disk is mounted read-only (EROFS)';
  for (let checks = 0; checks < 10; checks += 1) {
    const { warnings, electrum } = await paygate.health();
    expect(warnings.filter((each: string) => !each.includes(reason))).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(electrum.servers).toMatchObject([{ state: 'live' }]);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  expect((await fetch(`${paygate.origin}/readyz`)).status).toBe(503);
  paygate.kill('SIGTERM');
  await paygate.ended;
});
