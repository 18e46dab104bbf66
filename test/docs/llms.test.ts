// `/llms.txt` names each page of the manual and each route. PAYGATE_WRITE_DOCS=1 writes its
// beginning, docs/llms.txt, from the pages.

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { servedPages } from '../../src/api/reference/llms-text.ts';
import { closeApps, openApp } from '../support/app.ts';

afterEach(closeApps);

const pages = globSync('docs/**/*.md')
  .filter((page) => !page.startsWith('docs/decisions/'))
  .sort();

/** The title of a page, and the first sentence below it, without links. */
function entryOf(page: string): string {
  const [, title = '', text = ''] = /^# (.+)\n+((?:.+\n)+)/.exec(readFileSync(page, 'utf8')) ?? [];
  const plain = text
    .trim()
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll('\n', ' ');
  return `- ${page}: ${title}. ${/^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain}`;
}

const beginning = `# paygate

> Bitcoin payments to the merchant's own wallet, self-hosted, with SQLite and Electrum servers. It
> holds no private key. Shops make orders by an HTTP API, and receive signed webhooks.

Requests go to \`/api\` with the header \`Authorization: Bearer KEY\`, from a server and never from a
browser. Amounts are satoshis, times Unix seconds.

## Manual

These pages are in the source tree of paygate:

${pages.map(entryOf).join('\n')}
`;

test('docs/llms.txt has each page of the manual with its first sentence', () => {
  if (process.env.PAYGATE_WRITE_DOCS === '1') writeFileSync('docs/llms.txt', beginning);
  expect(readFileSync('docs/llms.txt', 'utf8')).toBe(beginning);
  for (const line of beginning.split('\n').filter((each) => each.startsWith('- '))) {
    expect(line).toMatch(/^- docs\/[\w/.-]+: .{3,}\. .{5,}$/);
  }
});

test('/llms.txt names each page and each route, under its own URL', async () => {
  const app = await openApp();
  const { status, headers, body } = await app.ask('/llms.txt', { headers: { Authorization: '' } });
  const text = String(body);
  expect([status, headers.get('Content-Type')]).toEqual([200, 'text/plain; charset=UTF-8']);
  expect(text.startsWith(beginning)).toBe(true);
  for (const page of pages) expect(text).toContain(`- ${page}: `);
  const { paths } = (await app.ask('/api/openapi.json')).body;
  const routes = Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `- \`${method.toUpperCase()} /api${path}\`: `),
  );
  expect(routes.length).toBeGreaterThan(30);
  for (const route of routes) expect(text).toContain(route);
  expect(text).toContain('- `POST /api/v1/stores/{storeId}/invoices`: ');
  for (const path of Object.keys(servedPages)) {
    expect(text).toContain(`](http://127.0.0.1:${app.port}${path}): `);
    const { status: served } = await fetch(`http://127.0.0.1:${app.port}${path}`);
    expect([path, served]).toEqual([path, 200]);
  }
});
