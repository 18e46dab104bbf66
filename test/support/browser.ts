// A real Chromium for tests, which is never downloaded: the one that PAYGATE_CHROMIUM names, or Debian's
// where it is installed.

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const usualPath = '/usr/bin/chromium';

/** Undefined where there is none. One that was named must be there: its launch fails otherwise. */
export const chromiumPath: string | undefined =
  process.env.PAYGATE_CHROMIUM || (existsSync(usualPath) ? usualPath : undefined);

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

export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
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
