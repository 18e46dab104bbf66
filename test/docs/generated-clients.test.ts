// What generators of clients make of the description: integers of whole numbers, a name for each
// operation, and models that accept fields of later versions.

import { afterEach, expect, test } from 'vitest';
import { closeApps, openApp } from '../support/app.ts';
import { type Document, schemasIn } from '../support/openapi.ts';

afterEach(closeApps);

// A generator makes a float of a number, and an unusable type of an id that may be text, too.
test('whole numbers are documented as integers, and ids with their maximum', async () => {
  const app = await openApp({});
  const headers = { Authorization: `Bearer ${app.apiKey}` };
  const { paths, components } = (await app.ask('/api/openapi.json')).body;
  const numbers = schemasIn([paths, components]).filter(({ type }) =>
    [type].flat().includes('number'),
  );
  // Only the price and the tolerance, because a 32-bit float does not represent their cents.
  expect(numbers).toEqual([
    { type: ['number', 'null'], format: 'double' },
    expect.objectContaining({ type: ['number', 'null'], format: 'double' }),
  ]);
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
