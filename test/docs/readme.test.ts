// README is short and complete. Runs the steps of its "The main job", in order, against
// `paygate sandbox`. Only ports differ, because those of the text may be in use.

import { type ChildProcess, spawn } from 'node:child_process';
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { visitorOf } from '../support/visitor.ts';

afterEach(cleanUp);

const root = join(import.meta.dirname, '../..');
const bundle = bundleOf(join(root, 'src/main.ts'));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const [, mainJob = ''] = /\n## The main job\n(.*?)\n## /s.exec(readme) ?? [];
const [shopSteps = '', storeSteps = ''] = [...mainJob.matchAll(/```sh\n(.*?)```/gs)].map(
  ([, code]) => code ?? '',
);

/** The folder of a reader, with `./paygate` as `npm run sandbox` makes it. */
function readersFolder(): string {
  const folder = tempFolder();
  writeFileSync(
    join(folder, 'paygate'),
    `#!/bin/sh\nexec '${process.execPath}' '${bundle}' "$@"\n`,
    {
      mode: 0o755,
    },
  );
  symlinkSync(process.execPath, join(folder, 'node'));
  return folder;
}

function start(folder: string, command: string, args: readonly string[]) {
  const child: ChildProcess = spawn(command, args, {
    cwd: folder,
    env: { ...bundleEnv(bundle), PATH: `${folder}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  whenOver(async () => {
    // The shell and the processes that it started.
    if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
  });
  let printed = '';
  const waiting = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    for (const look of waiting) look();
  });
  return {
    ended,
    printed: () => printed,
    /** The first match in its output. */
    until: (form: RegExp) =>
      new Promise<RegExpExecArray>((resolve, reject) => {
        const look = (): void => {
          const found = form.exec(printed);
          if (found === null) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
        ended.then((code) => reject(new Error(`it ended with ${code}: ${printed}`)));
      }),
  };
}

test('README is short, and leads to each page of the documentation', () => {
  expect(readme.split('\n').length).toBeLessThanOrEqual(130);
  const pages = globSync('docs/*.md', { cwd: root });
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.filter((page) => !readme.includes(`](${page})`))).toEqual([]);
});

test('a newcomer gets from the sandbox to three callbacks at a shop of their own', async () => {
  const folder = readersFolder();
  const port = await freePort();
  const sandbox = start(folder, './paygate', [
    ...['sandbox', '--listen', '127.0.0.1:0', '--shop', '127.0.0.1:0'],
  ]);
  const [, exported = ''] = await sandbox.until(/^ +(export PAYGATE_DB=.*)$/m);

  const shop = start(folder, 'sh', ['-ec', shopSteps.replace('3000', String(port))]);
  const steps = `${exported}\n${storeSteps.replace('3000', String(port))}`;
  const terminal = start(folder, 'sh', ['-ec', steps]);
  expect(await terminal.ended).toBe(0);
  const [, address = ''] = /"address":"(bcrt1q\w+)"/.exec(terminal.printed()) ?? [];
  expect(address).not.toBe('');

  const [, link = ''] = /Chain +(\S+)/.exec(sandbox.printed()) ?? [];
  const { origin, port: at, pathname, search } = new URL(link);
  const merchant = visitorOf({ port: Number(at) }, { origin });
  await merchant.get(pathname + search);
  const chain = '/dashboard/chain';
  const paid = await merchant.submit(chain, 'pay', { address, amount: '25000', how: 'exact' });
  expect(paid.status).toBe(303);
  await shop.until(/status=0&addr=\w+&value=25000&txid=\w+&rbf=1\n/);
  for (const status of [1, 2]) {
    await merchant.submit(chain, 'mine', { blocks: '1' });
    await shop.until(new RegExp(`status=${status}&`));
  }
  const told = (text: string) => text.match(/GET \/paid\?secret=tulip&status=\d&.*/g) ?? [];
  const shape = (line: string) => line.replace(/bcrt1q\w*…?/, 'ADDR').replace(/txid=\w+…?/, 'TXID');
  expect(told(shop.printed()).map(shape)).toEqual(told(mainJob).map(shape));
});
