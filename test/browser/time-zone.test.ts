// The time zone of a browser becomes that of the merchant at the first sign-in, by password and by
// the link that sets one.

import type { Browser, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createSignInLink } from '../../src/dashboard/guard/sign-in-link.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { accessibilityFaults, juttingOut, openPage, sharedBrowser } from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { password, setPassword } from '../support/visitor.ts';

describe.skipIf(chromiumPath === undefined)('the time zone of the browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  const originOf = (app: TestApp) => `http://127.0.0.1:${app.port}`;
  const storedZone = (app: TestApp) => app.withStore(async ({ state }) => state.timeZone.read());

  async function signIn(app: TestApp, page: Page): Promise<void> {
    await page.goto(`${originOf(app)}/dashboard/sign-in`);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  }

  test('is stored with a password that a link sets', async () => {
    const app = await openApp();
    const { page, faults } = await openPage(browser, { timezoneId: 'America/Sao_Paulo' });
    await page.goto(
      await app.withStore((records) => createSignInLink(records, app.world, originOf(app))),
    );
    await page.getByLabel('New password').fill(password);
    await page.getByLabel('Repeat the password').fill(password);
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await storedZone(app)).toBe('America/Sao_Paulo');
    expect(faults).toEqual([]);
  });

  test('is stored at a sign-in; without JavaScript days stay those of UTC', async () => {
    const app = await openApp();
    await setPassword(app);
    const plain = await openPage(browser, { timezoneId: 'Asia/Tokyo', javaScriptEnabled: false });
    await signIn(app, plain.page);
    expect(await storedZone(app)).toBeUndefined();
    const { page, faults } = await openPage(browser, {
      ...{ timezoneId: 'Asia/Tokyo', viewport: { width: 360, height: 740 } },
    });
    await signIn(app, page);
    expect(await storedZone(app)).toBe('Asia/Tokyo');
    await page.getByRole('link', { name: 'Asia/Tokyo' }).click();
    await page.getByLabel('Time zone').fill('America/Argentina/Buenos_Aires');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    for (const path of ['/settings/time-zone', '', '/payments', '/orders']) {
      await page.goto(`${originOf(app)}/dashboard${path}`);
      expect([path, await juttingOut(page)]).toEqual([path, 0]);
    }
    expect(faults).toEqual([]);
  });
});
