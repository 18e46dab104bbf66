// A plugin's link to paygate in a real Chromium: the session of an owner who comes from the shop,
// and the form that brings the key there. Its refusals are in test/dashboard/authorize.test.ts.

import { afterEach, expect, test } from 'vitest';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import { openPage, sharedBrowser } from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';
import { password, setPassword } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

test.skipIf(chromiumPath === undefined)(
  'the owner comes from the shop with a session, and the shop receives the key by its form',
  async () => {
    const app = await openApp();
    await untilReady(app);
    await setPassword(app);
    const paygate = `http://localhost:${app.port}`;
    let link = '';
    const headers = { 'Content-Type': 'text/html' };
    const shop = await startReceiver({
      answer: () => ({ status: 200, headers, body: `<a href="${link}">Generate API key</a>` }),
    });
    whenOver(() => shop.close());
    const { page } = await openPage(await sharedBrowser());
    await page.goto(`${paygate}/dashboard/sign-in`);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    const query = new URLSearchParams({ applicationName: 'Shop', redirect: `${shop.origin}/back` });
    link = `${paygate}/api-keys/authorize?${query}`;
    await page.goto(`${shop.origin}/settings`);
    await page.getByRole('link', { name: 'Generate API key' }).click();
    await page.getByText(new URL(shop.origin).host, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Give a key to' }).click();
    await page.waitForURL(`${shop.origin}/back`);
    const posted = shop.requests.filter(({ method }) => method === 'POST');
    expect(posted.map(({ url }) => url)).toEqual(['/back']);
    const sent = new URLSearchParams(posted[0]?.body);
    expect(sent.get('apiKey')).toMatch(/^[0-9A-Za-z]{43}$/);
    expect(sent.getAll('permissions[]')).toHaveLength(5);
  },
);

test.skipIf(chromiumPath === undefined)(
  'a refusal and an alarm have a box and letters of the size of the text, the host of a shop has large ones',
  async () => {
    const app = await openApp();
    await untilReady(app);
    await setPassword(app);
    const { page } = await openPage(await sharedBrowser());
    await page.goto(`http://localhost:${app.port}/dashboard/sign-in`);
    await page.getByLabel('Password').fill('not the right one');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    const look = (name: string) =>
      page.evaluate(`(() => {
        const shown = document.querySelector('[role=alert]');
        shown.className = '${name}';
        const { fontSize, borderInlineStartWidth } = getComputedStyle(shown);
        return [fontSize, borderInlineStartWidth];
      })()`);
    const box = ['16px', '4px'];
    for (const name of ['problem', 'alarm error', 'note']) expect(await look(name)).toEqual(box);
    expect(await look('host')).toEqual(['32px', '0px']);
  },
);
