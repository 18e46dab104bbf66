// The pages of orders in a real Chromium, on a phone and a wide screen, with and without script. A
// payment is taken and arrives, its excess is refunded, and another order is canceled.

import type { Browser } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { accessibilityFaults, crampedAt, openPage, sharedBrowser } from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { openPriced } from '../support/priced.ts';
import { signedIn } from '../support/visitor.ts';

const theirs = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  test.each([
    [360, true],
    [1280, false],
  ] as const)(
    'a payment is taken, %i px wide, with script: %s',
    async (width, javaScriptEnabled) => {
      const app = await openPriced();
      const origin = `http://127.0.0.1:${app.port}`;
      const options = { javaScriptEnabled, viewport: { width, height: 800 } };
      const { page, origins, faults } = await openPage(browser, options);
      const [name = '', value = ''] = (await signedIn(app)).cookie.split('=');
      await page.context().addCookies([{ name, value, url: origin }]);
      const examine = async (what: string) => {
        expect([what, await accessibilityFaults(page), await crampedAt(page, width)]).toEqual([
          what,
          [],
          [],
        ]);
      };
      await page.goto(`${origin}/dashboard/orders`);
      await examine('no orders');
      await page.getByRole('link', { name: 'Take a payment' }).first().click();
      await page.getByLabel('Amount').fill('1.234');
      await page.getByLabel('Currency').selectOption('EUR');
      await page.getByLabel('Reference').fill('1007');
      await page.getByRole('button', { name: 'Show the code' }).click();
      await page.getByText('An amount in EUR has at most 2 decimals.').first().waitFor();
      await examine('a refused form');
      await page.getByLabel('Amount').fill('12,50');
      await page.getByRole('button', { name: 'Show the code' }).click();
      const code = page.getByRole('img', { name: 'QR code to pay 25,000 sat' });
      await code.waitFor();
      expect((await code.boundingBox())?.width).toBeGreaterThan(280);
      await examine('an open order');

      const [{ address, id }] = (await app.get('/orders')).body.data;
      app.pay(address, 30_000);
      await app.settle();
      if (!javaScriptEnabled) await page.reload();
      await page
        .getByRole('heading', { name: /12\.50 EUR Processing over by 5,000 sat/ })
        .waitFor();
      app.chain.mine(2);
      await app.settle();
      if (!javaScriptEnabled) await page.reload();
      await page.getByRole('heading', { name: /12\.50 EUR Paid/ }).waitFor();
      await examine('a paid order');

      await page.getByRole('link', { name: 'Prepare a refund…' }).click();
      await page.getByLabel('Address of the customer').fill(theirs);
      await examine('the form of a refund');
      await page.getByRole('button', { name: 'Prepare the refund' }).click();
      await page.getByRole('img', { name: 'QR code to send 5,000 sat' }).waitFor();
      await examine('a prepared refund');
      const sent = app.chain.pay([{ address: theirs, valueSat: 5_000 }]);
      await page.getByLabel('Transaction id').fill(sent);
      await page.getByRole('button', { name: 'It is sent' }).click();
      await page.getByText('Refunded: 5,000 sat').waitFor();
      await examine('a refunded order');

      const other = await app.order({ amount_sat: 40_000 });
      await page.goto(`${origin}/dashboard/orders`);
      expect(await page.getByRole('row').count()).toBe(3);
      await examine('the list');
      // A phone folds the filters.
      const filter = page.getByText('Filter', { exact: true });
      if (await filter.isVisible()) await filter.click();
      await page.locator('select[name="state"]').selectOption('paid');
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Show' }).click();
      await page.waitForURL(/state=paid/);
      await page.goto(`${origin}${await page.locator('a.whole').getAttribute('href')}`);
      await page.waitForURL(`${origin}/dashboard/orders/${id}`);
      await page.goto(`${origin}/dashboard/orders/${other.id}`);
      await page.getByRole('link', { name: 'Cancel…' }).click();
      await examine('the question before canceling');
      await page.getByRole('button', { name: 'Cancel the order' }).click();
      await page.getByRole('heading', { name: /40,000 sat Canceled/ }).waitFor();
      expect([[...origins], faults.filter((each) => !/status of 400/.test(each))]).toEqual([
        [origin],
        [],
      ]);
      await page.context().close();
    },
    120_000,
  );
});
