// The pages for programmers in a real Chromium, light and dark, at the widths of phones, tablets
// and screens. Nothing scrolls sideways, and no word is broken in its middle.

import type { Browser, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeApps, openApp, untilReady } from '../support/app.ts';
import {
  accessibilityFaults,
  brokenCode,
  crampedAt,
  openPage,
  sharedBrowser,
  shiftsOf,
  showIn,
  widths,
} from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';

/** Every answer and error is read, so all that folds is open. */
const unfold = (page: Page): Promise<void> =>
  page.evaluate(`document.querySelectorAll('details').forEach((each) => { each.open = true })`);

/**
 * Words that stand in two rows, though the page is wide enough for one. A text may break at white
 * space and punctuation, and anywhere if no row is wide enough for it.
 */
const brokenWords = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const texts = document.createTreeWalker(document.querySelector('.docs'), NodeFilter.SHOW_TEXT);
    const rowsOf = (node, start, end) => {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, end);
      return [...range.getClientRects()].filter(({ width }) => width > 0);
    };
    const widthOf = (rows) => rows.reduce((sum, { width }) => sum + width, 0);
    const found = [];
    while (texts.nextNode()) {
      const { currentNode: node } = texts;
      if (!node.parentElement.checkVisibility()) continue;
      const { clientWidth } = node.parentElement.closest('pre, main, nav');
      const widest = node.parentElement.closest('pre') === null ? clientWidth : clientWidth - 26;
      for (const { 0: text, index: start } of node.data.matchAll(/\\S+/g)) {
        if (widthOf(rowsOf(node, start, start + text.length)) > widest) continue;
        for (const { 0: word, index } of text.matchAll(/\\w+/g)) {
          const rows = rowsOf(node, start + index, start + index + word.length);
          if (new Set(rows.map(({ top }) => Math.round(top))).size > 1) found.push(word);
        }
      }
    }
    return found;
  })()`);

const schemes = [
  [360, 'light'],
  [768, 'dark'],
  [1280, 'light'],
] as const;

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);

  describe.each(['/docs', '/docs/quickstart', '/docs/new-address'])('%s', (path) => {
    test('fits every width, light and dark', async () => {
      const app = await openApp();
      await untilReady(app);
      const origin = `http://127.0.0.1:${app.port}`;
      const { page, origins, faults } = await openPage(browser);
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        expect([width, await shiftsOf(page, () => page.goto(origin + path))]).toEqual([width, []]);
      }
      await unfold(page);
      for (const width of widths) {
        expect([width, await crampedAt(page, width)]).toEqual([width, []]);
        expect([width, await brokenWords(page), await brokenCode(page)]).toEqual([width, [], []]);
      }
      for (const [width, colorScheme] of schemes) {
        await page.setViewportSize({ width, height: 800 });
        await showIn(page, colorScheme);
        expect([width, await accessibilityFaults(page)]).toEqual([width, []]);
      }
      expect([...origins]).toEqual([origin]);
      expect(faults).toEqual([]);
      await page.context().close();
    });
  });

  test('the contents stand beside the text on a wide screen, and unfold on a phone', async () => {
    const app = await openApp();
    await untilReady(app);
    const { page } = await openPage(browser, { viewport: { width: 1280, height: 800 } });
    await page.goto(`http://127.0.0.1:${app.port}/docs`);
    const link = page.locator('.contents a[href="#createOrder"]');
    expect(await link.isVisible()).toBe(true);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await link.isVisible()).toBe(false);
    await page.getByText('Contents', { exact: true }).click();
    await link.click();
    expect(new URL(page.url()).hash).toBe('#createOrder');
    expect(await page.locator('#createOrder').isVisible()).toBe(true);
    await page.context().close();
  });
});
