// The sandbox in a real browser: live without a reload, whole without JavaScript, nothing foreign, nothing
// against the policy, and no fault that axe-core finds, in light and dark, on a phone too.

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityFaults, chromiumPath, launch, openPage } from '../support/browser.ts';
import { cleanUp } from '../support/files.ts';
import { openSandbox, type Visit } from '../support/sandbox.ts';

const hasBrowser = chromiumPath !== undefined;

describe.skipIf(!hasBrowser)('the sandbox in a browser', () => {
  let browser: Browser;
  let visit: Visit;

  beforeAll(async () => {
    browser = await launch();
    visit = await openSandbox();
  });
  afterAll(async () => {
    await browser?.close();
    await cleanUp();
  });

  /** A page with an order, placed as a customer does. */
  async function order(options?: BrowserContextOptions) {
    const watched = await openPage(browser, options);
    const { page } = watched;
    await page.goto(visit.sandbox.shopOrigin);
    await page.getByLabel('Poster').fill('2');
    await page.getByRole('button', { name: 'Order' }).click();
    await page.getByRole('heading', { name: 'Waiting for your payment' }).waitFor();
    const address = (await page.locator('code').first().textContent()) ?? '';
    const path = new URL(page.url()).pathname;
    return { ...watched, placed: { path, address, totalSat: 54_000 } };
  }

  /** Again where the page was just then loaded again by itself, which takes the press away. */
  async function press(page: Page, button: string, heading: string): Promise<void> {
    const shown = page.getByRole('heading', { name: heading, exact: true });
    while (!(await shown.isVisible())) {
      await page.getByRole('button', { name: button, exact: true }).click();
      await shown.waitFor({ timeout: 5_000 }).catch(() => {});
    }
  }

  test('the page of an order goes from 0 to 2 without a reload', async () => {
    const { page, origins, faults, placed } = await order();
    const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor();
    await page.evaluate('window.isSame = true');
    await visit.pay(placed);
    await heading('Payment seen');
    await visit.mine();
    await heading('In a block');
    await visit.mine();
    await heading('Paid');
    expect(await page.evaluate('window.isSame')).toBe(true);
    expect([...origins]).toEqual([visit.sandbox.shopOrigin]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('a payment that is double-spent on the Chain page is gone on the other', async () => {
    const { page, faults } = await order();
    await page.getByRole('button', { name: 'Pay exactly' }).click();
    await page.getByRole('heading', { name: 'Payment seen' }).waitFor();
    const chain = await page.context().newPage();
    await chain.goto(`${visit.sandbox.shopOrigin}/chain`);
    await chain.getByRole('button', { name: 'Double-spend' }).click();
    await chain.getByRole('heading', { name: 'Waiting for a block: 1' }).waitFor();
    await visit.settle();
    await visit.world.advance(2_000);
    await page.getByText('gone: replaced or spent elsewhere').waitFor();
    await page.getByRole('heading', { name: 'Waiting for your payment' }).waitFor();
    expect(faults).toEqual([]);
    await page.context().close();
    await visit.mine();
  });

  test('all goes without JavaScript', async () => {
    const { page, origins } = await order({ javaScriptEnabled: false });
    await press(page, 'Pay exactly', 'Payment seen');
    await press(page, 'Mine 6 blocks', 'Paid');
    expect([...origins]).toEqual([visit.sandbox.shopOrigin]);
    await page.context().close();
  });

  const phone = { width: 360, height: 640 };
  const desk = { width: 1280, height: 800 };

  test.each([
    ['light', desk],
    ['dark', desk],
    ['light', phone],
    ['dark', phone],
  ] as const)('no page has a fault in %s, %o', async (colorScheme, viewport) => {
    const { page, faults, placed } = await order({ colorScheme, viewport });
    const { shopOrigin } = visit.sandbox;
    await visit.pay(placed);
    await page.getByRole('heading', { name: 'Payment seen' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    for (const path of ['/', '/chain']) {
      await page.goto(`${shopOrigin}${path}`);
      expect(await accessibilityFaults(page)).toEqual([]);
    }
    expect(faults).toEqual([]);
    await page.goto(`${shopOrigin}/nowhere`);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.context().close();
    await visit.mine(2);
  });

  test('no page is wider than a phone', async () => {
    const { page, placed } = await order({ viewport: phone });
    await visit.pay(placed);
    await page.getByRole('heading', { name: 'Payment seen' }).waitFor();
    for (const path of [placed.path, '/', '/chain']) {
      await page.goto(`${visit.sandbox.shopOrigin}${path}`);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    }
    await page.context().close();
    await visit.mine(2);
  });
});

test('a missing browser is said', () => {
  if (hasBrowser) return;
  process.stderr.write('test/browser: skipped, for there is no Chromium: set PAYGATE_CHROMIUM\n');
});
