// The first run in a real Chromium: from the sign-in link to a test callback that the shop accepted.
// Counts clicks, typed fields and page loads, and estimates the time of a person.

import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { createSignInLink } from '../../src/dashboard/guard/sign-in-link.ts';
import { closeApps, merchantKey, openApp, type TestApp, untilReady } from '../support/app.ts';
import { accessibilityFaults, juttingOut, openPage, sharedBrowser } from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { startReceiver } from '../support/receiver.ts';
import { password, signedIn } from '../support/visitor.ts';

/**
 * Seconds of the keystroke-level model (Card, Moran, Newell 1980): point, click and decide; a key
 * of an average typist. Copying from another window is three clicks and four keys.
 */
const secondsPerClick = 1.1 + 0.2 + 1.35;
const secondsPerKey = 0.28;
const secondsPerPaste = 3 * secondsPerClick + 4 * secondsPerKey;

interface Effort {
  clicks: number;
  keys: number;
  pastes: number;
  loads: number;
}

const secondsOf = ({ clicks, keys, pastes }: Effort): number =>
  clicks * secondsPerClick + keys * secondsPerKey + pastes * secondsPerPaste;

/** A person at a page, whose effort is counted. */
function personAt(page: Page) {
  const effort: Effort = { clicks: 0, keys: 0, pastes: 0, loads: 0 };
  page.on('load', () => {
    effort.loads += 1;
  });
  return {
    effort,
    async click(what: Locator): Promise<void> {
      effort.clicks += 1;
      await what.click();
    },
    async type(what: Locator, text: string): Promise<void> {
      effort.keys += text.length + 1;
      await what.fill(text);
    },
    async paste(what: Locator, text: string): Promise<void> {
      effort.pastes += 1;
      await what.fill(text);
    },
  };
}

/** An app without a store. */
async function openEmpty(): Promise<TestApp> {
  const app = await openApp();
  await app.stop();
  rmSync(app.path);
  rmSync(join(dirname(app.path), '.paygate-mark'), { recursive: true });
  await app.start();
  return app;
}

describe.skipIf(chromiumPath === undefined)('the first run', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);

  test.each([
    [true, 360],
    [false, 1280],
  ])('takes less than 3 minutes, JavaScript %s, %i px wide', async (javaScriptEnabled, width) => {
    const app = await openEmpty();
    const shop = await startReceiver();
    const { page, faults } = await openPage(browser, {
      javaScriptEnabled,
      viewport: { width, height: 800 },
    });
    const person = personAt(page);
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const heading = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();
    const origin = `http://127.0.0.1:${app.port}`;
    async function examine(): Promise<void> {
      expect(await juttingOut(page)).toBe(0);
      expect(await accessibilityFaults(page)).toEqual([]);
    }
    const start = performance.now();
    await page.goto(await app.withStore((records) => createSignInLink(records, app.world, origin)));
    await person.type(page.getByLabel('New password'), password);
    await person.type(page.getByLabel('Repeat the password'), password);
    await person.click(button('Set password'));
    await heading('Setup');
    await person.click(page.getByRole('link', { name: 'Add your store' }));
    await person.paste(page.getByLabel('Public key of the wallet'), merchantKey(2).account);
    await person.click(button('Show addresses'));

    // A person forgets the switch that a shop on this machine needs.
    const [, , third = ''] = firstAddresses(merchantKey(2), 3);
    await person.type(page.getByLabel('The last 6 characters'), third.slice(-6));
    await person.type(page.getByLabel('Name', { exact: false }).first(), 'My shop');
    const url = page.getByLabel('Callback URL', { exact: false }).first();
    await person.paste(url, `${shop.origin}/paid?secret=tulip`);
    await person.click(button('Add the store'));
    // The first refused field has the focus, once the page is rendered.
    await page.locator('[name="callback-url"][aria-invalid="true"]:focus').waitFor();
    await examine();
    await person.click(page.getByLabel('may lead to a private'));
    await person.click(button('Add the store'));

    await heading('My shop: connect your shop');
    await page.getByText('has index 2 in this wallet').waitFor();
    await person.click(button('Show key and secret'));
    const key = (await page.locator('#merchant-key').textContent()) ?? '';
    const command = (await page.locator('pre code').textContent()) ?? '';
    expect(command).toBe(`curl -H "Authorization: Bearer ${key}" ${origin}/api/new_address`);
    await examine();
    await person.click(button('Send test callback'));
    await page.getByText('the callback is delivered').waitFor();
    expect(shop.requests.at(-1)?.url).toContain('/paid?secret=tulip&status=0');
    await person.click(page.getByRole('link', { name: 'continue the setup' }));
    await heading('Setup');
    const seconds = (performance.now() - start) / 1000;

    await untilReady(app);
    const headers = { Authorization: `Bearer ${key}` };
    expect((await fetch(`${origin}/api/new_address`, { headers })).status).toBe(200);
    const { effort } = person;
    process.stdout.write(
      `first run, script ${javaScriptEnabled}, ${width} px: ${effort.clicks} clicks, ` +
        `${effort.keys} keys, ${effort.pastes} pastes, ${effort.loads} page loads, ` +
        `${Math.round(secondsOf(effort))} s for a person, ${seconds.toFixed(1)} s here\n`,
    );
    expect(effort.clicks).toBeLessThanOrEqual(10);
    expect(effort.loads).toBeLessThanOrEqual(10);
    expect(secondsOf(effort) + seconds).toBeLessThan(180);
    expect(faults.filter((fault) => !/status of 40[04]/.test(fault))).toEqual([]);
    await page.context().close();
    await shop.close();
  });

  test('refused and confirming pages have no finding of axe-core without our script', async () => {
    const app = await openApp();
    await untilReady(app);
    const { page, faults } = await openPage(browser);
    /** A page that is loaded is looked at on a phone, too. */
    async function examine(what: string): Promise<void> {
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        const seen = [await juttingOut(page), await accessibilityFaults(page)];
        expect([what, width, ...seen]).toEqual([what, width, 0, []]);
      }
    }
    await page.route('**/*.js', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: '' }),
    );
    const [name = '', value = ''] = (await signedIn(app)).cookie.split('=');
    const origin = `http://127.0.0.1:${app.port}`;
    await page.context().addCookies([{ name, value, url: origin }]);
    const sections = ['', '/general', '/wallet', '/callbacks', '/webhooks', '/keys', '/plugin'];
    const others = ['/danger', '/wallet/new', '/replace-secret', '/remove', '/ready'];
    for (const section of [...sections, ...others]) {
      await page.goto(`${origin}/dashboard/stores/1${section}`);
      await examine(section);
    }
    await page.goto(`${origin}/dashboard/stores/1/general`);
    await page.getByLabel('Name').fill(' ');
    await page.getByLabel('Currency').fill('XYZ');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByRole('listitem').nth(1).waitFor();
    expect(await page.locator(':focus').getAttribute('name')).toBe('name');
    await examine('refused settings');
    app.world.jumpWallClock(6 * 60_000);
    await page.goto(`${origin}/dashboard/stores/1/remove`);
    await page.getByLabel('Your password again').fill('wrong battery');
    await page.getByRole('button', { name: 'Remove the store' }).click();
    await page.locator('#fault-password').waitFor();
    await examine('a wrong password');
    await page.getByLabel('Your password again').fill(password);
    await page.getByRole('button', { name: 'Remove the store' }).click();
    await page.getByRole('link', { name: /^Use again/ }).click();
    await page.getByRole('heading', { name: 'Use Shop again' }).waitFor();
    await examine('to use a store again');
    await page.getByRole('button', { name: 'Use it again' }).click();
    await page.getByText('The store is active again.').waitFor();
    expect(faults.filter((fault) => !/status of 40[03]/.test(fault))).toEqual([]);
    await page.context().close();
  });
});
