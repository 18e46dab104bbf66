// The customer's page in every state, and the pages of links, with and without script, by width,
// scheme and language, in a real Chromium. Each page meets each value of each setting. It is checked
// for overflow, layout shift, violations of the content policy, foreign hosts, its keyboard, and by
// axe-core. No check depends on the words.

import type { Browser, BrowserContextOptions, Page, Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import {
  accessibilityFaults,
  openPage,
  sharedBrowser,
  shiftsOf,
  type Watched,
} from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { type NamedPage, type OrderStates, openOrderStates } from '../support/order-states.ts';
import {
  faintOnPaper,
  keyboardFaults,
  languageFaults,
  overflows,
  unprintable,
} from '../support/page-checks.ts';
import { languages, type PageSettings, settings, widths } from '../support/page-settings.ts';

/** What a zoom of 200 % leaves of a window of 640 pixels (WCAG 2.2, 1.4.10). */
const zoomed = { width: 320, height: 480 };

const sizeOf = (width: number) => ({ width, height: 800 });

/** All that a page loads, without and with compression. */
const maxPageBytes = 60 * 1024;
const maxScriptBytes = 4 * 1024;

/** Longer than any other test, because a busy machine takes minutes for this many pages. */
const maxRunMs = 600_000;

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  let scene: OrderStates;
  let pages: readonly NamedPage[];
  const counts = { looks: 0, examined: 0, printed: 0 };

  beforeAll(async () => {
    browser = await sharedBrowser();
    scene = await openOrderStates();
    pages = await scene.pages();
  });
  afterAll(async () => {
    await closeApps();
    await cleanUp();
    const { looks, examined } = counts;
    process.stdout.write(`customer's page: ${looks} looks, ${examined} by axe-core\n`);
  });

  function pageNamed(name: string): NamedPage {
    const found = pages.find((each) => each.name === name);
    if (found === undefined) throw new Error(`there is no page ${name}`);
    return found;
  }

  /** Loads a page as a client that has loaded none yet. */
  async function load(page: Page, { path, status }: NamedPage, language: string): Promise<void> {
    await page.setExtraHTTPHeaders(scene.newClient());
    const url = new URL(path, scene.origin);
    url.searchParams.set('lang', language);
    const response = await page.goto(url.href);
    expect([path, response?.status()]).toEqual([path, status]);
  }

  async function open(isScripted: boolean, options: BrowserContextOptions = {}): Promise<Watched> {
    return openPage(browser, { javaScriptEnabled: isScripted, ...options });
  }

  /** What a page asked for from others, and what it did against its policy. */
  const misdeeds = ({ origins, faults }: Watched, { status }: NamedPage): string[] => [
    ...[...origins].filter((each) => each !== scene.origin),
    ...faults.splice(0).filter((each) => !each.includes(`responded with a status of ${status}`)),
  ];

  /** Axe-core objects to every refresh; without script there is no other way to a newer state. */
  const isRefresh = (finding: string): boolean => finding.startsWith('meta-refresh:');

  async function examine(page: Page, isScripted: boolean): Promise<string[]> {
    counts.examined += 1;
    const findings = await accessibilityFaults(page);
    return [
      ...findings.filter((each) => isScripted || !isRefresh(each)),
      ...(await keyboardFaults(page)),
    ];
  }

  async function print(page: Page, { txids }: NamedPage): Promise<string[]> {
    await page.emulateMedia({ media: 'print' });
    const text = await page.locator('main').innerText();
    const lost = txids.filter((txid) => !text.includes(txid));
    const faults = [...lost, ...(await unprintable(page)), ...(await faintOnPaper(page))];
    await page.emulateMedia({ media: 'screen' });
    return faults;
  }

  /** Every page in turn. */
  async function lookAt({
    language,
    width,
    colorScheme,
    isScripted,
  }: PageSettings): Promise<unknown[]> {
    const watched = await open(isScripted, { colorScheme });
    const { page } = watched;
    const faults: unknown[] = [];
    const others = [...widths.filter((each) => each !== width).map(sizeOf), zoomed];
    for (const shown of pages) {
      await page.setViewportSize(sizeOf(width));
      const go = () => load(page, shown, language);
      // Without a script, nothing moves after the first frame.
      if (!isScripted) await go();
      const shifts = isScripted ? await shiftsOf(page, go) : [];
      const all = [
        ...shifts,
        ...(await overflows(page)),
        ...(await languageFaults(page, language)),
        ...(await examine(page, isScripted)),
        ...misdeeds(watched, shown),
      ];
      if (all.length > 0) faults.push([shown.name, colorScheme, width, ...all]);
      counts.looks += 1;
      const printed = shown.isForm ? [] : await print(page, shown);
      for (const size of others) {
        await page.setViewportSize(size);
        printed.push(...(await overflows(page)).map((each) => `${size.width}: ${each}`));
      }
      const later = [...printed, ...misdeeds(watched, shown)];
      if (later.length > 0) faults.push([shown.name, colorScheme, 'printed or resized', ...later]);
      counts.printed += 1;
    }
    await page.context().close();
    return faults;
  }

  test.each(settings)(
    'every state in $language, $width px, $colorScheme, script $isScripted',
    async (each) => {
      expect(await lookAt(each)).toEqual([]);
    },
    maxRunMs,
  );

  const damage = `<table width="3000"><tr><td>wide</td></tr></table><p style="margin: 0">styled</p>
    <img src="https://elsewhere.example/pixel.png"><input></main>`;

  test.each([true, false])('the checks see a damaged page, script %s', async (isScripted) => {
    const watched = await open(isScripted);
    const { page, faults } = watched;
    await page.route('**/o/*', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('</main>', damage);
      await route.fulfill({ response, body });
    });
    await load(page, pageNamed('paid'), 'de');
    expect(await overflows(page)).toContain('the page is 3384 px wide');
    expect(await languageFaults(page, 'en')).toEqual(['lang de, dir ltr']);
    expect(await unprintable(page)).toContain('<input>');
    const findings = String(await accessibilityFaults(page));
    for (const rule of ['image-alt', 'label']) expect(findings).toContain(`${rule}: <`);
    for (const rule of ['style-src', 'img-src']) expect(String(faults)).toContain(rule);
    await page.context().close();
  });

  test.each([
    ['quote lapsed', true],
    ['part paid, quote lapsed', false],
  ] as const)('%s: the keyboard brings a new price, script %s', async (name, isScripted) => {
    const { page } = await open(isScripted);
    await load(page, pageNamed(name), 'ar');
    expect(await page.locator('#pay svg').count()).toBe(0);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('#pay svg').first().waitFor();
    expect(await languageFaults(page, 'ar')).toEqual([]);
    await page.context().close();
  });

  test.each(languages)('the receipt in %s is one sheet of paper', async (language) => {
    const { page } = await open(false);
    for (const name of ['paid', 'paid late', 'receipt, paid']) {
      await load(page, pageNamed(name), language);
      const sheets = (await page.pdf({ format: 'A4' }))
        .toString('latin1')
        .match(/\/Type \/Page\b/g);
      expect([name, sheets?.length]).toEqual([name, 1]);
    }
    await page.context().close();
  });

  /** The bytes of all that a page loads, and those on their way; a stream of events has no end. */
  async function weigh(shown: NamedPage, language: string) {
    const { page } = await openPage(browser);
    const responses: Response[] = [];
    page.on('response', (response) => void responses.push(response));
    await load(page, shown, language);
    const loaded = responses.filter((each) => each.request().resourceType() !== 'eventsource');
    const weights = await Promise.all(
      loaded.map(async (response) => {
        const { responseBodySize, responseHeadersSize } = await response.request().sizes();
        const isScript = response.request().resourceType() === 'script';
        const bytes = (await response.body()).length;
        return { isScript, bytes, sent: responseBodySize + responseHeadersSize };
      }),
    );
    await page.context().close();
    return weights;
  }

  test('every state is light, in the language with the longest texts', async () => {
    const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0);
    for (const shown of pages) {
      const weights = await weigh(shown, 'ar');
      const script = weights.find(({ isScript }) => isScript);
      expect(script?.sent ?? 0).toBeLessThan(maxScriptBytes);
      expect(sum(weights.map(({ bytes }) => bytes)), shown.name).toBeLessThan(maxPageBytes);
      expect(sum(weights.map(({ sent }) => sent)), shown.name).toBeLessThan(maxPageBytes);
    }
  });

  test('every page was seen and printed in all settings', () => {
    const looks = pages.length * settings.length;
    expect(counts).toEqual({ looks, examined: looks, printed: looks });
  });
});
