// `npm run screenshots`: makes docs/img/*.png anew, in Chromium (PAYGATE_CHROMIUM, or Debian's), of
// a sandbox that this starts on its usual ports, in which a few orders are placed and paid: the
// dashboard, each state of the customer's page (checkout-*.png), the pages of links and tills
// (link-*.png, till*.png).

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { decisionToken } from '../src/notify/decision-link.ts';
import { chromiumPath } from '../test/support/chromium.ts';
import { startPhoenixd } from '../test/support/lightning-nodes.ts';

const folder = 'docs/img';
const mostBytes = 150_000;
const viewport = { width: 1200, height: 800 };
/** The customer's page is made for it. */
const phone = { width: 390, height: 640 };
type Links = Awaited<ReturnType<typeof readLinks>>;
type Created = Readonly<Record<'id' | 'page_url' | 'url', string>>;
/** Of a customer, on the sandbox's network. */
const customerAddress = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';

if (chromiumPath === undefined) throw new Error('name a Chromium with PAYGATE_CHROMIUM');

const sandbox = spawn('./paygate', ['sandbox'], { stdio: ['ignore', 'pipe', 'inherit'] });
const over = once(sandbox, 'close');
try {
  const links = await readLinks();
  const browser = await chromium.launch({ executablePath: chromiumPath });
  try {
    const context = await browser.newContext({ viewport, colorScheme: 'light' });
    const owner = await context.newPage();
    await shoot(owner, links);
    await shootLinks(browser, owner, links);
    await shootPeople(owner, links);
    await shootLightning(browser, owner, links);
    await shootRefund(browser, owner, links);
    // It sets the clock forward, which ends the session of the owner.
    await shootCheckout(browser, links);
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
    const [, file] = /PAYGATE_DB=(\S+)/.exec(printed) ?? [];
    if (shop && chain && dashboard && api && key && file)
      return { shop, chain, dashboard, api, key, file };
  }
  throw new Error('the sandbox has ended');
}

async function shoot(page: Page, { shop, chain, dashboard }: Links) {
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
 * @param heading of the page then
 * @returns its page
 */
async function order(page: Page, shop: string, thing: string, button: string, heading: string) {
  await page.goto(shop);
  await page.getByLabel(thing).fill('3');
  await page.getByRole('button', { name: 'Order' }).click();
  await page.getByRole('button', { name: button }).click();
  await page.getByRole('heading', { name: heading }).waitFor();
  return page.url();
}

async function save(page: Page, name: string, url: string) {
  await page.goto(url);
  await keep(page, name);
}

/** What is shown now; on a phone the whole page. */
async function keep(shown: Page | Locator, name: string) {
  const fullPage = 'viewportSize' in shown && shown.viewportSize()?.width === phone.width;
  const path = `${folder}/${name}.png`;
  await shown.screenshot({ path, animations: 'disabled', fullPage } as object);
  const { size } = statSync(path);
  if (size > mostBytes) throw new Error(`${path} has ${size} bytes, more than ${mostBytes}`);
  console.log(`${path}  ${size} bytes`);
}

async function shootCheckout(browser: Browser, links: Links) {
  const light = await browser.newContext({ viewport: phone, colorScheme: 'light' });
  const dark = await browser.newContext({ viewport: phone, colorScheme: 'dark' });
  const [shop, page, night] = [await light.newPage(), await light.newPage(), await dark.newPage()];
  const shoot = (state: string, url: string) => save(page, `checkout-${state}`, url);
  const press = (name: string) => shop.getByRole('button', { name }).click();

  const paid = await orderPoster(shop, links.shop);
  await shoot('open', paid);
  await save(night, 'checkout-open-ar', `${paid}?lang=ar`);
  await press('Too little');
  await says(page, paid, 'arrived. Pay the missing');
  await shoot('part-paid', paid);
  await page.getByText('I have paid').click();
  await page.getByRole('button', { name: 'Look for my payment' }).click();
  await page.getByText('is in 0 of').waitFor();
  await keep(page, 'checkout-claim');
  await press('Pay exactly');
  await says(page, paid, 'Your payment arrived');
  await shoot('processing', paid);
  await press('Mine 6 blocks');
  await says(page, paid, 'this page is your receipt');
  await shoot('paid', paid);
  await page.locator('.payment a').first().click();
  await shoot('receipt', page.url());

  const fallen = await orderPoster(shop, links.shop);
  await press('Pay exactly');
  await says(page, fallen, 'Your payment arrived');
  await press('Double-spend');
  await says(page, fallen, 'Your payment fell away');
  await shoot('fallen', fallen);

  const canceled = await post(links, '/orders', { amount: '12.50', currency: 'EUR' });
  await post(links, `/orders/${canceled.id}/cancel`, {});
  await shoot('canceled', canceled.page_url);

  // The end of the next order is the end of the price of this one, too.
  const lapsed = await post(links, '/orders', { amount: '12.50', currency: 'EUR', expires_in: 0 });
  const expired = await orderPoster(shop, links.shop);
  await press('Let the order expire');
  await says(page, expired, 'Do not pay any more');
  await shoot('expired', expired);
  await shoot('lapsed', lapsed.page_url);
  await untilExpired(links, expired);
  await press('Pay exactly');
  await says(page, expired, 'payment came late');
  await shoot('late', expired);
}

/** A donation page, a poster, and a till with its sale. */
async function shootLinks(browser: Browser, owner: Page, links: Links) {
  const context = await browser.newContext({ viewport: phone, colorScheme: 'light' });
  const page = await context.newPage();
  const tips = await post(links, '/links', {
    ...{ title: 'Seeds for the garden', description: 'Every euro buys seeds.' },
    ...{ currency: 'EUR', min: '1', suggested: ['5', '10', '25'], note: 'optional' },
  });
  await save(page, 'link-donation', tips.url);
  const dashboard = `${new URL(links.dashboard).origin}/dashboard`;
  await owner.goto(`${dashboard}/links/1/print`);
  await keep(owner.locator('.poster'), 'poster');
  await owner.goto(`${dashboard}/tills/new`);
  await owner.getByRole('button', { name: 'Show the code' }).click();
  await page.goto((await owner.getByText('/till/pair/').textContent()) ?? '');
  await page.getByRole('button', { name: 'Use this device as' }).click();
  await save(page, 'till', page.url());
  await page.getByLabel('Amount in').fill('4.20');
  await page.getByRole('button', { name: 'Charge' }).click();
  await page.getByText('Waiting for payment').waitFor();
  await save(page, 'till-sale', page.url());
}

/** The people who sign in, the ways in which money comes, and what a link of a mail asks. */
async function shootPeople(owner: Page, { shop, dashboard, file }: Links) {
  const { origin } = new URL(dashboard);
  await owner.goto(`${origin}/dashboard/settings/people`);
  await owner.locator('[name="name"]').fill('Anna');
  await owner.getByRole('button', { name: 'Add the viewer' }).click();
  await save(owner, 'people', `${origin}/dashboard/settings/people`);
  await save(owner, 'money-ways', `${origin}/dashboard/stores/new`);
  await owner.setViewportSize(phone);
  await save(owner, 'rehearsal', `${origin}/dashboard/stores/1/rehearsal?lang=en`);
  await owner.setViewportSize(viewport);

  await order(owner, shop, 'Poster', 'Too little', 'Open, short');
  const records = new Database(file, { readonly: true });
  const passwordHash = records.prepare('SELECT password_hash FROM admin').pluck().get() as string;
  const short = records
    .prepare('SELECT public_id AS "order", version FROM orders ORDER BY id DESC')
    .get() as Parameters<typeof decisionToken>[1];
  records.close();
  const operator = () => ({ passwordHash }) as never;
  const token = decisionToken({ admin: { operator } as never }, short, Date.now());
  await save(owner, 'mail-decision', `${origin}/dashboard/decide?token=${token}`);
}

/** An order that can be paid by Lightning, too. */
async function shootLightning(browser: Browser, owner: Page, links: Links) {
  const node = await startPhoenixd();
  const wallet = `${new URL(links.dashboard).origin}/dashboard/stores/1/wallet`;
  await owner.goto(wallet);
  await owner.getByText('Receive by your own node').click();
  await owner.getByLabel('Kind of node').selectOption('phoenixd');
  await owner.locator('[name="node-url"]').fill(node.url);
  await owner.locator('[name="node-credential"]').fill(node.credential);
  await owner.getByRole('button', { name: 'Check and save' }).click();
  await owner.getByText('Public key').waitFor();
  const { page_url } = await post(links, '/orders', { amount: '12.50', currency: 'EUR' });
  const context = await browser.newContext({ viewport: phone, colorScheme: 'light' });
  const page = await context.newPage();
  await page.goto(page_url);
  await page.getByLabel('Lightning', { exact: true }).first().check();
  await keep(page, 'checkout-lightning');
  await owner.getByRole('button', { name: 'Remove the node' }).click();
  await owner.getByText('Receive by your own node').waitFor();
  await node.stop();
}

/** The customer gives an address for what was too much. */
async function shootRefund(browser: Browser, owner: Page, links: Links) {
  const context = await browser.newContext({ viewport: phone, colorScheme: 'light' });
  const [shop, page] = [await context.newPage(), await context.newPage()];
  const paid = await orderPoster(shop, links.shop);
  await shop.getByRole('button', { name: 'Too much' }).click();
  await says(page, paid, 'too much');
  await shop.getByRole('button', { name: 'Mine 6 blocks' }).click();
  await says(page, paid, 'this page is your receipt');
  const { origin, pathname } = new URL(paid);
  await owner.goto(`${origin}/dashboard/orders/${pathname.split('/').at(-1)}/refund`);
  await owner.getByRole('button', { name: 'Prepare the refund' }).click();
  await owner.getByText('asked on their page').waitFor();
  await save(page, 'checkout-refund-asked', paid);
  await page.getByLabel('Your bitcoin address').fill(customerAddress);
  await page.getByRole('button', { name: 'Send the address' }).click();
  await page.getByText('The shop has your address').waitFor();
  await keep(page, 'checkout-refund');
}

/** Orders a thing in the demo shop, whose page stays open. @returns the page for the customer */
async function orderPoster(page: Page, shop: string): Promise<string> {
  await page.goto(shop);
  await page.getByLabel('Poster').fill('1');
  await page.getByRole('button', { name: 'Order' }).click();
  const link = await page.getByRole('link', { name: 'Pay with Bitcoin' }).getAttribute('href');
  if (link === null) throw new Error('the shop shows no page for the customer');
  return link;
}

async function says(page: Page, url: string, text: string) {
  await page.goto(url);
  await page.getByText(text).first().waitFor({ timeout: 90_000 });
}

/** Until the servers were asked after the end: what comes before that counts as in time. */
async function untilExpired({ api, key }: Links, pageUrl: string) {
  const headers = { Authorization: `Bearer ${key}` };
  for (;;) {
    const response = await fetch(`${api}/api/v3/orders/${pageUrl.split('/').at(-1)}`, { headers });
    const { status } = (await response.json()) as { status: string };
    if (status === 'expired') return;
    await sleep(500);
  }
}

async function post({ api, key }: Links, path: string, body: object): Promise<Created> {
  const response = await fetch(`${api}/api/v3${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Created;
}
