// The customer's page of an order in a real Chromium: no JavaScript, live updates, copying, times
// and margins. Every state of it is in checkout-matrix.slow.test.ts.

import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeApps, type TestApp } from '../support/app.ts';
import {
  accessibilityFaults,
  crampedAt,
  juttingOut,
  layoutShifts,
  openPage,
  outlines,
  sharedBrowser,
  type Watched,
  widths,
} from '../support/browser.ts';
import { openTill, quoteMs, type Till } from '../support/checkout.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';

const button = 'Show the price of now';

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  const originOf = (app: TestApp): string => `http://127.0.0.1:${app.port}`;
  const urlOf = ({ app, path }: Till): string => originOf(app) + path;

  async function end({ page, origins, faults }: Watched, { app }: Till): Promise<void> {
    expect([...origins]).toEqual([originOf(app)]);
    expect(faults).toEqual([]);
    await page.context().close();
  }

  /** The page with an open event stream. */
  async function follow(till: Till, options?: BrowserContextOptions): Promise<Watched> {
    const watched = await openPage(browser, options);
    const { page } = watched;
    const opened = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.goto(urlOf(till));
    await opened;
    await page.evaluate('globalThis.stillTheSame = true');
    return watched;
  }

  test('a page that is open while it is paid goes to the shop by itself', async () => {
    const till = await openTill();
    await till.app.withStore(({ database, catalog }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { autoReturn: true })),
    );
    const { page } = await follow(till);
    await page.route('https://shop.example/**', (route) => route.fulfill({ body: 'Thanks' }));
    await till.pay(25_000);
    await page.getByText('You go back to the shop in 5 seconds.').waitFor();
    await page.waitForURL('https://shop.example/thanks/1007');
    await page.context().close();
  });

  test('the address of a refund is typed without a script, and refused at its field', async () => {
    const till = await openTill();
    await till.pay(30_000);
    await till.mine(2);
    await till.app.withStore(({ database, refunds }) =>
      database.write((tx) => {
        const refund = { orderId: 1, choice: 'excess', amountSat: 5_000, feeSat: 0 } as const;
        refunds.prepare(tx, till.app.world.now(), { ...refund, address: null });
      }),
    );
    const watched = await openPage(browser, { javaScriptEnabled: false });
    const { page } = watched;
    await page.goto(urlOf(till));
    expect(await accessibilityFaults(page)).toEqual([]);
    const field = page.getByLabel('Your bitcoin address');
    await field.fill(till.address);
    await page.getByRole('button', { name: 'Send the address to the shop' }).click();
    await page.getByText('This is an address of the shop.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await field.fill('bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080');
    await page.getByRole('button', { name: 'Send the address to the shop' }).click();
    await page.getByText('The shop has your address').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const { origins } = watched;
    expect([...origins]).toEqual([originOf(till.app)]);
    await page.context().close();
  });

  test('I have paid is answered on the page, which passes the checks with it', async () => {
    const till = await openTill();
    const watched = await openPage(browser, {
      ...{ javaScriptEnabled: false, viewport: { width: 360, height: 640 } },
    });
    const { page } = watched;
    await page.goto(urlOf(till));
    await page.getByText('I have paid').click();
    await page.getByRole('button', { name: 'Look for my payment' }).click();
    const answer = page.getByRole('status').getByText('have not seen your payment yet');
    await answer.waitFor();
    const { y = -1 } = (await answer.boundingBox()) ?? {};
    expect(y).toBeGreaterThan(0);
    expect(y).toBeLessThan(640);
    expect(page.url()).toBe(`${urlOf(till)}#claim`);
    expect(await accessibilityFaults(page)).toEqual([]);
    await end(watched, till);
  });

  test('the page is whole without JavaScript, from the price to the receipt', async () => {
    const till = await openTill();
    const watched = await openPage(browser, { javaScriptEnabled: false });
    const { page } = watched;
    await page.goto(urlOf(till));
    const visible = [
      page.getByRole('heading', { name: 'Shop' }),
      page.getByText('€12.50').first(),
      page.getByText('0.00025000 BTC').first(),
      page.getByText(till.address, { exact: true }),
      page.getByRole('img', { name: 'QR code of the address and the amount' }),
      page.getByRole('link', { name: 'Open in a wallet' }),
      page.getByText('Nov 20, 2025, 15:01 UTC'),
    ];
    for (const each of visible) expect(await each.isVisible()).toBe(true);
    expect(await page.getByRole('button').count()).toBe(0);
    const alone = page.getByRole('img', { name: 'without the amount' });
    expect(await alone.isVisible()).toBe(false);
    await page.getByText('QR code of the address alone').click();
    expect(await alone.isVisible()).toBe(true);
    await till.app.world.advance(quoteMs);
    await page.reload();
    await page.getByRole('button', { name: button }).click();
    await page.getByText('0.00020000 BTC').first().waitFor();
    expect(page.url()).toBe(urlOf(till));
    await till.pay(20_000);
    await page.reload();
    await page.getByText('Your payment arrived').waitFor();
    await till.mine(2);
    await page.reload();
    await page.getByText('this page is your receipt').waitFor();
    await end(watched, till);
  });

  test('the payment changes the page without a reload, also with an open detail', async () => {
    const till = await openTill();
    const watched = await follow(till);
    const { page } = watched;
    await page.getByText('QR code of the address alone').click();
    await till.pay(25_000);
    await page.getByText('Your payment arrived').waitFor();
    await page.getByRole('link', { name: 'Back to Shop' }).waitFor();
    expect(await page.locator('#pay svg:visible').count()).toBe(0);
    await till.mine(2);
    await page.getByText('this page is your receipt').waitFor();
    expect(await page.evaluate('globalThis.stillTheSame')).toBe(true);
    await end(watched, till);
  });

  test('the end of the price removes the amount by itself, and the button brings a new one', async () => {
    const till = await openTill();
    const watched = await follow(till);
    const { page } = watched;
    await till.app.world.advance(quoteMs - 1);
    expect(await page.locator('#pay svg:visible').count()).toBe(1);
    await till.app.world.advance(1);
    await page.getByRole('button', { name: button }).waitFor();
    expect(await page.getByText(till.address).count()).toBe(0);
    expect(await page.evaluate('globalThis.stillTheSame')).toBe(true);
    await page.getByRole('button', { name: button }).click();
    await page.getByText('0.00020000 BTC').first().waitFor();
    await end(watched, till);
  });

  test('a proxy that answers for a stopped paygate does not end the updates', async () => {
    const till = await openTill();
    const { page } = await openPage(browser);
    await page.clock.install();
    await page.route('**/live', (route) => route.fulfill({ status: 502 }), { times: 1 });
    const loadedAgain = page.waitForResponse(
      (response) => response.request().headers()['x-paygate-live'] !== undefined,
    );
    await page.goto(urlOf(till));
    await loadedAgain;
    const opened = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.clock.runFor(20_000);
    expect((await opened).status()).toBe(200);
    await till.pay(25_000);
    await page.getByText('Your payment arrived').waitFor();
    await page.context().close();
  });

  test('address and amount are copied; the time that is left is counted', async () => {
    const till = await openTill();
    const watched = await openPage(browser, {
      permissions: ['clipboard-read', 'clipboard-write'],
      viewport: { width: 360, height: 800 },
    });
    const { page } = watched;
    await page.clock.setFixedTime(till.app.world.now() + 61_000);
    await page.goto(urlOf(till));
    await page.getByRole('timer').filter({ hasText: '15:00' }).waitFor();
    expect(await layoutShifts(page)).toEqual([]);
    const copied = async (name: string): Promise<unknown> => {
      await page.getByRole('button', { name }).click();
      await page.getByRole('button', { name: 'Copied' }).first().waitFor();
      return page.evaluate('navigator.clipboard.readText()');
    };
    expect(await copied('Copy amount')).toBe('0.00025000');
    expect(await copied('Copy address')).toBe(till.address);
    await end(watched, till);
  });

  test.each(['en', 'de', 'ar', 'ja'])(
    'on a phone the copy buttons have one shape, below what they copy: %s',
    async (lang) => {
      const till = await openTill();
      const { page } = await openPage(browser, { viewport: { width: 390, height: 640 } });
      await page.goto(`${urlOf(till)}?lang=${lang}`);
      const placeOf = async (selector: string) => {
        const place = await page.locator(selector).boundingBox();
        if (place === null) throw new Error(`${selector} is not on the page`);
        return place;
      };
      const address = await placeOf('#address');
      const [first, second] = [
        await placeOf('[data-copy=amount]'),
        await placeOf('[data-copy=address]'),
      ];
      expect(first.y).toBeGreaterThanOrEqual(address.y + address.height);
      expect([second.y, second.width, second.height]).toEqual([first.y, first.width, first.height]);
      await page.context().close();
    },
  );

  test('"Copied" stands for two seconds', async () => {
    const till = await openTill();
    const { page } = await openPage(browser, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.clock.install({ time: till.app.world.now() });
    await page.goto(urlOf(till));
    const button = page.locator('[data-copy=address]');
    await button.click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await page.clock.runFor(1_500);
    expect(await button.textContent()).toBe('Copied');
    await page.clock.runFor(600);
    expect(await button.textContent()).toBe('Copy address');
    await page.context().close();
  });

  test.each([3, -3])(
    'the time left is that of the server, with a phone %i h ahead',
    async (hours) => {
      const till = await openTill();
      const { page } = await openPage(browser);
      await page.clock.setFixedTime(till.app.world.now() + hours * 3_600_000);
      await page.goto(urlOf(till));
      await page.getByRole('timer').filter({ hasText: '15:00' }).waitFor();
      await page.context().close();
    },
  );

  test('an hour is shown in hours', async () => {
    const till = await openTill();
    await till.app.withStore(({ catalog, database }) =>
      database.write((tx) =>
        catalog.changeStore(tx, 1, { quoteSeconds: 3_600, orderSeconds: 86_400 }),
      ),
    );
    const { id } = await till.app.order({ amount: '5.00', currency: 'EUR' });
    const { page } = await openPage(browser);
    await page.clock.setFixedTime(till.app.world.now());
    await page.goto(urlOf(till).replace(/ord_\w+/, id));
    await page
      .getByRole('timer')
      .filter({ hasText: /^1:00:00$/ })
      .waitFor();
    await page.context().close();
  });

  test('times are in the zone of the reader and buttons in the language, without a shift', async () => {
    const till = await openTill();
    const watched = await openPage(browser, {
      permissions: ['clipboard-read', 'clipboard-write'],
      timezoneId: 'Asia/Kolkata',
      viewport: { width: 360, height: 800 },
    });
    const { page } = watched;
    await page.goto(`${urlOf(till)}?lang=de`);
    const until = page.locator('#pay time');
    await until.filter({ hasText: '20. Nov. 2025, 20:31 GMT+5:30' }).waitFor();
    expect(await until.getAttribute('title')).toBe('20. Nov. 2025, 15:01 UTC');
    expect(await layoutShifts(page)).toEqual([]);
    await page.getByRole('button', { name: 'Betrag kopieren' }).click();
    await page.getByRole('button', { name: 'Kopiert' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('0.00025000');
    await till.pay(25_000);
    await page.getByText('Ihre Zahlung ist angekommen.').waitFor();
    await page.getByText('20. Nov. 2025, 20:16 GMT+5:30').first().waitFor();
    await page.locator('.payment a').click();
    await page.getByText('Ihre Zahlung wurde erkannt.').waitFor();
    await page.getByRole('link', { name: 'Bestellung anzeigen' }).click();
    await page.getByText('Sprache').click();
    await page.getByRole('link', { name: 'العربية' }).click();
    await page.locator('html[dir=rtl]').waitFor();
    expect([await juttingOut(page), await accessibilityFaults(page)]).toEqual([0, []]);
    await end(watched, till);
  });

  test('it has margins at every width, and the focus a visible outline', async () => {
    const till = await openTill();
    const watched = await openPage(browser);
    const { page } = watched;
    await page.goto(urlOf(till));
    for (const width of widths) {
      expect([width, await crampedAt(page, width)]).toEqual([width, []]);
    }
    const stops = await outlines(page, 20);
    expect(stops.length).toBeGreaterThan(3);
    expect(stops.filter(({ width, contrast }) => width < 2 || contrast < 3)).toEqual([]);
    await end(watched, till);
  });
});
