// The first run in a real Chromium: from the sign-in link to a payment link that was paid.
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
import { runProcess } from '../support/cli.ts';
import { cleanUp } from '../support/files.ts';
import { openPriced } from '../support/priced.ts';
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

/** An app without a store, with a price in euros. */
async function openEmpty(): Promise<TestApp> {
  const app = await openPriced();
  await app.stop();
  rmSync(app.path);
  rmSync(join(dirname(app.path), '.paygate-mark'), { recursive: true });
  await app.start();
  return app;
}

/** The files and the source of prices are those of the test, not of a machine that serves. */
const ofTheTest = ['permissions', 'price'];

/** What the doctor reports as failed, and what it says of a shop. */
async function failedChecks(app: TestApp): Promise<string[]> {
  const listen = ['--listen', `127.0.0.1:${app.port}`, '--electrum', ...app.labels];
  const args = ['doctor', '--db', app.path, ...listen, '--json'];
  const { checks } = JSON.parse((await runProcess(args)).stdout) as {
    readonly checks: readonly { readonly check: string; readonly state: string }[];
  };
  const failed = checks.filter(
    ({ state, check }) => state === 'fail' && !ofTheTest.includes(check),
  );
  return [...failed, ...checks.filter(({ check }) => /callback|webhook/.test(check))].map(
    ({ check }) => check,
  );
}

describe.skipIf(chromiumPath === undefined)('the first run', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  test.each([
    [true, 360],
    [false, 1280],
  ])('of a café ends with a paid link, JavaScript %s, %i px wide', async (script, width) => {
    const app = await openEmpty();
    const { page, faults } = await openPage(browser, {
      javaScriptEnabled: script,
      viewport: { width, height: 800 },
    });
    const person = personAt(page);
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const link = (name: string) => page.getByRole('link', { name, exact: true });
    const heading = (name: string) => page.getByRole('heading', { name, level: 1 }).waitFor();
    const origin = `http://127.0.0.1:${app.port}`;
    const seen: string[] = [];
    async function examine(): Promise<void> {
      seen.push(await page.locator('main').innerText());
      expect(await juttingOut(page)).toBe(0);
      expect(await accessibilityFaults(page)).toEqual([]);
    }
    const start = performance.now();
    await page.goto(await app.withStore((records) => createSignInLink(records, app.world, origin)));
    await person.type(page.getByLabel('New password'), password);
    await person.type(page.getByLabel('Repeat the password'), password);
    await person.click(button('Set password'));
    await heading('Setup');
    await examine();
    await person.click(link('Add your store'));
    expect(await page.getByLabel('Links and a till').isChecked()).toBe(true);
    await page.locator('main').waitFor();
    expect(await juttingOut(page)).toBe(0);
    await person.paste(page.getByLabel('Public key of the wallet'), merchantKey(2).account);
    await person.click(button('Show addresses'));

    const [, , third = ''] = firstAddresses(merchantKey(2), 3);
    await person.type(page.getByLabel('The last 6 characters'), third.slice(-6));
    await person.type(page.getByLabel('Name', { exact: false }).first(), 'Café Möwe');
    await page.getByLabel('Currency').selectOption('EUR');
    await examine();
    expect(await page.locator('form input:visible, form select:visible').count()).toBe(3);
    await person.click(button('Add the store'));

    await heading('Café Möwe: setup');
    await page.getByText('has index 2 in this wallet').waitFor();
    await examine();
    await person.click(link('Add a link'));
    await person.type(page.getByLabel('Title'), 'Counter');
    await person.click(button('Add the link'));
    await heading('Counter');
    await untilReady(app);
    const url = (await page.locator('main a[href*="/l/"]').first().getAttribute('href')) ?? '';
    const { effort } = person;
    const seconds = (performance.now() - start) / 1000;

    const customer = await openPage(browser, { javaScriptEnabled: script });
    await customer.page.goto(origin + new URL(url).pathname);
    await customer.page.getByLabel('Amount in EUR').fill('3.50');
    await customer.page.getByRole('button', { name: 'Pay with Bitcoin' }).click();
    await customer.page.waitForURL(/\/o\/ord_/);
    const order = await app.withStore(async ({ orderView, addressView }) => {
      const [row] = orderView.list({ limit: 1 });
      if (row === undefined) throw new Error('no order was made');
      return { ...row, address: addressView.address(row.addressId).address };
    });
    app.pay(order.address, order.amountSat);
    app.chain.mine(2);
    await app.settle();
    await page.goto(`${origin}/dashboard`);
    await page.getByText('3.50 EUR').first().waitFor();
    await examine();
    expect(await page.locator('[data-alarm], .setup').count()).toBe(0);
    await page.goto(`${origin}/dashboard/orders/${order.publicId}`);
    await page.getByText('Paid').first().waitFor();
    await examine();
    await page.goto(`${origin}/dashboard/stores/1`);
    await examine();
    expect(seen.join('\n')).not.toMatch(/callback|webhook|curl|undelivered|your shop/i);

    const health = await (await fetch(`${origin}/healthz`)).json();
    expect(health).toMatchObject({ status: 'ok', warnings: [] });
    expect((await fetch(`${origin}/readyz`)).status).toBe(200);
    expect(await failedChecks(app)).toEqual([]);
    process.stdout.write(
      `first run of a café, script ${script}, ${width} px: ${effort.clicks} clicks, ` +
        `${effort.keys} keys, ${effort.pastes} pastes, ${effort.loads} page loads, ` +
        `${Math.round(secondsOf(effort))} s for a person, ${seconds.toFixed(1)} s here\n`,
    );
    expect(effort.clicks).toBeLessThanOrEqual(6);
    expect(effort.loads).toBeLessThanOrEqual(10);
    expect(secondsOf(effort) + seconds).toBeLessThan(180);

    await page.goto(`${origin}/dashboard/stores/1/ready`);
    await link('Rehearse a payment').click();
    await page.getByText('Rehearsal: no bitcoin is asked for').waitFor();
    await examine();
    await button('Simulate the payment').click();
    await page.getByText('No mail was sent').waitFor();
    await examine();
    await link('Let a block confirm it').click();
    await page.getByRole('heading', { name: 'Receipt' }).waitFor();
    await examine();
    await link('Show its receipt').click();
    await page.getByText('Your payment is confirmed').waitFor();
    await examine();
    await link('End the rehearsal').click();
    await heading('Café Möwe: setup');
    expect(seen.slice(-4).join('\n')).not.toMatch(/callback|webhook|curl|undelivered|your shop/i);
    expect([...faults, ...customer.faults]).toEqual([]);
    await customer.page.context().close();
    await page.context().close();
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
    await page.getByLabel('Name', { exact: true }).fill(' ');
    await page.getByLabel('Tolerance').fill('x');
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
