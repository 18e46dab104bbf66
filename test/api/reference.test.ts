// The page /docs shows all of the OpenAPI document: each operation with its scopes, parameters,
// statuses and examples. The examples fit their schemas, and the page escapes what it shows.

import { afterEach, expect, test } from 'vitest';
import { refusalCodes, refusals } from '../../src/api/reference/documented-refusals.ts';
import { createReference } from '../../src/api/reference/reference-page.tsx';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { closeApps, merchantKey, openApp, type TestApp, untilReady } from '../support/app.ts';
import { type Document, shapeOf } from '../support/openapi.ts';
import { ask } from '../support/sandbox.ts';

afterEach(closeApps);

const decoded = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** The letters of a text, without the white space and the code marks that a page may change. */
const letters = (text: string): string => text.replaceAll(/[\s`]/g, '');
const lettersOf = (page: string): string => letters(decoded(page.replaceAll(/<[^>]+>/g, '')));

/** Both APIs, and the pages that show them. */
const references = [
  ['/api/openapi.json', '/docs'],
  ['/api/v1/openapi.json', '/docs/greenfield'],
] as const;

async function open(config = {}, path: string = references[0][0]) {
  const app = await openApp({ config });
  await untilReady(app);
  const document: Document = (await app.ask(path)).body;
  return { app, document };
}

const pageOf = async ({ port }: TestApp, headers = {}, path = '/docs'): Promise<string> =>
  (await ask(`http://127.0.0.1:${port}${path}`, { headers })).text;

interface Entry {
  /** `GET /api/…`. */
  readonly name: string;
  readonly operation: Document;
}

const entriesOf = (paths: Document): Entry[] =>
  Object.entries<Document>(paths).flatMap(([path, methods]) =>
    Object.entries<Document>(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} /api${path}`,
      operation,
    })),
  );

const articleOf = (page: string, { operationId }: Document): string =>
  page.split(`<article aria-labelledby="${operationId}">`)[1]?.split('</article>')[0] ?? '';

/** The rows of parameters and body fields: name, place, and whether it must be there. */
function rowsOf({ components }: Document, { parameters, requestBody }: Document): string[] {
  const schema = requestBody?.content['application/json'].schema ?? {};
  const { properties = {}, required = [] } =
    components.schemas[schema.$ref?.split('/').at(-1)] ?? schema;
  const row = (name: string, place: string, isRequired: boolean, description = '') =>
    `${name}${place},${isRequired ? 'required' : 'optional'}|${description}`;
  return [
    ...parameters.map((each: Document) => row(each.name, each.in, each.required, each.description)),
    ...Object.entries<Document>(properties).map(([name, { description }]) =>
      row(name, 'body', required.includes(name), description),
    ),
  ].flatMap((text) => text.split('|'));
}

test.each(references)(
  'each operation of %s is on the page with scopes, parameters, statuses, and an example',
  async (path, at) => {
    const { app, document } = await open({}, path);
    const page = await pageOf(app, {}, at);
    expect(page.length).toBeLessThan(250_000);
    const entries = entriesOf(document.paths);
    expect(entries.length).toBeGreaterThan(path === '/api/openapi.json' ? 30 : 15);
    for (const { name, operation } of entries) {
      const text = lettersOf(articleOf(page, operation));
      const responses = Object.entries<Document>(operation.responses);
      const wanted = [
        name,
        operation.summary,
        operation.description,
        ...operation.security.flatMap(({ key }: Document) => key),
        ...rowsOf(document, operation),
        ...responses.map(([status, { description }]) => status + description),
        ...responses.flatMap(([status, { content }]) =>
          Object.keys(mediaOf(content).examples ?? {}).map((code) => `${status}code${code}`),
        ),
        JSON.stringify(mediaOf(operation.responses[200].content).example),
        `http://127.0.0.1:${app.port}/api`,
      ];
      expect([name, wanted.filter((each) => !text.includes(letters(each)))]).toEqual([name, []]);
      expect(page).toContain(`<a href="#${operation.operationId}">`);
    }
  },
);

/** The only media type of a content. */
const mediaOf = (content: Document = {}): Document => Object.values(content)[0] ?? {};

test.each(references)(
  'webhooks and every schema of %s are on the page, and every link leads to a place',
  async (path, at) => {
    const { app, document } = await open({}, path);
    const page = await pageOf(app, {}, at);
    for (const { name, operation } of entriesOf(document.webhooks)) {
      const text = lettersOf(articleOf(page, operation));
      const wanted = [operation.summary, ...rowsOf(document, operation)];
      expect([name, wanted.filter((each) => !text.includes(letters(each)))]).toEqual([name, []]);
    }
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => !ids.includes(`schema-${name}`))).toEqual([]);
    const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(targets.filter((id) => !ids.includes(id))).toEqual([]);
  },
);

test.each(references)('each example of %s fits its schema', async (path) => {
  const { document } = await open({}, path);
  const all = [...entriesOf(document.paths), ...entriesOf(document.webhooks)];
  for (const { name, operation } of all) {
    const contents = [operation.requestBody, ...Object.values<Document>(operation.responses)];
    for (const each of contents) {
      const { schema, example, examples = {} } = mediaOf(each?.content);
      const values = Object.values<Document>(examples).map(({ value }) => value);
      for (const value of [...(example === undefined ? [] : [example]), ...values]) {
        expect([name, shapeOf(document, schema).safeParse(value).error]).toEqual([name, undefined]);
      }
    }
  }
});

test('the page names the limits of this paygate, and none that is off', async () => {
  const limited = await open({ limitNewAddress: { perMinute: 42, burst: 10 } });
  const { description } = limited.document.paths['/v3/orders'].post;
  expect(description).toContain('together: 42 a minute are allowed for each key');
  expect(await pageOf(limited.app)).toContain('42 a minute are allowed for each key');
  const { document } = await open();
  expect(document.paths['/v3/orders'].post.description).not.toContain('a minute');
});

test('the messages of errors are those that paygate answers', async () => {
  const { app } = await open();
  const messageOf = async (path: string, init?: RequestInit) => (await app.ask(path, init)).body;
  const long = 'a'.repeat(17_000);
  const store = { key: merchantKey(2), startIndex: 0 };
  await app.addStore({ ...store, name: 'Second', callbackUrl: 'https://second.example/paid' });
  const answers = [
    await messageOf('/api/price'),
    await messageOf('/api/v2/stores', { headers: { Authorization: '' } }),
    await messageOf('/api/v3/orders/ord_1'),
    await messageOf('/api/balance', { method: 'POST', body: long }),
    await messageOf(`/api/balance?addr=${long}`.slice(0, 9_000)),
  ];
  expect(answers.map(({ status, message }) => [status, message])).toEqual(
    [400, 401, 404, 413, 414].map((status) => [status, refusals[status]?.message]),
  );
  const several = await messageOf('/api/new_address');
  expect(several.error.code).toBe(1032);
  const beginning = (message: string) => message.split('(')[0];
  expect(beginning(several.message)).toBe(beginning(refusalCodes[1032].message));
  const unknown = await messageOf('/api/new_address?match_account=tpubNone');
  expect(unknown.error.code).toBe(1003);
  expect(beginning(unknown.message)).toBe(beginning(refusalCodes[1003].message));
});

test('the page says that unknown parameters are ignored, and that the text of a 401 stays', async () => {
  const { app } = await open();
  const page = await pageOf(app);
  expect(page).toContain('Unknown parameters and fields are ignored');
  expect(page).toContain('This function requires you to login');
  const { status, body } = await app.ask('/api/new_address?amount=5');
  expect([status, Object.keys(body)]).toEqual([200, ['address', 'time', 'crypto', 'account']]);
});

test('the page names the URL by which it was asked for, and escapes it', async () => {
  const { app } = await open({ trustedProxy: [parseProxyNetwork('127.0.0.1')] });
  const proxied = {
    'X-Forwarded-For': '192.0.2.7',
    'X-Forwarded-Proto': 'https',
    Host: 'pay.example',
  };
  expect(await pageOf(app, proxied)).toContain('&quot;https://pay.example/api/v3/orders&quot;');
  expect(await pageOf(app)).toContain(`&quot;http://127.0.0.1:${app.port}/api/v3/orders&quot;`);
  for (const host of ['"><script>alert(1)</script>', "a'onclick='x", '<b>.example', '$&.example']) {
    expect(await pageOf(app, { Host: host })).not.toMatch(/<script|<b>\.|'onclick|base\.invalid/);
  }
});

test('the page escapes the texts of the document', async () => {
  const { document } = await open();
  const operation = document.paths['/price'].get;
  const hostile = '<script>alert(1)</script>';
  operation.summary = operation.description = operation.parameters[0].description = hostile;
  operation.responses[200].content['application/json'].example = { price: hostile };
  const page = String(createReference(() => document)('https://pay.example'));
  expect(page.split('&lt;script&gt;').length).toBeGreaterThan(4);
  expect(page).not.toContain('<script');
});
