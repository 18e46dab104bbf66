// The memory that the service may have (cli/systemd-unit.ts), before a file of 50,000 addresses and 1,000,000 attempts:
// the single executable serves, compares every hot address, delivers, takes a snapshot, and is not killed. Without
// `--all` the file is a tenth of that, and its hot addresses are compared at the start alone. The same memory before a
// stranger who takes all connections by HTTPS and reads nothing, while wrong passwords come.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { systemdUnit } from '../../src/cli/systemd-unit.ts';
import { createPasswords } from '../../src/dashboard/password.ts';
import { lazy } from '../../src/lib/lazy.ts';
import { makeAuthority } from '../support/authority.ts';
import { type Child, startChild } from '../support/child.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';
import type { Crowd } from './busy-shop.ts';
import { limitMemory, type MemoryLimit, noMemoryLimit } from './memory-limit.ts';
import { eventually, openPremises, type Serving, serve } from './serving.ts';
import { howMany, unless } from './thorough.ts';
import { openSignIn, stylesheetOf, takePlaces } from './unread-responses.ts';

afterEach(cleanUp);
afterAll(() => rmSync(programFolder(), { recursive: true }));

const mebibyte = 1024 * 1024;
const limitBytes = Number(/^MemoryMax=(\d+)M$/m.exec(systemdUnit)?.[1]) * mebibyte;
/** A round of the hot addresses takes ten minutes, a snapshot is due each quarter of an hour. */
const maxRoundMs = 25 * 60_000;
const maxDeliveryMs = 5 * 60_000;
const asked = 500;
const clients = 32;
const paid = 100;

/** On a disk: what lies in a file system that is memory itself counts, and cannot be taken back. */
const makeFolder = (): string => mkdtempSync('/var/tmp/paygate-memory-');

function diskFolder(): string {
  const folder = makeFolder();
  whenOver(() => rmSync(folder, { recursive: true }));
  return folder;
}

const programFolder = lazy(makeFolder);
const executable = lazy(() => {
  const program = join(programFolder(), 'paygate');
  execFileSync(process.execPath, ['scripts/executable.mjs', '--out', program]);
  return program;
});

/** Else who made it pays for it, and not who reads it. */
function dropCache(path: string): void {
  const quietly = ['oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none'];
  execFileSync('dd', ['if=/dev/null', `of=${path}`, ...quietly]);
}

interface Peaks {
  anonymousBytes: number;
  /** Also what is in files and shared; what was its most ever, by the kernel. */
  residentBytes: number;
}

function watchMemory({ pid }: Serving, limit: MemoryLimit): Peaks {
  const peaks: Peaks = { anonymousBytes: 0, residentBytes: 0 };
  const look = () => {
    peaks.anonymousBytes = Math.max(peaks.anonymousBytes, limit.anonymousBytes());
    // Not there any more of one that has just ended.
    const most = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    if (most !== undefined) peaks.residentBytes = Number(most) * 1024;
  };
  const timer = setInterval(() => existsSync(`/proc/${pid}`) && look(), 100);
  whenOver(() => clearInterval(timer));
  return peaks;
}

/** @returns the addresses, each another one */
async function askForAddresses(paygate: Serving): Promise<string[]> {
  const answered: string[] = [];
  const ask = async () => {
    while (answered.length < asked) {
      const { status, address = '' } = (await paygate.newAddress()) ?? {};
      expect(status).toBe(200);
      answered.push(address);
    }
  };
  await Promise.all(Array.from({ length: clients }, ask));
  expect(new Set(answered).size).toBe(answered.length);
  return answered;
}

async function tell(crowd: Child, command: string): Promise<string | undefined> {
  crowd.say(command);
  return crowd.line();
}

const cannot = unless(noMemoryLimit());
const addressCount = cannot ? 0 : howMany('addresses in the memory of the service', 5_000, 50_000);
const isWhole = addressCount === 50_000;

it.skipIf(cannot)(
  `${addressCount} addresses and ${20 * addressCount} attempts fit in ${limitBytes / mebibyte} MiB`,
  async () => {
    const folder = diskFolder();
    const [path, program] = [join(folder, 'paygate.db'), executable()];
    const shop = await startReceiver();
    whenOver(() => shop.close());
    const crowd = startChild(
      join(import.meta.dirname, 'busy-shop.ts'),
      ...[path, `${shop.origin}/callback`, String(addressCount)],
    );
    const line = (await crowd.line()) ?? (await crowd.ended).errors;
    expect(line).toMatch(/^\{/);
    const { port, apiKey, owed, hot } = JSON.parse(line) as Crowd;
    for (const each of [path, program]) dropCache(each);

    const limit = limitMemory(limitBytes);
    const options = ['--limit-new-address', 'off', '--price', 'off', '--log-level', 'warn'];
    const args = [
      ...['serve', '--db', path, '--listen', '127.0.0.1:0', ...options],
      ...['--electrum', `tcp://127.0.0.1:${port}`],
    ];
    const paygate = await serve({ args, apiKey }, {}, limit.within([program]));
    const peaks = watchMemory(paygate, limit);
    const addresses = await askForAddresses(paygate);
    await eventually('to be caught up', async () => (await paygate.health()).electrum.caught_up);
    await tell(crowd, `pay ${addresses.slice(0, paid).join(' ')}`);
    await tell(crowd, `pay ${paid}`);
    const delivered = (count: number) =>
      eventually(`${count} callbacks`, () => shop.requests.length >= count, maxDeliveryMs);
    await delivered(owed + 2 * paid);
    await tell(crowd, 'mine');
    await delivered(owed + 4 * paid);
    await eventually('nothing owed', async () => (await paygate.health()).callbacks.owed === 0);
    if (isWhole) {
      const isThrough = async () => Number(await tell(crowd, 'asked')) === hot;
      await eventually('the round of hot addresses', isThrough, maxRoundMs);
      const hasSnapshot = () => existsSync(join(folder, 'backups/latest.db'));
      await eventually('a snapshot', hasSnapshot, maxRoundMs);
    }
    const compared = Number(await tell(crowd, 'asked'));
    await askForAddresses(paygate);
    paygate.kill('SIGTERM');
    expect((await paygate.ended).by).toBe(0);
    expect(limit.kills()).toBe(0);
    const [anonymous, resident] = [peaks.anonymousBytes, peaks.residentBytes].map((bytes) =>
      Math.round(bytes / mebibyte),
    );
    process.stdout.write(
      `within ${limitBytes / mebibyte} MiB: ${anonymous} MiB of its own at most, ${resident} MiB with files; ` +
        `${compared} of ${hot} hot addresses compared, ${shop.requests.length} callbacks delivered\n`,
    );
  },
);

/** More than there are (src/web/http-server.ts). */
const strangers = 540;
const wrongPasswords = 4;

it.skipIf(cannot)(
  `all connections taken by HTTPS, unread, and wrong passwords fit in ${limitBytes / mebibyte} MiB`,
  async () => {
    const folder = diskFolder();
    const premises = await openPremises(join(folder, 'paygate.db'));
    const store = await openTestStore({ path: premises.path });
    const hash = await createPasswords((length) => randomBytes(length)).hash(
      'two lamps, an owl and a ladder',
    );
    await store.write((tx) => store.admin.setPassword(tx, Date.now(), hash));
    await store.database.close();
    const authority = makeAuthority();
    whenOver(() => authority.remove());
    const { cert, key } = authority.issue('localhost', '20200101000000Z', '20400101000000Z');
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key);
    const limit = limitMemory(limitBytes);
    const args = [...premises.args, '--tls-cert', certFile, '--tls-key', keyFile];
    const paygate = await serve({ ...premises, args }, {}, limit.within([executable()]));
    const peaks = watchMemory(paygate, limit);
    const port = Number(new URL(paygate.origin).port);
    const tryPassword = await openSignIn(port);
    await takePlaces(port, strangers, await stylesheetOf(port));
    const answered: number[] = [];
    for (let left = wrongPasswords; left > 0; left -= 1) {
      answered.push(await tryPassword(`wrong for the ${left}th time`));
    }
    paygate.kill('SIGTERM');
    const { by } = await paygate.ended;
    const [anonymous, resident, most] = [
      peaks.anonymousBytes,
      peaks.residentBytes,
      limit.peakBytes(),
    ].map((bytes) => Math.round(bytes / mebibyte));
    process.stdout.write(
      `${strangers} strangers within ${limitBytes / mebibyte} MiB: ${anonymous} MiB of its own at most, ` +
        `${resident} MiB with files, ${most} MiB by the kernel's count\n`,
    );
    expect(limit.kills()).toBe(0);
    expect(by).toBe(0);
    expect(answered).toEqual(Array(wrongPasswords).fill(401));
    // What a kernel with control groups of version 2 counts besides, the buffers of sockets, has as much room again.
    expect(most).toBeLessThan(limitBytes / mebibyte / 2);
  },
);
