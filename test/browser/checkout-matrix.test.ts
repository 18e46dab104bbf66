// The customer's page in every state, with and without script, by width, scheme and language, in a
// real Chromium. Each combination is loaded once and checked for overflow, layout shift, violations
// of the content policy and foreign hosts. axe-core examines each state, scheme, language and script
// setting at one of the widths, in turns. No check depends on the words of the page.

import type { Browser, BrowserContextOptions, Page, Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import {
  accessibilityFaults,
  launch,
  openPage,
  shiftsOf,
  type Watched,
} from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import {
  type OrderStates,
  openOrderStates,
  type StateOrder,
  states,
} from '../support/order-states.ts';
import { faintOnPaper, keyboardFaults, overflows, unprintable } from '../support/page-checks.ts';

const languages = ['en', 'de', 'ar'] as const;
const schemes = ['light', 'dark'] as const;
const widths = [360, 768, 1280] as const;
/** What a zoom of 200 % leaves of a window of 640 pixels (WCAG 2.2, 1.4.10). */
const zoomed = { width: 320, height: 480 };

/** All that a page loads, without and with compression. */
const maxPageBytes = 60 * 1024;
const maxScriptBytes = 4 * 1024;

const runs = [true, false].flatMap((isScripted) =>
  languages.map((language) => ({ isScripted, language })),
);
type Run = (typeof runs)[number];

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  let scene: OrderStates;
  const counts = { combinations: 0, examined: 0 };

  beforeAll(async () => {
    browser = await launch();
    scene = await openOrderStates();
  });
  afterAll(async () => {
    await browser?.close();
    await closeApps();
    await cleanUp();
    const { combinations, examined } = counts;
    process.stdout.write(
      `customer's page: ${combinations} combinations, ${examined} by axe-core\n`,
    );
  });

  /** Loads the page of an order, as a client that has loaded none yet. */
  async function load(page: Page, { path }: StateOrder, language: string): Promise<void> {
    await page.setExtraHTTPHeaders(scene.newClient());
    await page.goto(`${scene.origin}${path}?lang=${language}`);
  }

  async function open({ isScripted }: Run, options: BrowserContextOptions): Promise<Watched> {
    return openPage(browser, { javaScriptEnabled: isScripted, ...options });
  }

  /** What a page asked for from others, and what it did against its policy. */
  const misdeeds = ({ origins, faults }: Watched): string[] => [
    ...[...origins].filter((each) => each !== scene.origin),
    ...faults.splice(0),
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

  async function print(page: Page, order: StateOrder): Promise<string[]> {
    await page.emulateMedia({ media: 'print' });
    const text = await page.locator('main').innerText();
    const { payments } = await order.json();
    const lost = payments.map(({ txid }) => txid).filter((txid) => !text.includes(txid));
    const faults = [...lost, ...(await unprintable(page)), ...(await faintOnPaper(page))];
    await page.emulateMedia({ media: 'screen' });
    return faults;
  }

  /** Every state in turn; each index has another one of the widths for the slow checks. */
  async function lookAt(run: Run, colorScheme: 'light' | 'dark', from: number): Promise<unknown[]> {
    const { isScripted, language } = run;
    const watched = await open(run, { colorScheme });
    const { page } = watched;
    const faults: unknown[] = [];
    for (const [index, order] of scene.orders.entries()) {
      for (const [place, width] of widths.entries()) {
        await page.setViewportSize({ width, height: 800 });
        const go = () => load(page, order, language);
        const shifts = isScripted ? await shiftsOf(page, go) : [];
        // Without a script, nothing but its rules changes a page that is resized.
        if (!isScripted && place === 0) await go();
        const isExamined = place === (index + from) % widths.length;
        const all = [
          ...shifts,
          ...(await overflows(page)),
          ...(isExamined ? await examine(page, isScripted) : []),
          ...misdeeds(watched),
        ];
        if (all.length > 0) faults.push([order.state, colorScheme, width, ...all]);
        counts.combinations += 1;
      }
      const printed = await print(page, order);
      await page.setViewportSize(zoomed);
      const all = [...printed, ...(await overflows(page)), ...misdeeds(watched)];
      if (all.length > 0) faults.push([order.state, colorScheme, 'printed or zoomed', ...all]);
    }
    await page.context().close();
    return faults;
  }

  test.each(runs)('every state in $language, script $isScripted', async (run) => {
    const found = await Promise.all([lookAt(run, 'light', 0), lookAt(run, 'dark', 1)]);
    expect(found.flat()).toEqual([]);
  });

  /** The bytes of all that a page loads, and those on their way; a stream of events has no end. */
  async function weigh(order: StateOrder, language: string) {
    const { page } = await openPage(browser);
    const responses: Response[] = [];
    page.on('response', (response) => void responses.push(response));
    await load(page, order, language);
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
    for (const order of scene.orders) {
      const weights = await weigh(order, 'ar');
      const script = weights.find(({ isScript }) => isScript);
      expect(script?.sent).toBeLessThan(maxScriptBytes);
      expect(sum(weights.map(({ bytes }) => bytes)), order.state).toBeLessThan(maxPageBytes);
      expect(sum(weights.map(({ sent }) => sent)), order.state).toBeLessThan(maxPageBytes);
    }
  });

  test('every combination was seen, and each one but its width by axe-core and keyboard', () => {
    const settings = states.length * languages.length * schemes.length * 2;
    expect(counts).toEqual({ combinations: settings * widths.length, examined: settings });
  });
});
