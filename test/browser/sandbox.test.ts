// The sandbox in a real browser: it updates without a reload and works without JavaScript. It loads
// nothing foreign and nothing against the policy. axe-core finds no fault, in light and dark, on a
// phone too.

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  accessibilityFaults,
  juttingOut,
  openPage,
  sharedBrowser,
  shiftsOf,
} from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { overflows } from '../support/page-checks.ts';
import { openScanner, readPaymentUri } from '../support/qr.ts';
import { openSandbox, type Visit } from '../support/sandbox.ts';

describe.skipIf(chromiumPath === undefined)('the sandbox in a browser', () => {
  let browser: Browser;
  let visit: Visit;

  beforeAll(async () => {
    browser = await sharedBrowser();
    visit = await openSandbox();
  });
  afterAll(async () => {
    await cleanUp();
  });

  /** A page with an order, placed as a customer does. */
  async function order(options?: BrowserContextOptions) {
    const watched = await openPage(browser, options);
    const { page } = watched;
    await page.goto(visit.sandbox.shopOrigin);
    await page.getByLabel('Poster').fill('2');
    await page.getByRole('button', { name: 'Order' }).click();
    await page.getByRole('heading', { name: 'Open', exact: true }).waitFor();
    const path = new URL(page.url()).pathname;
    const chain = await page.getByRole('link', { name: 'Chain page' }).getAttribute('href');
    const address = new URL(chain ?? '').searchParams.get('address') ?? '';
    return { ...watched, placed: { path, address, totalSat: 54_000 } };
  }

  /** Again where the page was just then loaded again by itself, which takes the press away. */
  async function press(page: Page, button: string, heading: string): Promise<void> {
    const shown = page.getByRole('heading', { name: heading, exact: true });
    while (!(await shown.isVisible())) {
      await page.getByRole('button', { name: button, exact: true }).click();
      await shown.waitFor({ timeout: 5_000 }).catch(() => {});
    }
  }

  test('the page of an order goes from 0 to 2 without a reload', async () => {
    const { page, origins, faults, placed } = await order();
    const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor();
    const message = (text: string) => page.getByText(text).waitFor();
    await page.evaluate('window.isSame = true');
    await visit.pay(placed);
    await heading('Processing');
    await message('callback status=0');
    await visit.mine();
    await message('callback status=1');
    await visit.mine();
    await heading('Paid');
    await message('callback status=2');
    expect(await page.evaluate('window.isSame')).toBe(true);
    expect([...origins]).toEqual([visit.sandbox.shopOrigin]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('the dashboard follows the shop without a reload, and shows an alarm after a reorganisation', async () => {
    const own = await openSandbox();
    const { links, apiOrigin, shopOrigin } = own.sandbox;
    const { page, origins, faults } = await openPage(browser);
    const heard = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.goto(links.dashboard);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await heard;
    await page.evaluate('window.isSame = true');

    const shop = await page.context().newPage();
    const placed = await own.order();
    await shop.goto(shopOrigin + placed.path);
    await shop.evaluate('window.isSame = true');
    const both = (heading: string, cell: string) =>
      Promise.all([
        shop.getByRole('heading', { name: heading, exact: true }).waitFor(),
        page.getByRole('cell', { name: cell, exact: true }).waitFor(),
      ]);
    await own.pay(placed);
    await both('Processing', 'Seen');
    await own.mine();
    await both('Processing', 'Confirming');
    await own.mine();
    await both('Paid', 'Confirmed');
    expect(await page.getByText(/taken back|Reversed/).count()).toBe(0);

    const chain = await page.context().newPage();
    await chain.goto(`${apiOrigin}/dashboard/chain`);
    await chain.getByLabel('Blocks to disconnect').fill('2');
    await chain.getByLabel('Payments in them').selectOption('are double-spent');
    const done = chain.waitForResponse((response) => response.request().method() === 'POST');
    await chain.getByRole('button', { name: 'Reorganise' }).click();
    await done;
    await own.outlastAbsence();
    await page.getByText('1 payment was reversed').waitFor();
    await both('Open', 'Gone Reversed after status 1 or 2');
    for (const each of [page, shop]) expect(await each.evaluate('window.isSame')).toBe(true);

    await page.getByRole('link', { name: 'Chain' }).click();
    await page.getByRole('heading', { name: 'Chain', exact: true }).waitFor();
    expect([...origins]).toEqual([apiOrigin]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('the Chain page follows the chain without a reload, and retains typed text', async () => {
    const own = await openSandbox();
    const { links, chain } = own.sandbox;
    const { page, origins, faults } = await openPage(browser);
    const heard = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.goto(links.chain);
    await page.getByRole('heading', { name: 'Mempool: 0' }).waitFor();
    await heard;
    await page.evaluate('window.isSame = true');
    await own.pay(await own.order());
    await page.getByRole('heading', { name: 'Mempool: 1' }).waitFor();
    await own.mine();
    await page.getByRole('heading', { name: 'Mempool: 0' }).waitFor();
    await page.getByRole('cell', { name: String(chain.tipHeight), exact: true }).waitFor();

    const depth = page.getByLabel('Blocks to disconnect');
    // Typed while the page is on its way anew.
    const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(page.url(), async (route) => {
      asked.resolve();
      await released.promise;
      await route.continue();
    });
    const anew = page.waitForResponse(page.url());
    await own.mine();
    await asked.promise;
    await depth.fill('3');
    // So that it has no focus.
    await page.getByRole('heading', { name: 'Newest blocks' }).click();
    released.resolve();
    await (await anew).finished();
    await page.unroute(page.url());
    await page.evaluate('fetch(location.href).then((response) => response.text())');
    expect(await depth.inputValue()).toBe('3');
    await own.pay(await own.order());
    await own.settle();
    await own.mine();
    expect(await depth.inputValue()).toBe('3');
    await depth.fill('1');
    await page.getByRole('heading', { name: 'Newest blocks' }).click();
    await own.mine();
    await page.getByRole('cell', { name: String(chain.tipHeight), exact: true }).waitFor();
    expect(await page.evaluate('window.isSame')).toBe(true);

    await page.getByRole('button', { name: 'Stop for 10 seconds' }).click();
    await page.getByText('It is stopped until').waitFor();
    await own.world.advance(11_000);
    await page.getByText('It is running').waitFor();
    expect([...origins]).toEqual([own.sandbox.apiOrigin]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('a payment that is double-spent on the Chain page is gone from the page of its order', async () => {
    const { page, faults } = await order();
    await page.getByRole('button', { name: 'Pay exactly' }).click();
    await page.getByRole('heading', { name: 'Processing' }).waitFor();
    const chain = await page.context().newPage();
    await chain.goto(visit.sandbox.links.chain);
    await chain.getByRole('button', { name: 'Double-spend' }).click();
    await chain.getByRole('heading', { name: 'Mempool: 1' }).waitFor();
    await visit.outlastAbsence();
    await page.getByText('webhook order.reversed').waitFor();
    await page.getByRole('heading', { name: 'Open', exact: true }).waitFor();
    expect(faults).toEqual([]);
    await page.context().close();
    await visit.mine();
  });

  test('everything works without JavaScript', async () => {
    const { page, origins, placed } = await order({ javaScriptEnabled: false });
    await press(page, 'Pay exactly', 'Processing');
    await press(page, 'Mine 6 blocks', 'Paid');
    expect([...origins]).toEqual([visit.sandbox.shopOrigin]);
    await page.goto(visit.sandbox.links.chain);
    await page.getByRole('textbox', { name: 'Address' }).fill(placed.address);
    await page.getByLabel('Amount').fill('2000');
    await page.getByRole('button', { name: 'Twice' }).click();
    await page.getByRole('heading', { name: 'Mempool: 2' }).waitFor();
    await page.getByRole('button', { name: 'Replace by fee' }).first().click();
    await page.getByRole('heading', { name: 'Mempool: 2' }).waitFor();
    await page.getByRole('button', { name: '1 block', exact: true }).click();
    await page.getByRole('heading', { name: 'Mempool: 0' }).waitFor();
    expect([...origins].sort()).toEqual([visit.sandbox.shopOrigin, visit.sandbox.apiOrigin].sort());
    await page.context().close();
  });

  test('a customer with a phone and no JavaScript pays what the page of the order shows', async () => {
    const { page, origins, faults, placed } = await order({
      javaScriptEnabled: false,
      viewport: phone,
    });
    const { shopOrigin, apiOrigin, chain } = visit.sandbox;
    const scan = await openScanner(browser);
    const pill = (colour: string) => page.locator(`#status .pill.${colour}`).first();
    await page.getByRole('link', { name: 'Pay with Bitcoin' }).click();
    await pill('waiting').waitFor();
    expect(new URL(page.url()).origin).toBe(apiOrigin);
    expect(await overflows(page)).toEqual([]);
    const code = await scan(page.locator('#pay svg').first());
    const { address, amountSat = 0 } = readPaymentUri(code ?? '');
    expect(address).toBe(placed.address);
    const txid = chain.pay([{ address, valueSat: amountSat }]);
    await visit.settle();
    await page.reload();
    await pill('waiting').waitFor();
    expect(await page.locator('#pay svg').count()).toBe(0);
    await visit.mine(2);
    await visit.settle();
    await page.reload();
    await pill('good').waitFor();
    expect(await page.locator('#facts').innerText()).toContain(txid);
    expect(await overflows(page)).toEqual([]);
    await page.locator('#facts .button').click();
    await page.getByRole('heading', { name: 'Paid', exact: true }).waitFor();
    expect(page.url()).toBe(shopOrigin + placed.path);
    expect([...origins].sort()).toEqual([shopOrigin, apiOrigin].sort());
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('two customers pay a link that was made in the dashboard, each to an own address', async () => {
    const own = await openSandbox();
    const { links, apiOrigin, chain } = own.sandbox;
    const { page } = await openPage(browser);
    await page.goto(links.dashboard);
    await page.goto(`${apiOrigin}/dashboard/links/new`);
    await page.getByLabel('Title').fill('Poster');
    await page.locator('[name=amount]').fill('12.50');
    await page.locator('[name=currency]').selectOption('EUR');
    await page.locator('form button[type=submit]').last().click();
    const url = (await page.locator('a[href*="/l/lnk_"]').first().getAttribute('href')) ?? '';
    const scan = await openScanner(browser);
    const paid: string[] = [];
    for (const javaScriptEnabled of [true, false]) {
      const customer = await openPage(browser, { javaScriptEnabled, viewport: phone });
      await customer.page.goto(url);
      await customer.page.getByRole('button', { name: 'Pay with Bitcoin' }).click();
      await customer.page.locator('#pay svg').first().waitFor();
      const code = await scan(customer.page.locator('#pay svg').first());
      const { address, amountSat = 0 } = readPaymentUri(code ?? '');
      chain.pay([{ address, valueSat: amountSat }]);
      await own.mine(2);
      await own.settle();
      await customer.page.reload();
      await customer.page.locator('#status .pill.good').first().waitFor();
      expect(customer.faults).toEqual([]);
      paid.push(address);
      await customer.page.context().close();
    }
    expect(new Set(paid).size).toBe(2);
    await page.goto(`${apiOrigin}/dashboard/orders`);
    expect(await page.locator('.pill.good').count()).toBe(2);
    await page.context().close();
  });

  const phone = { width: 360, height: 640 };
  const desk = { width: 1280, height: 800 };

  test.each([
    ['light', phone],
    ['dark', desk],
  ] as const)('no page has a fault in %s, %o', async (colorScheme, viewport) => {
    const { page, faults, placed } = await order({ colorScheme, viewport });
    const { shopOrigin, apiOrigin, links } = visit.sandbox;
    await visit.pay(placed);
    await page.getByRole('heading', { name: 'Processing' }).waitFor();
    await page.goto(links.chain);
    for (const url of [shopOrigin + placed.path, shopOrigin, `${apiOrigin}/dashboard/chain`]) {
      const shifts = await shiftsOf(page, () => page.goto(url));
      expect([url, shifts, await juttingOut(page)]).toEqual([url, [], 0]);
      expect([url, await accessibilityFaults(page)]).toEqual([url, []]);
    }
    expect(faults).toEqual([]);
    await page.goto(`${shopOrigin}/nowhere`);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.context().close();
    await visit.mine(2);
  });
});
