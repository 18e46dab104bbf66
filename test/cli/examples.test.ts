// Each example of the help works as it is printed. A shell runs it, with whole names in place of
// the cut ones, beside a file with a shop, its customers and its webhook. What stays until it is
// stopped (`serve`, `sandbox`) is parsed only.

import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleLines } from '../../src/cli/examples.ts';
import { readConfig } from '../../src/config.ts';
import { noTarget } from '../../src/domain/delivery/notification-settings.ts';
import { publicEndpointOf } from '../../src/domain/delivery/public-endpoint.ts';
import { idBytes, idOf } from '../../src/domain/order/order-id.ts';
import { bip84 } from '../bitcoin/vectors/accounts.ts';
import { zipOf } from '../plugin/zip.ts';
import { chainOf } from '../sandbox/support.ts';
import { bundleEnv, bundleOf } from '../support/bundle.ts';
import { program } from '../support/cli.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { shopOn } from '../support/ledger.ts';
import { startReceiver } from '../support/receiver.ts';
import { accountKey, openTestStore } from '../support/store.ts';

afterAll(cleanUp);

const bundle = bundleOf(program);

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What an example needs, if it is not the shop's file, and what it shows, if not success. */
interface Case {
  /** There is no file yet. */
  readonly isFirst?: true;
  /** A command that comes before it. */
  readonly after?: string;
  readonly code?: number;
  readonly says?: RegExp;
  /** A file that it makes. */
  readonly makes?: string;
}

const cases: Readonly<Record<string, Case>> = {
  'store add --name "My shop" --xpub zpub… --callback-url https://shop.example/callback': {
    isFirst: true,
    says: /^Store 1 "My shop" is set up in the new database .*bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu/s,
  },
  'store add --name Test --xpub - --webhook-url https://shop.example/hook < wallet.json': {
    isFirst: true,
    says: /^Store 1 "Test" is set up/,
  },
  'address check --xpub zpub… --count 20': { isFirst: true, says: /bc1qcr8te4kr609gc/ },
  'store restore 1': { after: 'store remove 1', says: /is in use again/ },
  // No plugin has added one.
  'store remove-webhook 1 2f0c…': { code: 1, says: /store 1 has no webhook 2f0c/ },
  'key revoke 2': { after: 'key add --store 1 --scope read' },
  'health --strict || echo "look at paygate"': { says: /^look at paygate$/m },
  'orders accept ord_…': { code: 1, says: /the order has received nothing that can be accepted/ },
  'payments export --from 2026-10-01 --to 2026-10-31 -o october.csv': { makes: 'october.csv' },
  'plugin blockonomics.zip --url https://pay.example.com -o blockonomics-pay.zip': {
    makes: 'blockonomics-pay.zip',
  },
  'check /mnt/usb/shop.db': { after: 'backup /mnt/usb/shop.db' },
  'backup /mnt/usb/shop.db': { makes: 'mnt/usb/shop.db' },
  'payments export --format koinly --store 1 > koinly.csv': { says: /^$/, makes: 'koinly.csv' },
  // No server has shown a certificate, a lie or a fork.
  'servers accept ssl://electrum.example:50002 3a5f…': { code: 1, says: /no certificate of ssl:/ },
  'servers forget ssl://electrum.example:50002': { code: 1, says: /nothing is stored about ssl:/ },
  'servers follow ssl://electrum.example:50002': { code: 1, says: /has no fork deeper than 144/ },
  // The addresses of this file were issued without a mark file.
  'restore --moved': { code: 1, says: /no mark file shows that wallet 1 issued nothing since/ },
  // Nothing answers: no serve, no server.
  'doctor --json': { code: 1, says: /^\{"ok":false,"checks":\[|"check": "database"/ },
  // The executable alone has them.
  'licenses --json': { code: 1, says: /only the single executable contains the licenses/ },
  'update ./paygate-0.2.0-linux-x64.tar.gz': {
    code: 2,
    says: /this paygate runs from its sources/,
  },
  'install --domain pay.example.com --acme-email you@example.com --dry-run': {
    code: 2,
    says: /this is not the single executable/,
  },
};

/** Names that the examples cut, whole. */
const names: [cut: RegExp, whole: string][] = [
  [/3a5f…/, 'a5'.repeat(32)],
  [/\/mnt\/usb/, 'mnt/usb'],
];

let folder: string;

beforeAll(async () => {
  folder = tempFolder();
  const path = join(folder, 'paygate.db');
  const shop = await startReceiver({ answer: () => ({ status: 200, body: 'ok' }) });
  whenOver(() => shop.close());
  const flags = ['--allow-http-callback', '--allow-private-callback', '--start-index', '0'];
  const urls = ['--callback-url', `${shop.origin}/cb`, '--webhook-url', `${shop.origin}/hook`];
  const wallet = ['--xpub', accountKey().account, '--script', 'p2wpkh', '--network', 'regtest'];
  const added = await run(['store', 'add', '--name', 'Shop', ...wallet, ...urls, ...flags], path);
  expect(added.stderr).toBe('');
  const records = await openTestStore({ path });
  const chain = shopOn(records, chainOf(110), Date.now);
  await chain.follow();
  const [paid, open] = [await records.issue(), await records.issue()];
  const price = { kind: 'sat', amountSat: 25_000 } as const;
  for (const [at, { id: addressId }] of [paid, open].entries()) {
    const publicId = idOf('ord', new Uint8Array(idBytes).fill(at + 1));
    names.unshift([/ord_…/, publicId]);
    await records.write((tx) =>
      records.orders.create(tx, Date.now(), {
        ...{ storeId: 1, addressId, publicId, price, rateCents: null, toleranceBasisPoints: 0 },
        ...{ latePolicy: 'worth', quoteSeconds: 900, expiresAt: Date.now() + 3_600_000 },
        ...{ reference: '1007', description: null, metadata: {}, returnUrl: null, language: null },
      }),
    );
  }
  chain.chain.pay([{ address: paid.address, valueSat: 25_000 }]);
  await chain.mine(2);
  await chain.observe(paid);
  const webhook = {
    webhookUrl: `${shop.origin}/notify`,
    webhookSecret: `whsec_${'A'.repeat(43)}=`,
  };
  const target = { ...noTarget, ...webhook, allowPrivateCallback: true, allowHttpCallback: true };
  await records.write((tx) => records.state.notifyTarget(null).write(tx, target));
  const [event] = records.eventView.list({ limit: 1 });
  names.push([/evt_…/, event?.publicId ?? 'none'], [/bc1q…/, open.address]);
  await records.database.close();
});

const run = (args: readonly string[], path: string): Promise<Outcome> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, ...bundleEnv(bundle), PAYGATE_DB: path };
    execFile(process.execPath, [bundle, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });

/** Runs lines as a person types them, one after the other, in a folder of their own. */
function type(lines: readonly string[], isFirst: boolean): Promise<Outcome & { at: string }> {
  const at = tempFolder();
  if (!isFirst) cpSync(folder, at, { recursive: true });
  for (const name of ['bin', 'mnt/usb', 'backups']) mkdirSync(join(at, name), { recursive: true });
  if (!isFirst) cpSync(join(folder, 'paygate.db'), join(at, 'backups/latest.db'));
  const script = `#!/bin/sh\nexec '${process.execPath}' '${bundle}' "$@"\n`;
  writeFileSync(join(at, 'bin/paygate'), script, { mode: 0o755 });
  writeFileSync(join(at, 'wallet.json'), JSON.stringify({ xpub: bip84.zpub }));
  const php = "<?php\nconst BASE_URL = 'https://www.blockonomics.co';\n";
  writeFileSync(join(at, 'blockonomics.zip'), zipOf([{ name: 'pay/pay.php', content: php }]));
  const env = {
    PATH: `${join(at, 'bin')}:${process.env.PATH}`,
    ...bundleEnv(bundle),
    ...{ HOME: at, TZ: 'UTC', UMASK: '077' },
  };
  const key = isFirst ? bip84.zpub : vpub;
  const whole = lines.map((line) =>
    names.reduce((text, [cut, name]) => text.replace(cut, name), line.replace('zpub…', key)),
  );
  return new Promise((resolve) => {
    execFile('sh', ['-c', whole.join('\n')], { cwd: at, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr, at }),
    ).stdin?.end('a password\n');
  });
}

/** BIP84's own account on test networks. */
const vpub =
  'vpub5Y6cjg78GGuNLsaPhmYsiw4gYX3HoQiRBiSwDaBXKUafCt9bNwWQiitDk5VZ5BVxYnQdwoTyXSs2JHRPAgjAvtbBrf8ZhDYe2jWAqvZVnsc';

const stays = /^(serve|sandbox)( |$)/;

describe('an example of the help works as it is printed', () => {
  it.concurrent.each(exampleLines.filter((line) => !stays.test(line)))(
    'paygate %s',
    async (line) => {
      const { isFirst = false, after, code = 0, says = /./, makes } = cases[line] ?? {};
      const lines = [after ?? [], line].flat().map((each) => `paygate ${each}`);
      const found = await type(lines, isFirst);
      expect([line, found.stderr + found.stdout]).toEqual([line, expect.stringMatching(says)]);
      expect([line, found.code]).toEqual([line, code]);
      if (makes !== undefined) expect(existsSync(join(found.at, makes))).toBe(true);
    },
  );

  it.each(exampleLines.filter((line) => stays.test(line)))('paygate %s: its options', (line) => {
    const [, ...words] = line.split(' ');
    const flags: Record<string, string[]> = {};
    for (let at = 0; at < words.length; at += 2) {
      const name = words[at]?.slice(2).replace(/-(\w)/g, (_, letter) => letter.toUpperCase()) ?? '';
      flags[name] = [words[at + 1] ?? ''];
    }
    expect(() => publicEndpointOf(readConfig(flags, {}))).not.toThrow();
  });
});

it('every case belongs to an example', () => {
  expect(Object.keys(cases).filter((line) => !exampleLines.includes(line))).toEqual([]);
});
