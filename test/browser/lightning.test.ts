// The two ways to pay in a real Chromium: one at a time with a script, both without one.

import type { Browser } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { accessibilityFaults, openPage, sharedBrowser } from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { overflows } from '../support/page-checks.ts';
import { giveNode, PlayedNode } from '../support/played-node.ts';
import { openPriced } from '../support/priced.ts';
import { openScanner } from '../support/qr.ts';
import { createTestWorld } from '../support/world.ts';

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  async function open(javaScriptEnabled: boolean) {
    const world = createTestWorld();
    const node = new PlayedNode(() => world.now());
    const app = await openPriced({ world, openLightning: () => node });
    await giveNode(app, node);
    const { id } = await app.order({ amount: '12.50', currency: 'EUR' });
    const viewport = { width: 360, height: 800 };
    const { page, faults } = await openPage(browser, { viewport, javaScriptEnabled });
    await page.goto(`http://127.0.0.1:${app.port}/o/${id}`);
    const shown = async () => [
      await page.locator('.chain').isVisible(),
      await page.locator('.lightning').isVisible(),
    ];
    return { node, page, faults, shown };
  }

  test('a script shows one way, the other after a click, and that it is paid', async () => {
    const { node, page, faults, shown } = await open(true);
    expect(await shown()).toEqual([true, false]);
    await page.getByLabel('Lightning', { exact: true }).first().check();
    expect(await shown()).toEqual([false, true]);
    const scan = await openScanner(browser);
    expect(await scan(page.locator('.lightning .qr'))).toBe('LIGHTNING:LNBCRT1');
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await overflows(page)).toEqual([]);
    node.pay(1);
    await page.locator('[data-status="paid"]').waitFor();
    expect(await page.locator('.ways').isVisible()).toBe(false);
    expect(faults).toEqual([]);
  });

  test('without a script, both stand one under the other', async () => {
    const { page, shown } = await open(false);
    expect(await shown()).toEqual([true, true]);
    expect(await page.locator('.ways').isVisible()).toBe(false);
  });
});
