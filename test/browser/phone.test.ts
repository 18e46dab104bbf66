// The dashboard on a phone, 360 px wide: how soon a page has what one opens it for, and fields as
// wide as what is typed there.

import type { Browser, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeApps, openApp, type TestApp } from '../support/app.ts';
import { makeOrder } from '../support/app-orders.ts';
import { openPage, sharedBrowser } from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { openPriced } from '../support/priced.ts';
import { signedIn } from '../support/visitor.ts';

describe.skipIf(chromiumPath === undefined)('on a phone', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  /** A page of the dashboard with a session. */
  async function enter(app: TestApp, width = 360) {
    const { page } = await openPage(browser, { viewport: { width, height: 740 } });
    const [name = '', value = ''] = (await signedIn(app)).cookie.split('=');
    const origin = `http://127.0.0.1:${app.port}`;
    await page.context().addCookies([{ name, value, url: origin }]);
    return { page, open: (path: string) => page.goto(`${origin}/dashboard${path}`) };
  }

  const topOf = async (page: Page, selector: string) =>
    Math.round((await page.locator(selector).first().boundingBox())?.y ?? Number.NaN);

  test('a list shows its first row in the upper half, with the filters folded', async () => {
    const app = await openPriced();
    await makeOrder(app, await app.newAddress(), { reference: '1007' });
    const { page, open } = await enter(app);
    await open('/orders');
    expect(await topOf(page, 'tbody tr')).toBeLessThan(370);
    expect(await page.getByLabel('State').isVisible()).toBe(false);
    await page.getByText('Filter', { exact: true }).click();
    await page.getByLabel('State').selectOption('Open');
    await page.waitForURL(/state=open/);
    // What is filtered by is in sight; a search and a page of the list are no filter.
    expect(await page.getByLabel('State').isVisible()).toBe(true);
    await open('/orders?q=1007&before=9&state=');
    expect(await page.getByLabel('State').isVisible()).toBe(false);
    await page.context().close();
  });

  test('wider, no filter is folded', async () => {
    const app = await openApp();
    const { page, open } = await enter(app, 576);
    await open('/orders');
    expect(await page.getByText('Filter', { exact: true }).isVisible()).toBe(false);
    await page.getByLabel('State').selectOption('Open');
    await page.waitForURL(/state=open/);
    await page.context().close();
  });

  test('all sums of the overview fit the first screen', async () => {
    const app = await openApp();
    const { page, open } = await enter(app);
    await open('');
    const box = await page.locator('.cards').boundingBox();
    expect((box?.y ?? 740) + (box?.height ?? 0)).toBeLessThan(740);
    await page.context().close();
  });

  test('each session shows its button without scrolling', async () => {
    const app = await openApp();
    await signedIn(app);
    const { page, open } = await enter(app);
    await open('/settings/account');
    for (const button of await page.getByRole('button', { name: 'Sign out', exact: true }).all()) {
      const box = await button.boundingBox();
      expect((box?.x ?? 360) + (box?.width ?? 0)).toBeLessThan(348);
    }
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === undefined)('on a desk', () => {
  afterEach(closeApps);
  afterEach(cleanUp);

  test('a field is as wide as what is typed there, below its label', async () => {
    const app = await openApp();
    const { page } = await openPage(await sharedBrowser(), {
      viewport: { width: 1280, height: 900 },
    });
    const [name = '', value = ''] = (await signedIn(app)).cookie.split('=');
    const origin = `http://127.0.0.1:${app.port}`;
    await page.context().addCookies([{ name, value, url: origin }]);
    await page.goto(`${origin}/dashboard/stores/1/general`);
    const widthOf = async (field: string) => (await page.locator(field).boundingBox())?.width;
    expect(await widthOf('[name="confirmations"]')).toBe(192);
    expect(await widthOf('[name="currency"]')).toBe(512);
    expect(await widthOf('[name="name"]')).toBe(512);
    const label = await page.getByText('Confirmations until a payment is final').boundingBox();
    const field = await page.locator('[name="confirmations"]').boundingBox();
    expect(field?.x).toBe(label?.x);
    await page.context().close();
  });
});
