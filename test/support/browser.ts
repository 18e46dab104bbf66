// A real Chromium, where the environment names one (PAYGATE_CHROMIUM). Without it the tests that need it are
// skipped, and the run says how many and why.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { House } from './house.ts';
import type { Visitor } from './visitor.ts';

export const chromiumPath = process.env.PAYGATE_CHROMIUM;

/** Says once for a file what is not run. */
export function sayIfSkipped(file: string, count: number): void {
  if (chromiumPath !== undefined) return;
  process.stderr.write(
    `${file}: ${count} tests skipped, no browser: name Chromium by PAYGATE_CHROMIUM\n`,
  );
}

const quietly = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath ?? '', args: quietly });

export interface Watched {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the browser complained of, and what it asked of others. */
  readonly faults: string[];
  go(path: string): Promise<void>;
}

type ContextOptions = Parameters<Browser['newContext']>[0];

/** A page of paygate, of which every fault is kept. */
export async function openPage(
  browser: Browser,
  house: House,
  options: ContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const own = `http://127.0.0.1:${house.port}`;
  const faults: string[] = [];
  page.on('console', (message) => {
    // That a form was refused is said by the page; the browser says it, too.
    const isStatus = message.text().includes('server responded with a status of');
    if (/error|warning/.test(message.type()) && !isStatus) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${own}/`) && !request.url().startsWith('data:')) {
      faults.push(`asks ${request.url()}`);
    }
  });
  return { page, context, faults, go: async (path) => void (await page.goto(own + path)) };
}

/** Gives the browser the session of somebody who is signed in. */
export async function enterAs({ context }: Watched, house: House, visitor: Visitor): Promise<void> {
  const [name = '', value = ''] = visitor.cookie.split('=');
  await context.addCookies([{ name, value, url: `http://127.0.0.1:${house.port}` }]);
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core finds wrong, in words. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}

/** How far the page is wider than the screen, in pixels. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth');

export const expectNoFaults = ({ faults }: Watched): void => expect(faults).toEqual([]);
