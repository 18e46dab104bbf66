// The memory that the service may have (cli/systemd-unit.ts), before a file of 50,000 addresses and 1,000,000 attempts:
// the single executable serves, compares every hot address, delivers, takes a snapshot, and is not killed. Without
// `--all` the file is a tenth of that, and its hot addresses are compared at the start alone.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { systemdUnit } from '../../src/cli/systemd-unit.ts';
import { type Child, startChild } from '../support/child.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';
import type { Crowd } from './crowd.ts';
import { limitMemory, type MemoryLimit, noMemoryLimit } from './memory-limit.ts';
import { eventually, type Serving, serve } from './serving.ts';
import { howMany, unless } from './thorough.ts';

afterEach(cleanUp);

const mebibyte = 1024 * 1024;
const limitBytes = Number(/^MemoryMax=(\d+)M$/m.exec(systemdUnit)?.[1]) * mebibyte;
/** A round of the hot addresses takes ten minutes, a snapshot is due each quarter of an hour. */
const longestRoundMs = 25 * 60_000;
const longestDeliveryMs = 5 * 60_000;
const asked = 500;
const clients = 32;
const paid = 100;

/** On a disk: what lies in a file system that is memory itself counts, and cannot be taken back. */
function diskFolder(): string {
  const folder = mkdtempSync('/var/tmp/paygate-memory-');
  whenOver(() => rmSync(folder, { recursive: true }));
  return folder;
}

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
    const [path, program] = [join(folder, 'paygate.db'), join(folder, 'paygate')];
    execFileSync(process.execPath, ['scripts/executable.mjs', '--out', program]);
    const shop = await startReceiver();
    whenOver(() => shop.close());
    const crowd = startChild(
      join(import.meta.dirname, 'crowd.ts'),
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
      eventually(`${count} callbacks`, () => shop.requests.length >= count, longestDeliveryMs);
    await delivered(owed + 2 * paid);
    await tell(crowd, 'mine');
    await delivered(owed + 4 * paid);
    await eventually('nothing owed', async () => (await paygate.health()).callbacks.owed === 0);
    if (isWhole) {
      const isThrough = async () => Number(await tell(crowd, 'asked')) === hot;
      await eventually('the round of hot addresses', isThrough, longestRoundMs);
      const hasSnapshot = () => existsSync(join(folder, 'backups/latest.db'));
      await eventually('a snapshot', hasSnapshot, longestRoundMs);
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
