// A page in a real Chromium, with observations: requested hosts, violations of the content policy,
// layout shifts during loading, and findings of axe-core.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { chromiumPath } from './chromium.ts';

let launched: Promise<Browser> | undefined;

/**
 * Each window of Chromium loads two more pages for these, which is half of what a page costs.
 * Chromium follows the last list alone, so this one repeats what matters of Playwright's.
 */
const disabledFeatures = [
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'],
  ...['DestroyProfileOnBrowserClose', 'HttpsUpgrades', 'MediaRouter', 'PaintHolding'],
];

/** The browser of all files of a worker, which ends with it. A test closes its contexts. */
export function sharedBrowser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: chromiumPath ?? '',
    args: [`--disable-features=${disabledFeatures}`],
  });
  return launched;
}

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
  // A busy machine may take longer than Playwright's 30 s. The limit of the test ends what hangs.
  page.setDefaultTimeout(110_000);
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

/** Changes the colour scheme of a loaded page, and ends the transitions to the other colours. */
export async function showIn(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.evaluate(`for (const each of document.getAnimations())
    if (each instanceof CSSTransition) each.finish();`);
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Without scripts, a page has promises, but no timers, which axe-core needs. */
const timersByPromises = `if (matchMedia('(scripting: none)').matches) {
  globalThis.setTimeout = (run, _, ...values) => void Promise.resolve().then(() => run(...values));
}`;

/** Violations that axe-core finds, each with what it concerns. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  const isThere = await page.evaluate("typeof axe !== 'undefined'");
  if (!isThere) await page.evaluate(timersByPromises + axe);
  const { violations } = (await page.evaluate(`axe.run({ resultTypes: ['violations'] })`)) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Whatever has jumped since the page began, as the browser sees it. */
export const layoutShifts = (page: Page): Promise<string[]> =>
  page.evaluate(`new Promise((resolve) => {
    // The second frame reports shifts of the first; a task after it can read them.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      setTimeout(() => resolve(globalThis.shifts));
    }));
  })`);

/**
 * Layout shifts that every load of a page has. On a busy machine a browser rarely draws half a page
 * first. The page does not cause that shift.
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

/** The widths of phones, tablets, half windows and screens that pages are looked at in. */
export const widths = [360, 576, 768, 1024, 1280] as const;

/**
 * Elements less than 12 px from an edge of the window, or beyond it, at a width: `h1 at 0`.
 * Contents of scrolled areas do not count.
 */
export async function crampedAt(page: Page, width: number): Promise<string[]> {
  await page.setViewportSize({ width, height: 800 });
  return page.evaluate(`(() => {
    const shown = [...document.querySelectorAll('h1, h2, p, form, nav, table, dl, svg')].filter((each) =>
      each.checkVisibility() && each.closest('.skip, .hidden, [tabindex="0"] *') === null);
    const places = shown.map((each) => [each.nodeName, each.getBoundingClientRect()]);
    const out = places.filter(([, { left, right, width }]) =>
      width > 0 && (left < 12 || right > document.documentElement.clientWidth - 12));
    const wide = document.documentElement.scrollWidth - innerWidth;
    return [
      ...out.map(([name, { left, right }]) => name + ' from ' + Math.round(left) + ' to ' + Math.round(right)),
      ...(wide > 0 ? ['the page is ' + wide + ' px too wide'] : []),
    ];
  })()`);
}

/** Code in tables, such as names of parameters, that wrap into two rows. */
export const brokenCode = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('td code, th code')]
    .filter((each) => each.checkVisibility() && each.getClientRects().length > 1)
    .map(({ textContent }) => textContent)`);

/** Functions of a page: the channels of a colour, its relative luminance, a contrast (WCAG 2.2). */
export const colourFunctions = `
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const channels = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => channels(color).slice(0, 3).map((each) => each / 255)
    .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, index) => sum + each * [0.2126, 0.7152, 0.0722][index], 0);
  const contrastOf = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
`;

/** What a person calls a control. */
const controlName = `
  const nameOf = (each) =>
    each.nodeName + ' ' + (each.textContent || each.name || '').trim().slice(0, 30);
`;

/** The controls that are seen, in the order of the document, named as `outlines` names them. */
export const controlsOf = (page: Page): Promise<string[]> =>
  page.evaluate(`{ ${controlName}
    [...document.querySelectorAll('a[href], button, summary, input, select, textarea')]
      .filter((each) => each.type !== 'hidden' && !each.disabled)
      .filter((each) => each.checkVisibility({ visibilityProperty: true }))
      .map(nameOf)
  }`);

/** Each element that the Tab key reaches, with its focus outline and the colour behind that. */
export async function outlines(page: Page, most: number) {
  const found: { name: string; width: number; contrast: number }[] = [];
  for (let stops = 0; stops < most; stops += 1) {
    await page.keyboard.press('Tab');
    const stop = (await page.evaluate(`(() => {
      ${colourFunctions}
      ${controlName}
      const each = document.activeElement;
      if (each === null || each === document.body) return null;
      const colorOf = (element) => getComputedStyle(element).backgroundColor;
      let behind = each.parentElement;
      while (behind.parentElement !== null && channels(colorOf(behind))[3] < 255)
        behind = behind.parentElement;
      const style = getComputedStyle(each);
      return {
        name: nameOf(each),
        width: style.outlineStyle === 'solid' ? Number.parseFloat(style.outlineWidth) : 0,
        contrast: contrastOf(style.outlineColor, colorOf(behind)),
      };
    })()`)) as (typeof found)[number] | null;
    if (stop === null) break;
    found.push(stop);
  }
  return found;
}
