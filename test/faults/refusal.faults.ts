// A disk that refuses what `paygate serve` writes, while it runs: read-only, full, over its quota, not ours any more, broken.
// It is told at /healthz, /readyz and to shops, no server is blamed, and all goes on by itself once the disk takes writes.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { cleanUp, look, pragma, tempFolder, whenOver } from '../support/files.ts';
import { eventually, openPremises, serve } from './serving.ts';
import { buildShim, noShim } from './shim/shim.ts';
import { howMany, unless } from './thorough.ts';

afterEach(cleanUp);

const reasons = {
  EROFS: 'its disk is mounted read-only (EROFS)',
  ENOSPC: 'its disk is full (ENOSPC)',
  EACCES: 'its user may not write to it any more (EACCES)',
  EDQUOT: 'the disk quota of its user is used up (EDQUOT)',
  EIO: 'its disk refuses writes (EIO)',
} as const;

/** Each takes a minute until all goes on. */
const tried = Object.entries(reasons).slice(0, howMany('reasons of a disk to refuse', 2, 5));

it.skipIf(unless(noShim)).each(tried)(
  'a disk that refuses writes with %s, and takes them again',
  async (name, reason) => {
    const premises = await openPremises();
    const { chain, receiver } = premises;
    const refuse = join(tempFolder(), 'refuse');
    const paygate = await serve(premises, {
      LD_PRELOAD: buildShim(tempFolder()),
      FAULTS_ROOT: dirname(premises.path),
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
    const told = `the high-water mark of the database cannot be written: ${reason}`;
    expect((await paygate.health()).warnings.join('\n')).toContain(told);
    expect(await readiness()).toEqual({ ready: false, reasons: [`no address is issued: ${told}`] });
    chain.pay([{ address: issued[0] ?? '', valueSat: 5_000 }]);
    chain.mine(1);
    await eventually('the database too', async () =>
      (await paygate.health()).warnings.join().includes('the database cannot be written: '),
    );
    for (let looks = 0; looks < 30; looks += 1) {
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
    await eventually('to be well', async () => (await paygate.health()).status === 'ok');
    expect(await readiness()).toEqual({ ready: true, reasons: [] });
    await receiver.waitFor(1);
    expect(receiver.requests[0]?.url).toContain(`addr=${issued[0]}`);
    const next = await paygate.newAddress();
    expect(next).toMatchObject({ status: 200 });
    expect(issued).not.toContain(next?.address);
    expect((await paygate.health()).electrum.height).toBe(chain.tipHeight);
    paygate.kill('SIGTERM');
    expect(await paygate.ended).toMatchObject({ by: 0 });
    expect(pragma(look(premises.path), 'integrity_check')).toBe('ok');
  },
);

/** Where the kernel is told that an ext4 has met an error, at which it becomes read-only; undefined where that cannot be done. */
function disk(): { readonly folder: string; readonly trigger: string } | undefined {
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

it('a disk that its system makes read-only after an error', async ({ skip }) => {
  const made = disk();
  if (made === undefined || !existsSync(made.trigger)) return skip('no disk can be mounted here');
  const premises = await openPremises(join(made.folder, 'paygate.db'));
  const paygate = await serve(premises);
  await eventually('an address', async () => (await paygate.newAddress())?.status === 200);
  await eventually('to be caught up', async () => (await paygate.health()).electrum.caught_up);
  writeFileSync(made.trigger, '1');
  expect(await paygate.newAddress()).toMatchObject({ status: 503 });
  premises.chain.mine(1);
  const reason = 'cannot be written: its disk is mounted read-only (EROFS)';
  for (let looks = 0; looks < 10; looks += 1) {
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
