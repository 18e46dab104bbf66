// Commands and `serve` when their output is closed, or goes to a full disk.

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';

afterEach(cleanUp);

const program = join(import.meta.dirname, '../../src/main.ts');
/** Takes no byte: https://man7.org/linux/man-pages/man4/full.4.html */
const fullDisk = '/dev/full';

function start(args: readonly string[], stdio: StdioOptions): ChildProcess {
  const child = spawn(process.execPath, [bundleOf(program), ...args], {
    env: { PATH: process.env.PATH, ...bundleEnv(bundleOf(program)) },
    stdio,
  });
  whenOver(() => void child.kill('SIGKILL'));
  return child;
}

const endOf = (child: ChildProcess) =>
  new Promise<number | string | null>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? code));
  });

async function emptyFile(): Promise<string> {
  const { path, database } = await openTestStore();
  await database.close();
  return path;
}

describe.skipIf(!existsSync(fullDisk))('a full disk behind the output', () => {
  function onFullDisk(): number {
    const full = openSync(fullDisk, 'w');
    whenOver(() => closeSync(full));
    return full;
  }

  it('ends a command with 1 and one line', async () => {
    const args = ['store', 'list', '--db', await emptyFile()];
    const child = start(args, ['ignore', onFullDisk(), 'pipe']);
    const [code, said] = await Promise.all([endOf(child), text(child.stderr as never)]);
    expect(said).toBe('paygate: the answer cannot be written (ENOSPC)\n');
    expect(code).toBe(1);
  });

  it.each(['json', 'pretty'])('costs a server its log (%s), and nothing else', async (format) => {
    const door = ['--listen', '127.0.0.1:0', '--electrum', 'tcp://127.0.0.1:1'];
    const args = ['serve', '--db', await emptyFile(), ...door, '--log-format', format];
    const child = start(args, ['ignore', 'pipe', onFullDisk()]);
    const ended = endOf(child);
    const greeting = new Promise<string>((resolve) => {
      child.stdout?.setEncoding('utf8').once('data', resolve);
    });
    const found = await Promise.race([greeting, ended]);
    const [health = ''] = /http:\S+\/healthz/.exec(String(found)) ?? [];
    expect(await (await fetch(health)).json()).toMatchObject({ status: 'degraded' });
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});

describe('a reader that closes the pipe', () => {
  it('does not hurt a command', async () => {
    const child = start(['store', 'list', '--db', await emptyFile()], ['ignore', 'pipe', 'pipe']);
    child.stdout?.destroy();
    const [code, said] = await Promise.all([endOf(child), text(child.stderr as never)]);
    expect({ code, said }).toEqual({ code: 0, said: '' });
  });

  it('does not end a server', async () => {
    const door = ['--listen', '127.0.0.1:0', '--electrum', 'tcp://127.0.0.1:1'];
    const child = start(['serve', '--db', await emptyFile(), ...door], ['ignore', 'pipe', 'pipe']);
    child.stdout?.destroy();
    const ended = endOf(child);
    const up = new Promise<string>((resolve) => {
      child.stderr?.setEncoding('utf8').on('data', (line: string) => {
        const [, port] = /"port":(\d+)/.exec(line) ?? [];
        if (port !== undefined) resolve(`http://127.0.0.1:${port}/healthz`);
      });
    });
    const found = await Promise.race([up, ended]);
    expect(await (await fetch(String(found))).json()).toMatchObject({ status: 'degraded' });
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});
