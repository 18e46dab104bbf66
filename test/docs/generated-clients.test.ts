// What generators of clients make of the description: integers of whole numbers, a name for each
// operation, and models that accept fields of later versions. Generated clients make and read an
// order.

import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { closeApps, openApp } from '../support/app.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { type Document, schemasIn } from '../support/openapi.ts';
import { openPriced, type PricedApp } from '../support/priced.ts';

afterEach(closeApps);
afterEach(cleanUp);

// A generator makes a float of a number, and an unusable type of an id that may be text, too.
test('whole numbers are documented as integers, and ids with their maximum', async () => {
  const app = await openApp({});
  const headers = { Authorization: `Bearer ${app.apiKey}` };
  const { paths, components } = (await app.ask('/api/openapi.json')).body;
  const numbers = schemasIn([paths, components]).filter(({ type }) =>
    [type].flat().includes('number'),
  );
  // Prices and percentages, because a 32-bit float does not represent their cents.
  expect(numbers.length).toBeGreaterThan(4);
  expect(numbers.filter(({ format }) => format !== 'double')).toEqual([]);
  const whole = { type: 'integer', minimum: 1, maximum: 999_999_999_999_999 };
  expect(paths['/v2/stores/{id}'].get.parameters[0]).toMatchObject({ name: 'id', schema: whole });
  const { content } = paths['/v2/stores/{id}/wallets'].post.requestBody;
  expect(content['application/json'].schema.properties.wallet_id).toEqual(whole);
  const largest = await app.ask(`/api/v2/stores/${whole.maximum}`, { headers });
  expect(largest.status).toBe(404);
  await app.withStore(({ keys, database }) =>
    database.write((tx) => keys.allowPlugin(tx, app.world.now(), 1, app.world.now() + 60_000)),
  );
  const add = (id: unknown) =>
    app.ask('/api/v2/stores/1/wallets', {
      method: 'POST',
      headers,
      body: JSON.stringify({ wallet_id: id }),
    });
  expect((await add('1')).status).toBe(200);
  for (const wrong of [0, 1.5, '01', '', whole.maximum + 1, String(whole.maximum + 1), null]) {
    const { status, body } = await add(wrong);
    expect([wrong, status, body.message]).toEqual([
      wrong,
      400,
      'wallet_id: a whole number above 0 is expected',
    ]);
  }
});

// A client of a closed schema refuses an answer as soon as a later version adds a field.
test('no response schema forbids further fields', async () => {
  const app = await openApp({});
  const schemas = schemasIn((await app.ask('/api/openapi.json')).body);
  expect(schemas.filter(({ type }) => type === 'object').length).toBeGreaterThan(20);
  expect(schemas.filter((each) => each.additionalProperties === false)).toEqual([]);
});

test('each operation has a unique name, and its Retry-After is documented', async () => {
  const app = await openApp({});
  const { paths, info } = (await app.ask('/api/openapi.json')).body;
  const operations = Object.values<Document>(paths).flatMap((each) =>
    Object.values<Document>(each),
  );
  const names = operations.map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(operations.length);
  expect(names).toEqual(
    expect.arrayContaining(['getNewAddress', 'getMerchantTx', 'deleteV2StoresIdWalletsWid']),
  );
  for (const { responses } of operations) {
    for (const [status, { headers }] of Object.entries<Document>(responses)) {
      const waits = ['429', '503'].includes(status);
      expect([status, headers?.['Retry-After']?.schema.type]).toEqual([
        status,
        waits ? 'integer' : undefined,
      ]);
    }
  }
  expect(info.license).toEqual({ name: 'MIT', identifier: 'MIT' });
});

const run = promisify(execFile);

/** A folder with the description of a running app. */
async function describedIn(app: PricedApp): Promise<string> {
  const folder = tempFolder();
  const { body } = await app.ask('/api/openapi.json');
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(body));
  return folder;
}

/** What a client printed: the order as it was made, and as it was read. */
async function expectOrder(app: PricedApp, printed: string): Promise<void> {
  const [made, read] = JSON.parse(printed);
  expect(read).toEqual(made);
  expect(read).toEqual((await app.get(`/orders/${made.id}`)).body);
  expect(read).toMatchObject({ amount: '12.50', missing_sat: 25_000, metadata: { cart: '7f' } });
}

const typescriptClient = `import type { components, paths } from './api.ts';

type Order = components['schemas']['Order'];
type Body = paths['/v3/orders']['post']['requestBody']['content']['application/json'];
type Answers = paths['/v3/orders/{id}']['get']['responses'];

const [base = '', key = ''] = process.argv.slice(2);

async function call<T>(path: string, init: RequestInit): Promise<T> {
  const headers = { Authorization: \`Bearer \${key}\` };
  return (await fetch(base + path, { ...init, headers })).json() as Promise<T>;
}

const body: Body = { amount: '12.50', currency: 'EUR', metadata: { cart: '7f' } };
const made = await call<Order>('/v3/orders', { method: 'POST', body: JSON.stringify(body) });
const read = await call<Answers[200]['content']['application/json']>(\`/v3/orders/\${made.id}\`, {});
const missing: number | null = read.missing_sat;
const isPaid: boolean = read.status === 'paid' || missing === 0;
if (isPaid) throw new Error('nobody has paid');
console.log(JSON.stringify([made, read]));
`;

const pythonClient = `import json, sys
from paygate_client import AuthenticatedClient
from paygate_client.api.orders import create_order, get_order
from paygate_client.models import NewOrder, NewOrderMetadataType0, Order

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
metadata = NewOrderMetadataType0.from_dict({"cart": "7f"})
body = NewOrder(amount="12.50", currency="EUR", metadata=metadata)
made = create_order.sync(client=client, body=body)
assert isinstance(made, Order), made
read = get_order.sync(made.id, client=client)
assert isinstance(read, Order) and read.status == "open", read
print(json.dumps([made.to_dict(), read.to_dict()]))
`;

/** The path of a program; undefined if it is not installed. */
function pathOf(program: string): string | undefined {
  const paths = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, program));
  return paths.find((path) => {
    try {
      // Its interpreter may be where only another user may read.
      return (
        readFileSync(path, 'utf8').startsWith('#!') && spawnSync(path, ['--version']).status === 0
      );
    } catch {
      return false;
    }
  });
}

describe('a generated client compiles, makes an order and reads it', () => {
  test('in TypeScript, by openapi-typescript', async () => {
    const app = await openPriced();
    const folder = await describedIn(app);
    const client = join(folder, 'client.ts');
    writeFileSync(client, typescriptClient);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const types = join(folder, 'api.ts');
    const generator = 'node_modules/openapi-typescript/bin/cli.js';
    await run(process.execPath, [generator, join(folder, 'openapi.json'), '--output', types]);
    await run('node_modules/.bin/tsc', [
      ...['--ignoreConfig', '--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2023'],
      ...['--allowImportingTsExtensions', '--typeRoots', 'node_modules/@types', '--types', 'node'],
      client,
    ]);
    const base = `http://127.0.0.1:${app.port}/api`;
    const { stdout } = await run(process.execPath, [client, base, app.apiKey]);
    await expectOrder(app, stdout);
  });

  const generator = pathOf('openapi-python-client');
  if (generator === undefined) {
    process.stdout.write('openapi-python-client is not installed here: its client is not run\n');
  }

  test.runIf(generator !== undefined)('in Python, by openapi-python-client', async () => {
    const app = await openPriced();
    const folder = await describedIn(app);
    const output = join(folder, 'paygate_client');
    writeFileSync(join(folder, 'config.yaml'), 'post_hooks: []\n');
    writeFileSync(join(folder, 'client.py'), pythonClient);
    await run(generator ?? '', [
      ...['generate', '--path', join(folder, 'openapi.json'), '--output-path', output],
      ...['--meta', 'none', '--config', join(folder, 'config.yaml'), '--fail-on-warning'],
    ]);
    // The generator's own environment has the packages that its clients need.
    const [, python = ''] = /^#!(\S+)/.exec(readFileSync(generator ?? '', 'utf8')) ?? [];
    await run(python, ['-m', 'compileall', '-q', output]);
    const base = `http://127.0.0.1:${app.port}/api`;
    const { stdout } = await run(python, [join(folder, 'client.py'), base, app.apiKey]);
    await expectOrder(app, stdout);
  });
});
