// `npm run screenshots`: makes docs/img/*.png anew, in Chromium (PAYGATE_CHROMIUM, or Debian's), of a sandbox
// that this starts on its usual ports, in which a few orders are placed and paid first.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { chromiumPath } from '../test/support/chromium.ts';
import { shootCheckout, shootLinks } from './checkout-screenshots.mjs';

const folder = 'docs/img';
const mostBytes = 150_000;
const viewport = { width: 1200, height: 800 };

if (chromiumPath === undefined) {
  console.error('screenshots need a Chromium: name one with PAYGATE_CHROMIUM');
  process.exit(1);
}

const sandbox = spawn('./paygate', ['sandbox'], { stdio: ['ignore', 'pipe', 'inherit'] });
const over = once(sandbox, 'close');
try {
  const links = await readLinks();
  const browser = await chromium.launch({ executablePath: chromiumPath });
  try {
    const context = await browser.newContext({ viewport, colorScheme: 'light' });
    await shoot(await context.newPage(), links);
    await shootCheckout(browser, links, saveWhole);
    await shootLinks(browser, links, saveWhole);
  } finally {
    await browser.close();
  }
} finally {
  sandbox.kill('SIGTERM');
  await over;
}

/** What the sandbox prints: where the shop is, and links that sign in to the dashboard. */
async function readLinks() {
  let printed = '';
  for await (const chunk of sandbox.stdout.setEncoding('utf8')) {
    printed += chunk;
    const [shop, chain, dashboard] = ['Shop', 'Chain', 'Dashboard'].map(
      (name) => new RegExp(`${name} +(http\\S+)\n`).exec(printed)?.[1],
    );
    const [, api] = /API=(\S+)/.exec(printed) ?? [];
    const [, key] = /KEY=(\S+)/.exec(printed) ?? [];
    if (shop && chain && dashboard && api && key) return { shop, chain, dashboard, api, key };
  }
  throw new Error('the sandbox has ended');
}

/**
 * @param {import('playwright-core').Page} page
 * @param {{ shop: string, chain: string, dashboard: string }} links
 */
async function shoot(page, { shop, chain, dashboard }) {
  const { origin } = new URL(dashboard);
  await page.goto(dashboard);
  await page.goto(`${origin}/dashboard/stores`);
  await page.getByRole('link', { name: 'Demo shop' }).click();
  const pages = page.getByRole('navigation', { name: 'Pages of the store' });
  await pages.getByRole('link', { name: 'Callbacks' }).click();
  await page.getByRole('button', { name: 'Send test callback' }).click();
  await page.getByText('the callback is delivered').waitFor();

  const paid = await order(page, shop, 'Poster', 'Pay exactly', 'Processing');
  await page.getByRole('button', { name: 'Mine 6 blocks' }).click();
  await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor();
  await order(page, shop, 'Espresso', 'Pay exactly', 'Processing');
  await page.getByRole('button', { name: 'Mine 1 block' }).click();
  await page.getByText('callback status=1').waitFor();
  await order(page, shop, 'Postcard', 'Too little', 'Open, short');

  await save(page, 'chain', chain);
  await save(page, 'order', paid);
  await save(page, 'overview', `${origin}/dashboard`);
  await save(page, 'payments', `${origin}/dashboard/payments`);
  await save(page, 'payment', `${origin}/dashboard/payments/1`);
  await save(page, 'stores', `${origin}/dashboard/stores`);
}

/**
 * Orders three of a thing and plays the customer.
 * @param {import('playwright-core').Page} page
 * @param {string} shop
 * @param {string} thing
 * @param {string} button
 * @param {string} heading what the page says then
 * @returns {Promise<string>} its page
 */
async function order(page, shop, thing, button, heading) {
  await page.goto(shop);
  await page.getByLabel(thing).fill('3');
  await page.getByRole('button', { name: 'Order' }).click();
  await page.getByRole('button', { name: button }).click();
  await page.getByRole('heading', { name: heading }).waitFor();
  return page.url();
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} name
 * @param {string} url
 */
async function saveWhole(page, name, url) {
  await save(page, name, url, true);
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} name
 * @param {string} url
 */
async function save(page, name, url, fullPage = false) {
  await page.goto(url);
  const path = `${folder}/${name}.png`;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path, animations: 'disabled', fullPage });
  const { size } = statSync(path);
  if (size > mostBytes) throw new Error(`${path} has ${size} bytes, more than ${mostBytes}`);
  console.log(`${path}  ${size} bytes`);
}
