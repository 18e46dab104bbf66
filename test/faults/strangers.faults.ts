// Strangers with requests that need memory, in the memory limit of the service and in half of it.
// They send 64 KiB of pipelined requests on each connection, or stop reading. Another client is
// answered meanwhile, within a second. Neither the kernel nor V8 ends the process.

import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { startChild } from '../support/child.ts';
import { cleanUp } from '../support/files.ts';
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
import { prepareServe, type ServeProcess, serve } from './serving.ts';
import { cannotRun } from './thorough.ts';

const isSkipped = cannotRun(noMemoryLimit());

afterEach(cleanUp);
afterAll(() => isSkipped || removeExecutable());

/** Time of paygate on a processor, because other programs of this machine do not count. */
const maxAnswerMs = 1_000;
/** The maximum of a listener (src/web/http-server.ts). */
const maxConnections = 512;

/** How long a process ran on processors, in milliseconds; the kernel counts in 1/100 s. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Another client, with a connection for each request. @throws unless it is answered 200 */
function ask(origin: string): Promise<void> {
  const { port, protocol } = new URL(origin);
  const options = { host: '127.0.0.1', localAddress: '127.0.0.2', port, path: '/readyz' };
  const send = protocol === 'https:' ? requestTls : request;
  return new Promise((resolve, reject) => {
    const sent = send({ ...options, agent: false, rejectUnauthorized: false }, (answer) => {
      answer.resume();
      answer.once('end', () =>
        answer.statusCode === 200 ? resolve() : reject(new Error(`answered ${answer.statusCode}`)),
      );
      answer.once('error', reject);
    });
    sent.once('error', reject).end();
  });
}

/** Asks again and again until `isOver`, and then some more. Resolves with the longest times. */
async function longestAnswer({ origin, pid }: ServeProcess, isOver: () => boolean) {
  const longest = { processorMs: 0, wallMs: 0 };
  for (let left = 10; left > 0; left -= isOver() ? 1 : 0) {
    const [before, start] = [processorMs(pid), performance.now()];
    await ask(origin);
    longest.processorMs = Math.max(longest.processorMs, processorMs(pid) - before);
    longest.wallMs = Math.max(longest.wallMs, Math.round(performance.now() - start));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return longest;
}

const ofService = limitOfServiceBytes / mebibyte;

describe.skipIf(isSkipped).each([ofService, ofService / 2])('in %i MiB', (megabytes) => {
  it.each(['plain', 'tls'])('S-93 by %s, strangers stop nothing', async (kind) => {
    const folder = diskFolder();
    const setup = await prepareServe(join(folder, 'paygate.db'));
    const limit = limitMemory(megabytes * mebibyte);
    const args = [...setup.args, ...(kind === 'tls' ? tlsArguments(folder) : [])];
    const paygate = await serve({ ...setup, args }, {}, limit.within([executable()]));
    const peaks = watchMemory(paygate, limit);
    const { port } = new URL(paygate.origin);
    const strangers = startChild(join(import.meta.dirname, 'strangers.ts'), port, kind);
    await ask(paygate.origin);
    const figures: string[] = [];
    for (const command of [
      ...[1, 8, maxConnections].map((count) => `pipeline ${count}`),
      'stop 150',
    ]) {
      let isDone = false;
      strangers.say(command);
      const done = strangers.line().then((line) => {
        isDone = true;
        return line;
      });
      const longest = await longestAnswer(paygate, () => isDone);
      expect((await done) ?? (await strangers.ended).errors).toBe('done');
      figures.push(`${command}: ${longest.processorMs} ms (${longest.wallMs} ms by the clock)`);
      expect(longest.processorMs).toBeLessThan(maxAnswerMs);
    }
    paygate.kill('SIGTERM');
    expect((await paygate.ended).by).toBe(0);
    expect(limit.kills()).toBe(0);
    const [anonymous = 0, peak = 0] = [peaks.anonymousBytes, limit.peakBytes()].map((bytes) =>
      Math.round(bytes / mebibyte),
    );
    // The rest is left for socket buffers, which control groups of version 2 also count.
    expect(peak).toBeLessThan(ofService / 3);
    process.stdout.write(
      `strangers by ${kind} in ${megabytes} MiB: at most ${anonymous} MiB anonymous, ${peak} MiB ` +
        `by the kernel's count; the longest answer to another client: ${figures.join(', ')}\n`,
    );
  });
});
