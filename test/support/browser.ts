// A page in a real Chromium, and what is seen of it beside what it shows: whom it asked, what its policy
// refused, what jumped while it was loaded, and what axe-core finds.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { chromiumPath } from './chromium.ts';

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath ?? '' });

/** What a page did that it must not do. */
export interface Watched {
  readonly page: Page;
  /** Origins that were asked for anything. */
  readonly origins: Set<string>;
  /** Violations of the policy, errors of scripts, failed requests. */
  readonly faults: string[];
}

/** Before any script of the page: what moved without a press of a key or button, and where to. */
const watchShifts = `
  globalThis.shifts = [];
  const placeOf = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ');
  const note = (list) => {
    for (const { hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      globalThis.shifts.push(...sources.map(({ node, previousRect, currentRect }) =>
        (node?.nodeName + ' from ' + placeOf(previousRect) + ' to ' + placeOf(currentRect))));
    }
  };
  new PerformanceObserver(note).observe({ type: 'layout-shift', buffered: true });
`;

export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.addInitScript(watchShifts);
  const origins = new Set<string>();
  const faults: string[] = [];
  page.on('request', (request) => void origins.add(new URL(request.url()).origin));
  page.on('pageerror', (error) => void faults.push(`error: ${error.message}`));
  // The browser writes violations of the policy there, too.
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`);
  });
  return { page, origins, faults };
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Violations that axe-core finds, each with what it concerns. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = (await page.evaluate('axe.run()')) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Whatever has jumped since the page began, as the browser sees it. */
export const layoutShifts = (page: Page): Promise<string[]> =>
  page.evaluate(`new Promise((resolve) => {
    // What is drawn in the first frame is told of by the second, after which a task may see it.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      setTimeout(() => resolve(globalThis.shifts));
    }));
  })`);

/**
 * What jumps whenever a page is loaded. On a busy machine a browser may draw the half of a page that it has
 * read so far, once in a hundred times; that is not the page's doing.
 */
export async function shiftsOf(page: Page, load: () => Promise<unknown>): Promise<string[]> {
  let shifts: string[] = [];
  for (let loads = 0; loads < 3; loads += 1) {
    await load();
    shifts = await layoutShifts(page);
    if (shifts.length === 0) break;
  }
  return shifts;
}

/** By how many pixels the page is wider than the window. */
export const juttingOut = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth');
