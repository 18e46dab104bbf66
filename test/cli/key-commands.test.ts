// The commands for keys, the plugin window and the audit log, as an operator runs them, on one
// file.

import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { apiKeyHash, readApiKey } from '../../src/domain/access/api-key.ts';
import { apiKeys } from '../../src/store/schema/schema.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { accountKey, openTestStore } from '../support/store.ts';

afterEach(cleanUp);

interface Ran {
  readonly code: number | null;
  // biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what the test looks at.
  readonly answer: any;
  readonly errors: string;
}

async function run(path: string, ...args: string[]): Promise<Ran> {
  const { code, stdout, stderr } = await runCli([...args, '--db', path, '--json']);
  return { code, answer: stdout === '' ? undefined : JSON.parse(stdout), errors: stderr };
}

async function fileWithStore(): Promise<string> {
  const path = join(tempFolder(), 'paygate.db');
  const { account } = accountKey();
  const added = await run(
    ...([path, 'store', 'add', '--name', 'Shop', '--xpub', account, '--script', 'p2wpkh'] as const),
    ...['--callback-url', 'https://shop.example/cb', '--network', 'regtest'],
  );
  expect(added.errors).toBe('');
  return path;
}

test('a key of one store is shown once, listed without its text, and revoked', async () => {
  const path = await fileWithStore();
  const { answer } = await run(path, 'key', 'add', '--store', '1', '--scope', 'read');
  expect(answer).toMatchObject({ id: 2, store_id: 1, scope: 'read' });
  expect(readApiKey(answer.api_key)).toBe(answer.api_key);
  const records = await openTestStore({ path });
  const rows = records.database.orm.select().from(apiKeys).all();
  expect(rows[1]?.secret).toBeNull();
  expect(rows[1]?.hash).toEqual(Buffer.from(apiKeyHash(answer.api_key)));
  const { answer: listed } = await run(path, 'key', 'list');
  expect(listed).toMatchObject([
    { id: 1, store_id: null, scope: 'payments' },
    { id: 2, store_id: 1, scope: 'read' },
  ]);
  expect(JSON.stringify(listed)).not.toContain('pgk_');
  expect((await run(path, 'key', 'revoke', '2')).code).toBe(0);
  expect(records.keys.find(answer.api_key, Date.now())).toBeUndefined();
  expect((await run(path, 'key', 'list')).answer).toHaveLength(1);
});

test('the merchant key is not revoked but rotated; keys of stores survive that', async () => {
  const path = await fileWithStore();
  const refused = await run(path, 'key', 'revoke', '1');
  expect(refused.code).toBe(1);
  expect(refused.errors).toContain('paygate key rotate');
  const { answer } = await run(path, 'key', 'add', '--store', '1', '--scope', 'address-only');
  await run(path, 'key', 'rotate');
  const records = await openTestStore({ path });
  expect(records.keys.find(answer.api_key, Date.now())?.scope).toBe('address-only');
});

test('expiring keys are listed with their end, which an earlier rotation may shorten', async () => {
  const path = await fileWithStore();
  const told = async (...args: string[]) => (await runCli([...args, '--db', path])).stdout;
  expect(await told('key', 'rotate', '--overlap', '24h')).toMatch(
    /\nOlder keys end at .* UTC at the latest\.\n$/,
  );
  expect(await told('key', 'list')).toMatch(/^id .* ends *\n1 .* UTC .* UTC *\n2 .* UTC *\n$/);
  expect(await told('key', 'rotate')).toMatch(/\nAll older keys of the merchant are revoked\.\n$/);
  expect(await told('key', 'list')).toMatch(/^id .*\n3 .* UTC *\n$/);
});

test('the keys of a removed store are invalid, and it gets no new ones', async () => {
  const path = await fileWithStore();
  const { answer } = await run(path, 'key', 'add', '--store', '1', '--scope', 'payments');
  await run(path, 'store', 'remove', '1');
  const records = await openTestStore({ path });
  expect(records.keys.find(answer.api_key, Date.now())).toBeUndefined();
  const late = await run(path, 'key', 'add', '--store', '1', '--scope', 'read');
  expect(late.errors).toContain('removed');
});

test('S-153 the plugin window is opened for one key that may write, and closed by 0 minutes', async () => {
  const path = await fileWithStore();
  const before = Date.now();
  const { answer } = await run(path, 'plugin', 'allow', '--minutes', '15');
  expect(answer.key).toBe(1);
  expect(answer.until * 1000).toBeGreaterThan(before + 14 * 60_000);
  await run(path, 'key', 'add', '--store', '1', '--scope', 'read');
  const refused = await run(path, 'plugin', 'allow', '--key', '2');
  expect(refused.errors).toContain('cannot write');
  expect((await run(path, 'plugin', 'allow', '--minutes', '61')).code).toBe(2);
  await run(path, 'plugin', 'allow', '--minutes', '0');
  const records = await openTestStore({ path });
  expect(records.keys.alive(1, Date.now()).pluginUntil).toBeNull();
  await records.write((tx) =>
    records.audit.note(tx, 5_000, {
      keyId: 1,
      action: 'store.change',
      storeId: 1,
      detail: { a: 1 },
    }),
  );
  expect((await run(path, 'audit', 'list', '--limit', '1')).answer).toEqual([
    { at: 5, key: 1, action: 'store.change', store: 1, detail: { a: 1 } },
  ]);
});
