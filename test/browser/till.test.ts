// A till in a real Chromium: from the dashboard to a paid sale on a phone, and how its pages fit.

import type { Browser } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { accessibilityFaults, openPage, sharedBrowser } from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { keyboardFaults, languageFaults, overflows } from '../support/page-checks.ts';
import { openScanner, readPaymentUri } from '../support/qr.ts';
import { addTill, openTill, type TillScene } from '../support/tills.ts';

const phone = { width: 360, height: 640 };

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  async function openDevice(scene: TillScene, javaScriptEnabled = true, locale = 'en') {
    const opened = await openPage(browser, { viewport: phone, javaScriptEnabled, locale });
    const { page } = opened;
    await page.addInitScript(`
      globalThis.locks = 0;
      const wakeLock = { request: async () => { globalThis.locks += 1; } };
      Object.defineProperty(navigator, 'wakeLock', { value: wakeLock });
    `);
    const origin = `http://127.0.0.1:${scene.app.port}`;
    await page.goto(origin + (await addTill(scene.owner, { name: 'Bar' })));
    await page.locator('button.main').click();
    await page.waitForURL(`${origin}/till`);
    return { ...opened, origin };
  }

  const payNewest = async ({ app, orders }: TillScene): Promise<void> => {
    const [order] = await orders();
    app.pay(order?.address ?? '', order?.amount_sat ?? 0);
    await app.settle();
  };

  /** Whether an element lies within the first screen. */
  const isInView = `(selector) => {
    const { bottom } = document.querySelector(selector).getBoundingClientRect();
    return scrollY === 0 && bottom <= innerHeight;
  }`;

  test('a phone charges without scrolling, shows the code, and goes on', async () => {
    const scene = await openTill();
    const { page, faults } = await openDevice(scene);
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
    const amount = page.getByLabel('Amount in EUR');
    expect(await page.evaluate(`(${isInView})('button.main')`)).toBe(true);
    for (const key of ['1', '2', '5', '00', '9']) await press(key);
    await press('Delete the last digit');
    expect(await amount.inputValue()).toBe('125.00');
    await press('Delete the last digit');
    expect(await amount.inputValue()).toBe('12.50');
    expect(await page.evaluate('globalThis.locks')).toBe(1);
    await press('Charge');
    await page.waitForURL(/\/till\/sales\/ord_/);
    await page.getByText('Waiting for payment').waitFor();
    const code = page.locator('#pay svg').first();
    expect((await code.boundingBox())?.width).toBeGreaterThan(280);
    const [order] = await scene.orders();
    const scan = await openScanner(browser);
    const read = readPaymentUri((await scan(code)) ?? '');
    expect([read.address, read.amountSat]).toEqual([order?.address, 25_000]);
    await payNewest(scene);
    await page.getByText('Seen, not yet final').waitFor();
    scene.app.chain.mine(2);
    await scene.app.settle();
    const pill = page.locator('.pill.good');
    await pill.waitFor();
    expect((await pill.boundingBox())?.height).toBeGreaterThan(40);
    await page.getByRole('link', { name: 'Next' }).click();
    await page.waitForURL(/\/till$/);
    expect(await amount.inputValue()).toBe('');
    await page.getByRole('link', { name: 'Sales of today' }).click();
    await page.getByText('€12.50').first().waitFor();
    expect(faults).toEqual([]);
  });

  test('whole units stay chosen, and the page says when the device is offline', async () => {
    const scene = await openTill();
    const { page } = await openDevice(scene);
    await page.getByLabel('Whole units only').check();
    await page.reload();
    for (const key of ['3', '5'])
      await page.getByRole('button', { name: key, exact: true }).click();
    expect(await page.getByLabel('Amount in EUR').inputValue()).toBe('35');
    const offline = page.getByText('This device is offline.');
    expect(await offline.isVisible()).toBe(false);
    await page.context().setOffline(true);
    await offline.waitFor();
    await page.context().setOffline(false);
    await offline.waitFor({ state: 'hidden' });
  });

  test('it works as a plain field without JavaScript', async () => {
    const scene = await openTill();
    const { page } = await openDevice(scene, false);
    expect(await page.getByRole('button').count()).toBe(1);
    await page.getByLabel('Amount in EUR').fill('12.50');
    await page.getByRole('button', { name: 'Charge' }).click();
    await page.getByText('Waiting for payment').waitFor();
    await page.getByRole('button', { name: 'Cancel the sale' }).click();
    await page.waitForURL(/\/till$/);
    expect((await scene.orders())[0]?.status).toBe('canceled');
  });

  test.each(['en', 'de', 'ar', 'ja'])('its pages fit and read well in %s', async (locale) => {
    const scene = await openTill();
    const { page, origin } = await openDevice(scene, true, locale);
    const faults: string[] = [];
    for (const path of ['/till', await scene.sell('1250'), '/till/sales']) {
      // The sale belongs to the other device: its page is that of an error.
      for (const width of [360, 768]) {
        await page.setViewportSize({ width, height: 640 });
        await page.goto(origin + path);
        faults.push(...(await overflows(page)).map((each) => `${path} ${width}: ${each}`));
      }
      const found = [
        ...(await accessibilityFaults(page)),
        ...(await languageFaults(page, locale)),
        ...(await keyboardFaults(page)),
      ];
      faults.push(...found.map((each) => `${path}: ${each}`));
    }
    expect(faults).toEqual([]);
  });
});
