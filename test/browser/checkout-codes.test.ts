// What the customer's page asks a customer to pay, in a real Chromium: its QR codes, decoded from
// their pixels, its links and its forms are those of the order's JSON, and of nothing else.

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import { closeApps } from '../support/app.ts';
import { openPage, sharedBrowser, showIn } from '../support/browser.ts';
import { priced } from '../support/checkout.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { type OrderStates, openOrderStates, states } from '../support/order-states.ts';
import { openScanner, type ReadUri, readPaymentUri } from '../support/qr.ts';

const phone = { viewport: { width: 360, height: 800 } };

/** Names that a URI, a page or a QR code could get wrong. */
const hostileNames = [
  'Müller & Söhne',
  'Shop #1?amount=21&label=x',
  '100 % "best" \'price\' <b>',
  'a+b=c%20d;e/f',
  '🍕🥤 Pizza',
  'متجر القهوة',
  '株式会社コーヒー豆とパン',
  'A'.repeat(100),
  'ß'.repeat(25),
] as const;

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  let scene: OrderStates;
  let scan: Awaited<ReturnType<typeof openScanner>>;
  /** A page without script. */
  let plain: Page;

  beforeAll(async () => {
    browser = await sharedBrowser();
    scene = await openOrderStates();
    scan = await openScanner(browser);
    plain = (await openPage(browser, { ...phone, javaScriptEnabled: false })).page;
  });
  afterAll(async () => {
    await closeApps();
    await cleanUp();
  });

  interface Offer {
    /** What the codes say, those behind a disclosure too. */
    readonly codes: readonly (string | null)[];
    /** Links that open a wallet. */
    readonly links: readonly string[];
    /** Targets of the forms. */
    readonly forms: readonly string[];
  }

  async function codesOf(page: Page): Promise<(string | null)[]> {
    const codes: (string | null)[] = [];
    for (const code of await page.locator('svg.qr').all()) codes.push(await scan(code));
    return codes;
  }

  async function offerOf(page: Page, path: string): Promise<Offer> {
    await page.setExtraHTTPHeaders(scene.newClient());
    await page.goto(scene.origin + path);
    for (const summary of await page.locator('summary').all()) await summary.click();
    const codes = await codesOf(page);
    const [links, forms] = (await page.evaluate(`[
      [...document.querySelectorAll('[href^="bitcoin:" i]')].map((each) => each.getAttribute('href')),
      [...document.forms].map(({ method, action }) => method + ' ' + new URL(action).pathname),
    ]`)) as [string[], string[]];
    return { codes, links, forms };
  }

  /** The codes and the link of a page that promises a price say the same as the order. */
  function expectPromise({ codes, links }: Offer, order: OrderJson, label: string): void {
    const { address, uri, missing_sat } = order;
    expect(codes).toEqual([uri, `bitcoin:${address}`]);
    const [code = '', bare = ''] = codes;
    const amount = { address, amountSat: missing_sat };
    expect(readPaymentUri(code ?? '')).toMatchObject({ ...amount, parameters: { label } });
    const nothing: ReadUri = { address, amountSat: undefined, parameters: {} };
    expect(readPaymentUri(bare ?? '')).toEqual(nothing);
    const parameters = { label, message: order.reference };
    expect(links.map(readPaymentUri)).toMatchObject([{ ...amount, parameters }]);
  }

  test.each(states)('an order that is %s offers what its JSON promises', async (state) => {
    const { path, json } = scene.of(state);
    const order = await json();
    const offer = await offerOf(plain, path);
    const isPromised = order.status === 'open' && order.uri !== null;
    if (isPromised) expectPromise(offer, order, 'Shop');
    else expect({ ...offer, forms: [] }).toEqual({ codes: [], links: [], forms: [] });
    const isLapsed = state.endsWith('quote lapsed');
    // The form of *I have paid* asks for no money.
    const asking = offer.forms.filter((form) => form !== `post ${path}`);
    expect(asking).toEqual(isLapsed ? [`post ${path}/quote`] : []);
    // An address on a page that asks for no payment is one of a payment that arrived.
    const text = await plain.locator('main').innerText();
    expect(text.includes(order.address)).toBe(isPromised || order.payments.length > 0);
  });

  test('a code holds the start of a name that makes it too dense', async () => {
    const { app } = scene;
    const { page } = await openPage(browser, phone);
    const { id: store_id } = await app.addStore({ name: '🍕'.repeat(100) });
    const order = await app.order({ amount_sat: 2_099_999_999_999_999, store_id });
    const { codes } = await offerOf(page, `/o/${order.id}`);
    expect(codes).toEqual([order.uri, `bitcoin:${order.address}`]);
    const { amountSat, parameters } = readPaymentUri(order.uri ?? '');
    expect([amountSat, parameters.label]).toEqual([order.amount_sat, '🍕'.repeat(12)]);
    await page.context().close();
  });

  test('codes hold hostile texts, light and dark', async () => {
    const { app } = scene;
    const { page } = await openPage(browser, phone);
    for (const name of hostileNames) {
      const { id: store_id } = await app.addStore({ name });
      const order = await app.order({ ...priced, store_id, reference: name.slice(0, 32) });
      await showIn(page, 'light');
      const offer = await offerOf(page, `/o/${order.id}`);
      expectPromise(offer, order, name);
      await showIn(page, 'dark');
      expect([name, await codesOf(page)]).toEqual([name, offer.codes]);
    }
    await page.context().close();
  });
});
