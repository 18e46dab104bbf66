// Signing in with an authenticator app in a real Chromium: the password, then the code on a page of
// its own, with script and without. test/dashboard/sign-in-steps.test.ts has the server.

import type { Browser, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { newTotpSecret, totpCode, totpStep } from '../../src/domain/access/totp.ts';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import {
  accessibilityFaults,
  crampedAt,
  openPage,
  sharedBrowser,
  showIn,
  widths,
} from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { password, setPassword } from '../support/visitor.ts';

const secret = newTotpSecret(new Uint8Array(20));
const recovery = 'aaaa-aaaa-aaaa-aaaa-aaaa-aaaa';

describe.skipIf(chromiumPath === undefined)('an authenticator app in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  async function open(): Promise<TestApp> {
    const app = await openApp();
    await setPassword(app);
    await app.withStore(({ admin, database }) =>
      database.write((tx) => {
        admin.setTotp(tx, secret);
        admin.setRecoveryCodes(tx, [recovery]);
      }),
    );
    return app;
  }

  async function typePassword(app: TestApp, page: Page): Promise<void> {
    await page.goto(`http://127.0.0.1:${app.port}/dashboard/sign-in?next=/dashboard/settings`);
    expect(await page.getByText(/code/i).count()).toBe(0);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Your code', level: 1 }).waitFor();
  }

  test('asks for its code after the password, where one types at once', async () => {
    const app = await open();
    const { page, faults } = await openPage(browser);
    await typePassword(app, page);
    for (const colorScheme of ['light', 'dark'] as const) {
      await showIn(page, colorScheme);
      expect([colorScheme, await accessibilityFaults(page)]).toEqual([colorScheme, []]);
    }
    for (const width of widths) {
      expect([width, await crampedAt(page, width)]).toEqual([width, []]);
    }
    await page.keyboard.type('000001');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This code is wrong.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.type(totpCode(secret, totpStep(app.world.now())));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    // The refused code is an answer of 401, which the console names.
    expect(faults.filter((each) => !each.includes('401'))).toEqual([]);
    await page.context().close();
  });

  test('has its recovery codes there, without JavaScript, too', async () => {
    const app = await open();
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await typePassword(app, page);
    await page.getByText('Use a recovery code instead').click();
    await page.getByLabel('Recovery code').fill(recovery);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    await context.close();
  });
});
