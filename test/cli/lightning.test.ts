// `paygate store lightning` as a person types it.

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCli, runProcess } from '../support/cli.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startLnd } from '../support/lightning-nodes.ts';
import { openTestStore } from '../support/store.ts';

afterEach(cleanUp);

async function open() {
  const node = await startLnd();
  whenOver(() => node.stop());
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  const file = join(dirname(records.path), 'invoices.macaroon');
  writeFileSync(file, Buffer.from(node.credential, 'hex'));
  const words = (args: string) => ['store', 'lightning', ...args.split(' '), '--db', records.path];
  const lightning = (args: string) => runCli(words(args));
  const typed = (args: string, input: string) => runProcess(words(args), {}, input);
  const set = `1 --kind lnd --url ${node.url}`;
  return { node, records, file, lightning, typed, set };
}

test('sets a node by a file of a macaroon, shows it without its credential, and removes it', async () => {
  const { node, records, file, lightning, set } = await open();
  expect((await lightning('1')).stdout).toBe('Store 1 "Shop" has no Lightning node.\n');
  const done = await lightning(`${set} --credential-file ${file}`);
  expect([done.code, done.stderr]).toEqual([0, '']);
  expect(done.stdout).toContain(node.url);
  expect(done.stdout).not.toContain(node.credential);
  expect(records.state.lightningNode(1).read()).toMatchObject({
    ...{ kind: 'lnd', url: node.url, credential: node.credential },
  });
  const publicKey = records.state.lightningNode(1).read()?.publicKey;
  expect(records.state.lightningCursor(1, publicKey ?? '').read()).toBe('0.1');
  const shown = JSON.parse((await lightning('1 --json')).stdout);
  expect(shown).toEqual({
    store_id: 1,
    node: {
      ...{ kind: 'lnd', url: node.url, certificate_sha256: null },
      public_key: publicKey,
    },
  });
  expect(JSON.stringify(records.audit.list(9))).not.toContain(node.credential);
  expect(JSON.parse((await lightning('1 --off --json')).stdout)).toEqual({
    ...{ store_id: 1, node: null },
  });
  expect(records.state.lightningNode(1).read()).toBeUndefined();
  const actions = records.audit.list(9).map(({ action }) => action);
  expect(actions).toEqual(['store.lightning-off', 'store.lightning']);
});

test('refuses a credential that may spend, and what is missing', async () => {
  const { node, records, file, lightning, typed, set } = await open();
  const spending = await typed(`${set} --credential-file -`, `${node.spendingCredential}\n`);
  expect(spending.code).toBe(1);
  expect(spending.stderr).toContain('lncli bakemacaroon');
  expect(spending.stderr).not.toContain(node.spendingCredential);
  const wrong: [string, RegExp][] = [
    [set, /--credential-file: name the file/],
    [`1 --kind lnd --credential-file ${file}`, /--url: name the node/],
    [`1 --url ${node.url} --credential-file ${file}`, /--kind: name the kind/],
    [`${set} --credential-file ${file}x`, /--credential-file: .*no such file/],
    ['2', /there is no store 2/],
  ];
  for (const [args, text] of wrong) expect((await lightning(args)).stderr).toMatch(text);
  expect(records.state.lightningNode(1).read()).toBeUndefined();
});

test('the doctor asks the node whether it makes invoices and cannot spend', async () => {
  const { node, records, file, lightning, set } = await open();
  const doctor = async () => {
    const offline = ['--electrum', 'tcp://127.0.0.1:1', '--price', 'off', '--json'];
    const { stdout } = await runProcess(['doctor', '--db', records.path, ...offline]);
    const checks: { check: string; state: string }[] = JSON.parse(stdout).checks;
    return checks.filter(({ check }) => check === 'lightning');
  };
  expect(await doctor()).toEqual([]);
  await lightning(`${set} --credential-file ${file}`);
  const place = `the Lightning node ${node.url} of store 1`;
  expect(await doctor()).toEqual([
    { check: 'lightning', state: 'ok', text: expect.stringContaining(place) },
  ]);
  await node.stop();
  expect(await doctor()).toMatchObject([{ state: 'fail' }]);
});
