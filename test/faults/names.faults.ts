// Names whose servers do not respond, and other work that needs a thread. Needs root, for mount and
// port 53.

import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const address = '127.0.5.3';
const folder = mkdtempSync(join(tmpdir(), 'paygate-names-'));

/** 192.0.2.1 for `*.good.test`. No response for `*.dead.test` and IPv6 of `*.half.good.test`. */
const server = createSocket('udp4', (message, { port, address: from }) => {
  const labels: string[] = [];
  let at = 12;
  for (let size = message[at] ?? 0; size > 0; size = message[at] ?? 0) {
    labels.push(message.toString('ascii', at + 1, at + 1 + size));
    at += 1 + size;
  }
  const name = labels.join('.');
  const isOfFour = message.readUInt16BE(at + 1) === 1;
  if (name.endsWith('dead.test') || (name.endsWith('half.good.test') && !isOfFour)) return;
  const header = Buffer.from(message.subarray(0, 12));
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(isOfFour ? 1 : 0, 6);
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]);
  const parts = [header, message.subarray(12, at + 5), ...(isOfFour ? [answer] : [])];
  server.send(Buffer.concat(parts), port, from);
});

beforeAll(() => new Promise<void>((bound) => server.bind(53, address, bound)));
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

it('20 names without a response delay no file, no hash and no other name', async () => {
  const config = join(folder, 'resolv.conf');
  writeFileSync(config, `nameserver ${address}\n`);
  const program = [process.execPath, 'scripts/run.mjs', 'test/faults/names.ts'];
  const mount = `mount --bind ${config} /etc/resolv.conf; exec "$@"`;
  const env = { PATH: process.env.PATH, UV_THREADPOOL_SIZE: '', RES_OPTIONS: '' };
  const args = ['--mount', 'sh', '-ec', `unset UV_THREADPOOL_SIZE RES_OPTIONS; ${mount}`, 'sh'];
  const { stdout } = await promisify(execFile)('unshare', [...args, ...program], { env });
  const { file, hash, local, good, half, dead } = JSON.parse(stdout);
  expect([file.found, hash.found, good.found, half.found]).toEqual([
    ...['read', 'made'],
    ...[['192.0.2.1'], ['192.0.2.1']],
  ]);
  for (const { ms } of [file, hash, local, good]) expect(ms).toBeLessThan(2_000);
  // A callback has five seconds to connect.
  expect(half.ms).toBeLessThan(5_000);
  for (const { ms, found } of dead) {
    expect(found).toBe('EAI_AGAIN');
    expect(ms).toBeGreaterThan(2_000);
  }
});
