// The sections of the dashboard: what is there, in which order, and which is folded where.

import { afterEach, expect, test } from 'vitest';
import { closeApps, openApp } from '../support/app.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);

const navigation = (text: string): string => /<nav id="sections".*?<\/nav>/s.exec(text)?.[0] ?? '';
const namesIn = (html: string): string[] =>
  [...html.matchAll(/<a href="[^"]*"[^>]*>([^<]+)<|<summary>([^<]+)</g)].map(
    ([, link, group]) => link ?? `[${group}]`,
  );

test('what a merchant uses each day comes first, and technical pages are one group', async () => {
  const visitor = await signedIn(await openApp());
  const { text } = await visitor.get('/dashboard');
  expect(namesIn(navigation(text))).toEqual([
    ...['Overview', 'Orders', 'Payments', 'Links and tills', 'Stores', 'Settings'],
    ...['[Technical]', 'Addresses', 'Deliveries', 'Servers', 'API docs', 'Sign out'],
  ]);
});

test.each([
  ['', 'Overview', false],
  ['/welcome', 'Overview', false],
  ['/payments', 'Payments', false],
  ['/tills', 'Links and tills', false],
  ['/settings/account', 'Settings', false],
  ['/addresses', 'Addresses', true],
  ['/callbacks', 'Deliveries', true],
  ['/events', 'Deliveries', true],
  ['/servers', 'Servers', true],
])('the page %j is in the section %s', async (path, name, isTechnical) => {
  const visitor = await signedIn(await openApp());
  const html = navigation((await visitor.get(`/dashboard${path}`)).text);
  expect([...html.matchAll(/aria-current="page">([^<]+)</g)].map(([, each]) => each)).toEqual([
    name,
  ]);
  expect(html.includes('<details open')).toBe(isTechnical);
});

test.each([
  ['/orders', 'Take a payment'],
  ['/links', 'Add a link'],
  ['/tills', 'Add a till'],
  ['/stores', 'Add a store'],
])('the page %s has one button to add, beside its heading', async (path, name) => {
  const visitor = await signedIn(await openApp());
  const { text } = await visitor.get(`/dashboard${path}`);
  const [, href] =
    new RegExp(`</h1><a class="button" href="([^"]+)">${name}</a></div>`).exec(text) ?? [];
  expect(href).toBe(`/dashboard${path}/new`);
  expect(text.split('class="button"')).toHaveLength(2);
});
