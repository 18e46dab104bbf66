// The memory limit of the service (install-command.ts). The executable serves 50,000 addresses
// with 1,000,000 attempts: it compares the hot addresses, delivers, and takes a snapshot. Without
// `--all` it serves a tenth of that, and compares hot addresses only at the start. A second test
// uses the same limit: clients take all HTTPS connections, read nothing, send wrong passwords.

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { createPasswords } from '../../src/dashboard/guard/password.ts';
import { type Child, startChild } from '../support/child.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';
import type { BusyShop } from './busy-shop.ts';
import {
  diskFolder,
  executable,
  limitOfServiceBytes,
  mebibyte,
  removeExecutable,
  tlsArguments,
  watchMemory,
} from './limited-service.ts';
import { limitMemory, noMemoryLimit } from './memory-limit.ts';
import { eventually, prepareServe, type ServeProcess, serve } from './serving.ts';
import { cannotRun, howMany } from './thorough.ts';
import { openSignIn, openUnread, stylesheetOf, unreadRequests } from './unread-responses.ts';

afterEach(cleanUp);
afterAll(removeExecutable);

/** A sweep of the hot addresses takes ten minutes; a snapshot is due every 15 minutes. */
const maxRoundMs = 25 * 60_000;
const maxDeliveryMs = 5 * 60_000;
const asked = 500;
const clients = 32;
const paid = 100;

/** Drops the file from the page cache, so that its pages count for the process that reads it. */
function dropCache(path: string): void {
  const quietly = ['oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none'];
  execFileSync('dd', ['if=/dev/null', `of=${path}`, ...quietly]);
}

/** Issues addresses, and checks that they differ. */
async function issueAddresses(paygate: ServeProcess): Promise<string[]> {
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

async function send(busyShop: Child, command: string): Promise<string | undefined> {
  busyShop.say(command);
  return busyShop.line();
}

const isSkipped = cannotRun(noMemoryLimit());
const addressCount = isSkipped
  ? 0
  : howMany('addresses in the memory of the service', 5_000, 50_000);
const isWhole = addressCount === 50_000;

it.skipIf(isSkipped)(
  `${addressCount} addresses and ${20 * addressCount} attempts fit in ${limitOfServiceBytes / mebibyte} MiB`,
  async () => {
    const folder = diskFolder();
    const [path, program] = [join(folder, 'paygate.db'), executable()];
    const shop = await startReceiver();
    whenOver(() => shop.close());
    const busyShop = startChild(
      join(import.meta.dirname, 'busy-shop.ts'),
      ...[path, `${shop.origin}/callback`, String(addressCount)],
    );
    const line = (await busyShop.line()) ?? (await busyShop.ended).errors;
    expect(line).toMatch(/^\{/);
    const { port, apiKey, owed, hot } = JSON.parse(line) as BusyShop;
    for (const each of [path, program]) dropCache(each);

    const limit = limitMemory(limitOfServiceBytes);
    const options = ['--limit-new-address', 'off', '--price', 'off', '--log-level', 'warn'];
    const args = [
      ...['serve', '--db', path, '--listen', '127.0.0.1:0', ...options],
      ...['--electrum', `tcp://127.0.0.1:${port}`],
    ];
    const paygate = await serve({ args, apiKey }, {}, limit.within([program]));
    const peaks = watchMemory(paygate, limit);
    const addresses = await issueAddresses(paygate);
    await eventually('to be caught up', async () => (await paygate.health()).electrum.caught_up);
    await send(busyShop, `pay ${addresses.slice(0, paid).join(' ')}`);
    await send(busyShop, `pay ${paid}`);
    const delivered = (count: number) =>
      eventually(`${count} callbacks`, () => shop.requests.length >= count, maxDeliveryMs);
    await delivered(owed + 2 * paid);
    await send(busyShop, 'mine');
    await delivered(owed + 4 * paid);
    await eventually(
      'no pending callback',
      async () => (await paygate.health()).callbacks.owed === 0,
    );
    if (isWhole) {
      const isComplete = async () => Number(await send(busyShop, 'asked')) === hot;
      await eventually('a sweep of the hot addresses', isComplete, maxRoundMs);
      const hasSnapshot = () => existsSync(join(folder, 'backups/latest.db'));
      await eventually('a snapshot', hasSnapshot, maxRoundMs);
    }
    const compared = Number(await send(busyShop, 'asked'));
    await issueAddresses(paygate);
    paygate.kill('SIGTERM');
    expect((await paygate.ended).by).toBe(0);
    expect(limit.kills()).toBe(0);
    const [anonymous, resident] = [peaks.anonymousBytes, peaks.residentBytes].map((bytes) =>
      Math.round(bytes / mebibyte),
    );
    process.stdout.write(
      `within ${limitOfServiceBytes / mebibyte} MiB: at most ${anonymous} MiB anonymous, ${resident} MiB with files; ` +
        `${compared} of ${hot} hot addresses compared, ${shop.requests.length} callbacks delivered\n`,
    );
  },
);

/** More than the server's maximum of connections (src/web/http-server.ts). */
const connections = 540;
const wrongPasswords = 4;

it.skipIf(isSkipped)(
  `S-92 every HTTPS connection with unread responses, and wrong passwords, fit in ${limitOfServiceBytes / mebibyte} MiB`,
  async () => {
    const folder = diskFolder();
    const setup = await prepareServe(join(folder, 'paygate.db'));
    const records = await openTestStore({ path: setup.path });
    const hash = await createPasswords((length) => randomBytes(length)).hash(
      'two lamps, an owl and a ladder',
    );
    await records.write((tx) => records.admin.setPassword(tx, Date.now(), hash));
    await records.database.close();
    const limit = limitMemory(limitOfServiceBytes);
    const args = [...setup.args, ...tlsArguments(folder)];
    const paygate = await serve({ ...setup, args }, {}, limit.within([executable()]));
    const peaks = watchMemory(paygate, limit);
    const port = Number(new URL(paygate.origin).port);
    const tryPassword = await openSignIn(port);
    const stylesheet = await stylesheetOf(port);
    await openUnread(port, connections, stylesheet.path);
    const answered: number[] = [];
    for (let left = wrongPasswords; left > 0; left -= 1) {
      answered.push(await tryPassword(`wrong for the ${left}th time`));
    }
    paygate.kill('SIGTERM');
    const { by } = await paygate.ended;
    const [anonymous, resident, peak = 0] = [
      peaks.anonymousBytes,
      peaks.residentBytes,
      limit.peakBytes(),
    ].map((bytes) => Math.round(bytes / mebibyte));
    // Control groups of version 2 also count socket buffers: at most each response twice, since the
    // kernel counts the allocated size of a packet (https://docs.kernel.org/networking/skbuff.html).
    const buffers = Math.round((2 * connections * unreadRequests * stylesheet.bytes) / mebibyte);
    process.stdout.write(
      `${connections} connections within ${limitOfServiceBytes / mebibyte} MiB: at most ${anonymous} MiB anonymous, ` +
        `${resident} MiB with files, ${peak} MiB by the kernel's count; at most ${buffers} MiB of socket buffers\n`,
    );
    expect(limit.kills()).toBe(0);
    expect(by).toBe(0);
    expect(answered).toEqual(Array(wrongPasswords).fill(401));
    expect(peak + buffers).toBeLessThan(limitOfServiceBytes / mebibyte);
  },
);
