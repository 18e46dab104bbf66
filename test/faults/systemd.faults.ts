// The service on a machine with systemd, from `paygate install` to its removal. The tests check the
// rights of the process, the owner of its files, and updates that start or fail. They run only with
// `--all`, because they may have to download a Debian first.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { version } from '../../src/lib/version.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { ask } from '../support/sandbox.ts';
import { accountKey } from '../support/store.ts';
import { bootMachine, type Machine, noMachine } from './machine.ts';
import { eventually } from './serving.ts';
import { cannotRun, howMany } from './thorough.ts';

const isTried = howMany('boots of systemd', 0, 1) > 0;
const isSkipped = cannotRun(isTried ? await noMachine() : 'a service on a booted machine');
const data = '/var/lib/paygate';
const db = ['--db', `${data}/paygate.db`];
const newer = '9.8.7';

/** Plays a newer executable: it gives the database a version that no other can read, and exits. */
const spoiler = `#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
  const char *word = count > 1 ? words[1] : "";
  if (strcmp(word, "--version") == 0) puts("9.9.9");
  if (strcmp(word, "serve") != 0) return 0;
  FILE *file = fopen("${data}/paygate.db", "r+");
  fseek(file, 60, SEEK_SET);
  fwrite("\\0\\0\\0\\143", 1, 4, file);
  fclose(file);
  return 1;
}
`;

/** Static, because the machine has another libc. */
const compile = (source: string, outfile: string) =>
  execFileSync('gcc', ['-static', '-x', 'c', '-', '-o', outfile], { input: source });

/** Starts the Electrum server of a chain. @returns the value for `--electrum` */
async function startChain(): Promise<string> {
  const chain = new SimulatedChain({ seed: 'systemd', now: () => Date.now() / 1000 - 3_600 });
  chain.mine(110);
  const server = new SimulatedServer({ chain, timer: createNodeWorld({ logLevel: 'silent' }) });
  const { port, close } = await server.listen({ host: '127.0.0.1', port: 0 });
  whenOver(close);
  return `tcp://127.0.0.1:${port}`;
}

/** Builds an executable of the checkout with another version. */
function makeNewer(outfile: string): void {
  const folder = tempFolder();
  const left = new Set(['node_modules', '.git', 'dist'].map((name) => resolve(name)));
  cpSync(resolve('.'), folder, { recursive: true, filter: (source) => !left.has(source) });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: newer }));
  makeExecutable(outfile, folder);
}

const makeExecutable = (outfile: string, checkout = resolve('.')) =>
  execFileSync(process.execPath, ['scripts/executable.mjs', '--out', outfile], { cwd: checkout });

describe.skipIf(isSkipped)('on a machine with systemd', () => {
  let machine: Machine;
  let origin = '';
  let apiKey = '';
  let instructions = '';
  const addresses: string[] = [];

  beforeAll(async () => {
    machine = await bootMachine();
    whenOver(() => machine.remove());
    mkdirSync(join(machine.root, 'opt/first'));
    const program = join(machine.root, 'opt/first/paygate');
    makeExecutable(program);
    return cleanUp;
  });
  afterAll(() => expect(new Set(addresses).size).toBe(addresses.length));

  /** Puts an executable into a folder of the machine. @returns its path there */
  function provide(folder: string, make: (outfile: string) => void): string {
    const at = join(machine.root, 'opt', folder);
    const program = join(at, 'paygate');
    mkdirSync(at);
    make(program);
    chmodSync(program, 0o755);
    return `/opt/${folder}/paygate`;
  }
  /** The command takes the database and the address from the service. */
  const update = (file: string, ...more: string[]) => {
    const hash = createHash('sha256')
      .update(readFileSync(join(machine.root, file)))
      .digest('hex');
    return machine.run('paygate', 'update', file, '--sha256', hash, ...more);
  };
  const shown = (property: string) =>
    machine.run('systemctl', 'show', '--property', property, '--value', 'paygate').stdout.trim();
  /** Uses a new connection, because a reused one ends with the process. */
  const answer = async (path: string, headers = {}) => {
    const { status, text } = await ask(`${origin}${path}`, { headers });
    return { ...JSON.parse(text), status };
  };
  const untilReady = () =>
    eventually('to be ready', () =>
      answer('/readyz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );

  async function issue(): Promise<void> {
    await eventually('an address', async () => {
      const got = await answer('/api/new_address', { Authorization: `Bearer ${apiKey}` });
      if (got.status === 200) addresses.push(got.address);
      return got.status === 200;
    });
  }

  /** Files that the service's user does not own, or that other users may access. */
  function exposedFiles(): string[] {
    const folder = join(machine.root, data);
    const { uid } = lstatSync(folder);
    expect(uid).not.toBe(0);
    return ['.', ...(readdirSync(folder, { recursive: true }) as string[])].filter((name) => {
      const stat = lstatSync(join(folder, name));
      return stat.uid !== uid || (stat.mode & 0o077) !== 0;
    });
  }

  it('is installed, starts, becomes ready, and has only the rights it needs', async () => {
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    const installed = machine.run('/opt/first/paygate', 'install', '--network', 'regtest');
    expect(installed).toMatchObject({ status: 0 });
    instructions = installed.stdout;
    const settings = [
      `PAYGATE_LISTEN=127.0.0.1:${port}`,
      `PAYGATE_ELECTRUM=${await startChain()}`,
      'PAYGATE_PRICE=off',
    ];
    appendFileSync(join(machine.root, 'etc/paygate.env'), `${settings.join('\n')}\n`);
    const [start = ''] = /systemctl enable --now paygate/.exec(instructions) ?? [];
    expect(machine.run('sh', '-c', start)).toMatchObject({ status: 0 });
    await untilReady();
    await eventually('status ok', () => machine.run('paygate', 'health').stdout === 'ok\n');
    expect(machine.run('paygate', 'servers', 'list', ...db)).toMatchObject({
      stdout: expect.stringContaining(' live '),
      stderr: '',
    });
    const process = machine.run('cat', `/proc/${shown('MainPID')}/status`).stdout;
    const { uid } = lstatSync(join(machine.root, data));
    expect(process).toMatch(new RegExp(`^Uid:\\s+${uid}\\s+${uid}\\s+${uid}\\s`, 'm'));
    // Only CAP_NET_BIND_SERVICE, and a filter of system calls.
    for (const line of [/^CapEff:\s+0+400$/m, /^NoNewPrivs:\s+1$/m, /^Seccomp:\s+2$/m]) {
      expect(process).toMatch(line);
    }
    expect(exposedFiles()).toEqual([]);
  });

  it('serves a store that the CLI adds, issues an address, and is restarted after a kill', async () => {
    const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example/callback', '--json'];
    const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh', '--start-index', '0'];
    const added = machine.run(
      ...['runuser', '-u', 'paygate', '--'],
      ...['paygate', 'store', 'add', ...db, ...shop, ...wallet],
    );
    expect(added).toMatchObject({ status: 0 });
    apiKey = JSON.parse(added.stdout).api_key;
    await issue();
    machine.run('systemctl', 'kill', '--signal', 'KILL', 'paygate');
    await eventually('a second start', () => shown('NRestarts') === '1');
    await untilReady();
    await issue();
  });

  it('is updated, and its files stay private', async () => {
    const file = provide('second', makeNewer);
    const wrong = update(file, '--sha256', '0'.repeat(64));
    expect(wrong.status).toBe(2);
    expect(await answer('/healthz')).toMatchObject({ version });
    const updated = update(file);
    expect(updated).toMatchObject({ status: 0, stderr: '' });
    expect(updated.stdout).toContain(`${version} was replaced by ${newer}`);
    expect(await answer('/healthz')).toMatchObject({ version: newer });
    await issue();
    expect(exposedFiles()).toEqual([]);
  });

  it('is rolled back with its database if the newer version does not start', async () => {
    const third = provide('third', (program) => compile(spoiler, program));
    const { status, stderr } = update(third, '--wait', '12s');
    expect(status).toBe(1);
    expect(stderr).toContain('9.9.9 did not come up');
    expect(stderr).toContain(`${newer} runs again, on the database from before the update`);
    await untilReady();
    expect(await answer('/healthz')).toMatchObject({ version: newer });
    await issue();
    expect(exposedFiles()).toEqual([]);
  });

  it('is removed by the printed commands, and its data by the last of them', () => {
    const [, removeService = '', removeData = ''] =
      /but keep the data:\n\n(.*)\n\nTo delete the data too, [^:]*: (.*)\n/s.exec(instructions) ??
      [];
    expect(machine.run('sh', '-ec', removeService)).toMatchObject({ status: 0 });
    expect(shown('LoadState')).toBe('not-found');
    expect(exposedFiles()).toEqual([]);
    expect(machine.run('sh', '-ec', removeData)).toMatchObject({ status: 0 });
    expect(existsSync(join(machine.root, data))).toBe(false);
    expect(machine.run('id', 'paygate').status).toBe(1);
    const left = machine.run('find', '/etc', '/usr/local', '/var/lib', '-name', '*paygate*');
    expect(left.stdout).toBe('');
  });
});
