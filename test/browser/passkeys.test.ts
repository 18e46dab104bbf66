// Passkeys in a real Chromium, with its virtual authenticator: the script, the policy of the page,
// and what a person sees. A test of the server is test/dashboard/guard/passkeys.test.ts.

import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
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

const minuteMs = 60_000;

describe.skipIf(chromiumPath === undefined)('a passkey in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  const urlOf = (app: TestApp, path: string) => `http://localhost:${app.port}/dashboard${path}`;

  /** A page whose browser has an authenticator that verifies its user at once. */
  async function open() {
    const app = await openApp();
    await untilReady(app);
    await setPassword(app);
    const { page, faults } = await openPage(browser);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return { app, page, faults, devtools, authenticatorId };
  }

  async function signIn(app: TestApp, page: Page): Promise<void> {
    await page.goto(urlOf(app, '/sign-in?next=/dashboard/settings/account'));
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Account', level: 1 }).waitFor();
  }

  async function addPasskey(page: Page, name: string): Promise<void> {
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Create the passkey' }).click();
    await page.getByText('The passkey is added.').waitFor();
  }

  const verifies = (devtools: CDPSession, authenticatorId: string, isUserVerified: boolean) =>
    devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });

  test('is added with a name, signs in, and replaces the repeated password', async () => {
    const { app, page, faults } = await open();
    await page.goto(urlOf(app, '/sign-in'));
    expect(await page.getByText('passkey').count()).toBe(0);
    await signIn(app, page);
    await addPasskey(page, 'Test phone');
    await page.getByRole('link', { name: 'Test phone' }).waitFor();
    await page.goto(urlOf(app, '/sign-out'));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    app.world.jumpWallClock(6 * minuteMs);
    await page.goto(urlOf(app, '/stores'));
    const form = page.locator('form', { hasText: 'Show the key' });
    await form.getByRole('button', { name: 'Use a passkey instead' }).click();
    await page.getByText(app.apiKey).waitFor();
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('is made once for each device, and only with its user verified', async () => {
    const { app, page, devtools, authenticatorId } = await open();
    await signIn(app, page);
    await addPasskey(page, 'First');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('button', { name: 'Create the passkey' }).click();
    await page.getByText('This device already has a passkey of this paygate.').waitFor();
    await verifies(devtools, authenticatorId, false);
    await page.context().clearCookies();
    await page.goto(urlOf(app, '/sign-in'));
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('Canceled, or this device has no passkey of this paygate.').waitFor();
    // The next attempt may succeed.
    await verifies(devtools, authenticatorId, true);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.context().close();
  });

  test('leaves its pages accessible, with margins at every width, light and dark', async () => {
    const { app, page, faults } = await open();
    await signIn(app, page);
    await addPasskey(page, 'First');
    app.world.jumpWallClock(6 * minuteMs);
    for (const path of ['/settings/account', '/settings/passkeys/1', '/sign-in']) {
      await page.goto(urlOf(app, path));
      for (const colorScheme of ['light', 'dark'] as const) {
        await showIn(page, colorScheme);
        expect([path, colorScheme, await accessibilityFaults(page)]).toEqual([
          path,
          colorScheme,
          [],
        ]);
      }
      for (const width of widths) {
        expect([path, width, await crampedAt(page, width)]).toEqual([path, width, []]);
      }
    }
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('is no obstacle without JavaScript: the password signs in as before', async () => {
    const { app, page } = await open();
    await signIn(app, page);
    await addPasskey(page, 'First');
    const context = await browser.newContext({ javaScriptEnabled: false });
    const plain = await context.newPage();
    await plain.goto(urlOf(app, '/sign-in'));
    expect(await plain.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
    await signIn(app, plain);
    await plain.getByRole('button', { name: 'Add a passkey' }).click();
    await plain.getByText('This page needs JavaScript').waitFor();
    await context.close();
    await page.context().close();
  });
});
