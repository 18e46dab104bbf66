// The second machine of docs/second-machine.md: Litestream replicates a running paygate to a folder
// or to object storage. Both are killed, and the restored copy takes over and later hands back. No
// address is issued twice, no payment is lost, and restarts beside Litestream skip no address.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { objectStorage } from '../../scripts/regtest/install.mjs';
import { runProcess } from '../support/cli.ts';
import { cleanUp, look, whenOver } from '../support/files.ts';
import {
  at,
  diskFolder,
  end,
  eventually,
  expectOnce,
  isCopy,
  issue,
  prepareServe,
  type ServeSetup,
  serve,
} from './serving.ts';
import { cannotRun } from './thorough.ts';

afterEach(cleanUp);

/** Why Litestream cannot be run here; undefined if it can. */
function noLitestream(): string | undefined {
  try {
    const version = execFileSync('litestream', ['version'], { encoding: 'utf8' });
    return /^v?0\.5\./.test(version) ? undefined : `litestream is ${version.trim()}, not 0.5`;
  } catch {
    return 'there is no litestream: .ci/run installs it';
  }
}

/** Litestream signs its requests to object storage. */
const env = {
  PATH: process.env.PATH,
  AWS_ACCESS_KEY_ID: 'paygate',
  AWS_SECRET_ACCESS_KEY: 'paygate',
};

/** Makes the URL of a new replica. */
type NewReplica = (name: string) => string;

const inFolder: NewReplica = (name) => `file://${join(diskFolder(), name)}`;

/** Why there is no S3 server here; undefined if there is one. */
const noObjectStorage = (): string | undefined =>
  existsSync(objectStorage())
    ? undefined
    : 'there is no moto: node scripts/regtest.mjs install-s3 installs it';

/** Starts an S3 server with one bucket. */
async function inObjectStorage(): Promise<NewReplica> {
  const port = await freePort();
  // Its own script has a path in it that was of the installation.
  const args = ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)];
  const server = spawn(join(objectStorage(), 'bin/python3'), args, { stdio: 'ignore' });
  const ended = once(server, 'close');
  whenOver(async () => {
    server.kill('SIGKILL');
    await ended;
  });
  const origin = `http://127.0.0.1:${port}`;
  await eventually('a bucket', async () => {
    const made = await fetch(`${origin}/paygate`, { method: 'PUT' }).catch(() => undefined);
    return made?.ok ?? false;
  });
  const options = new URLSearchParams({
    endpoint: origin,
    forcePathStyle: 'true',
    region: 'us-east-1',
  });
  return (name) => `s3://paygate/${name}?${options}`;
}

/** The shipped configuration, with another replica in place of the second machine. */
function configOf(path: string, replica: string): string {
  const shipped = readFileSync('packaging/litestream/litestream.yml', 'utf8');
  const config = shipped
    .replace('/var/lib/paygate/paygate.db', path)
    .replace(/url: sftp:.*/, () => `url: ${replica}`)
    .replace(/^ *(key-path|host-key):.*\n/gm, '');
  const file = join(diskFolder(), 'litestream.yml');
  writeFileSync(file, config);
  return file;
}

interface Replication {
  /** Its URL. */
  readonly replica: string;
  /** From now on nothing is replicated. */
  freeze(): void;
  end(signal: NodeJS.Signals): Promise<void>;
}

function replicate({ path }: ServeSetup, replica: string): Replication {
  const args = ['replicate', '-config', configOf(path, replica)];
  const child = spawn('litestream', args, { stdio: 'ignore', env });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const endBy = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
  };
  whenOver(() => endBy('SIGKILL'));
  return { replica, freeze: () => void child.kill('SIGSTOP'), end: endBy };
}

/** The database as Litestream restores it from the replica at this moment. */
function restored(replica: string): string {
  const file = join(diskFolder(), 'restored.db');
  const args = ['restore', '-integrity-check', 'quick', '-o', file, replica];
  execFileSync('litestream', args, { stdio: 'pipe', env });
  return file;
}

const countIn = (path: string, wanted: string): number => {
  const sqlite = look(path, { readonly: true });
  const count = sqlite.prepare('SELECT count(*) FROM addresses WHERE origin = ?').pluck();
  const found = count.get(wanted) as number;
  sqlite.close();
  return found;
};

/** Waits until the replica has this many issued addresses. */
const replicated = (replica: string, count: number) =>
  eventually(`${count} replicated addresses`, () => {
    try {
      return countIn(restored(replica), 'issued') === count;
    } catch {
      // Nothing is replicated yet.
      return false;
    }
  });

/** Takes over on another machine, as the page says. */
async function takeOver(replica: string, path: string): Promise<void> {
  const file = restored(replica);
  expect((await runProcess(['check', file])).code).toBe(0);
  const { code, stderr } = await runProcess(['restore', file, '--db', path]);
  expect([code, stderr]).toEqual([0, '']);
}

const originsOf = (path: string, addresses: readonly string[]): unknown[] => {
  const sqlite = look(path, { readonly: true });
  const origin = sqlite.prepare('SELECT origin FROM addresses WHERE address = ?').pluck();
  const origins = addresses.map((address) => origin.get(address));
  sqlite.close();
  return origins;
};

const replicas = [
  { kind: 'a folder', missing: undefined, begin: async () => inFolder },
  { kind: 'an S3 server', missing: noObjectStorage(), begin: inObjectStorage },
];

it.each(replicas.filter(({ missing }) => !cannotRun(noLitestream() ?? missing)))(
  'a second machine takes over from $kind after kill -9 of paygate and Litestream, and hands back',
  async ({ begin }) => {
    const newReplica = await begin();
    const setup = await prepareServe(join(diskFolder(), 'paygate.db'));
    const replica = newReplica('first');
    let first = await serve(setup);
    let litestream = replicate(setup, replica);
    const before = await issue(first, 5);

    // Crashes and restarts beside Litestream are no copies.
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      await Promise.all([end(first, signal), litestream.end(signal)]);
      first = await serve(setup);
      litestream = replicate(setup, replica);
      expect(await isCopy(first)).toBe(false);
      before.push(...(await issue(first, 5)));
    }
    await replicated(replica, before.length);

    // The last addresses before the crash are not replicated.
    litestream.freeze();
    const lost = await issue(first, 10);
    await Promise.all([end(first, 'SIGKILL'), litestream.end('SIGKILL')]);
    const there = at(setup, join(diskFolder(), 'paygate.db'));
    await takeOver(replica, there.path);
    const second = await serve(there);
    expect(await isCopy(second)).toBe(true);
    const after = await issue(second, 10);
    expectOnce(before, lost, after);
    expect(new Set(originsOf(there.path, before))).toEqual(new Set(['issued']));
    expect(new Set(originsOf(there.path, lost))).toEqual(new Set(['skipped']));
    for (const address of [before[0], lost[0], lost.at(-1), after[0]]) {
      setup.chain.pay([{ address: address ?? '', valueSat: 5_000 }]);
      await eventually('its callback', () =>
        setup.receiver.requests.some(({ url }) => url.includes(`addr=${address}`)),
      );
    }

    // The second machine replicates too. To hand back, it is moved, and nothing is skipped.
    const back = replicate(there, newReplica('second'));
    await replicated(back.replica, before.length + after.length);
    const skipped = countIn(there.path, 'skipped');
    await back.end('SIGTERM');
    await end(second, 'SIGTERM');
    const moved = at(setup, join(diskFolder(), 'paygate.db'));
    for (const name of ['paygate.db', '.paygate-mark']) {
      const [from, to] = [there.path, moved.path].map((path) => join(dirname(path), name));
      cpSync(from ?? '', to ?? '', { recursive: true });
    }
    expect((await runProcess(['restore', '--moved', '--db', moved.path])).code).toBe(0);
    const third = await serve(moved);
    expectOnce(before, lost, after, await issue(third, 10));
    expect(countIn(moved.path, 'skipped')).toBe(skipped);
  },
);
