// The script that plugins load as /modal/btcpay.js, in a shop of another origin: the page of the
// order is in a frame where the store allows this shop, else in the whole window.

import type { Browser } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { openPage, sharedBrowser } from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { openGreenfield } from '../support/greenfield.ts';
import { startReceiver } from '../support/receiver.ts';

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  /** A shop with a button that pays, as a plugin writes it. */
  async function openShop(isAllowed: boolean) {
    const greenfield = await openGreenfield();
    const { app, invoice } = greenfield;
    const { id } = await invoice();
    const paygate = `http://127.0.0.1:${app.port}`;
    const body = `<!doctype html><title>Shop</title><button>Pay</button>
      <script src="${paygate}/modal/btcpay.js?ver=2.8.0"></script>
      <script>
        window.heard = [];
        btcpay.setApiUrlPrefix('${paygate}/');
        btcpay.onModalWillEnter(() => heard.push('enter'));
        btcpay.onModalWillLeave(() => heard.push('leave'));
        btcpay.onModalReceiveMessage(({ data }) => heard.push(data));
        document.querySelector('button').onclick = () => btcpay.showInvoice('${id}');
      </script>`;
    const headers = { 'Content-Type': 'text/html' };
    const shop = await startReceiver({ answer: () => ({ status: 200, headers, body }) });
    whenOver(() => shop.close());
    await app.withStore(({ catalog, database }) =>
      database.write((tx) =>
        catalog.changeStore(tx, 1, { embedOrigins: isAllowed ? shop.origin : '' }),
      ),
    );
    const { page, faults } = await openPage(browser);
    await page.goto(shop.origin);
    await page.click('button');
    const heard = () => page.evaluate('heard') as Promise<unknown[]>;
    return { ...greenfield, id, paygate, page, faults, heard, shop };
  }

  test('a shop that may frame the order hears of its payment, and closes the frame', async () => {
    const { app, id, paygate, page, faults, heard, addressOf, shop } = await openShop(true);
    const frame = page.frameLocator('iframe');
    await frame
      .getByText(await addressOf(id))
      .first()
      .waitFor();
    expect(page.url()).toBe(`${shop.origin}/`);
    expect(page.frames().map((each) => each.url())[1]).toBe(`${paygate}/o/${id}`);
    app.pay(await addressOf(id), 40_000);
    await app.settle();
    await page.waitForFunction(`heard.some((each) => each.status)`);
    expect(await heard()).toEqual(['enter', 'loaded', { invoiceId: id, status: 'paid' }]);
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await heard()).toEqual([
      ...['enter', 'loaded', { invoiceId: id, status: 'paid' }, 'close', 'leave'],
    ]);
    expect(await page.locator('iframe').count()).toBe(0);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('a shop that may not leads to the page of the order', async () => {
    const { id, paygate, page, heard } = await openShop(false);
    expect(await heard()).toEqual(['enter']);
    await page.waitForURL(`${paygate}/o/${id}`);
    await page.context().close();
  });
});
