import { html } from 'hono/html';
import { expect, test } from 'vitest';
import { encodedPage } from '../../src/web/docs-page.tsx';

test('readers that use the same URL get the same bytes, others their own', async () => {
  const page = encodedPage((base) => html`<p>${base} ü</p>`);
  const first = await page('https://one.example');
  expect(new TextDecoder().decode(first)).toBe('<p>https://one.example ü</p>');
  expect(await page('https://one.example')).toBe(first);
  const other = await page('https://other.example');
  expect(new TextDecoder().decode(other)).toBe('<p>https://other.example ü</p>');
  expect(await page('https://one.example')).toEqual(first);
});
