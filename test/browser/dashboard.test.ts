// The dashboard in a real Chromium: by keyboard and screen reader, on a phone, in the dark, without script, live.

import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { makeLink } from '../../src/dashboard/link.ts';
import {
  accessibilityFaults,
  chromiumPath,
  enterAs,
  expectNoFaults,
  launch,
  openPage,
  overflowOf,
  sayIfSkipped,
} from '../support/browser.ts';
import { closeHouses, type House, merchantKey, openHouse, untilReady } from '../support/house.ts';
import { password, signedIn } from '../support/visitor.ts';

sayIfSkipped('test/browser/dashboard.test.ts', 7);

const home = '/dashboard';
const paths = [
  ...['', '/welcome', '/payments', '/payments/1', '/callbacks', '/callbacks/1', '/addresses'],
  ...['/addresses/1', '/stores', '/stores/new', '/stores/1', '/stores/1/wallet', '/servers'],
  ...['/settings', '/settings/audit', '/sign-out', '/sign-in'],
].map((path) => home + path);

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());
  afterEach(closeHouses);

  async function open() {
    const house = await openHouse();
    await untilReady(house);
    return house;
  }

  async function pay(house: House, address: string): Promise<void> {
    house.pay(address, 20_000);
    await house.settle();
  }

  test.each([
    ['light', 1200],
    ['light', 360],
    ['dark', 1200],
    ['dark', 360],
  ] as const)(
    'every page, %s and %i px wide: axe-core finds nothing, nothing juts out',
    async (colorScheme, width) => {
      const house = await open();
      await pay(house, await house.newAddress());
      const watched = await openPage(browser, house, {
        colorScheme,
        viewport: { width, height: 800 },
      });
      await enterAs(watched, house, await signedIn(house));
      for (const path of paths) {
        await watched.go(path);
        expect([path, await accessibilityFaults(watched.page)]).toEqual([path, []]);
        expect([path, await overflowOf(watched.page)]).toEqual([path, 0]);
      }
      expectNoFaults(watched);
      await watched.context.close();
    },
  );

  test('a payment is seen from 0 to 2 without a reload', async () => {
    const house = await open();
    const watched = await openPage(browser, house);
    await enterAs(watched, house, await signedIn(house));
    const { page } = watched;
    const opened = page.waitForResponse((response) => response.url().endsWith('/live'));
    await watched.go(`${home}/payments`);
    await opened;
    await page.evaluate('globalThis.stillTheSame = true');
    await pay(house, await house.newAddress());
    await page.getByRole('cell', { name: 'seen, in no block yet' }).waitFor();
    house.chain.mine(1);
    await house.settle();
    await page.getByRole('cell', { name: 'in a block, not final yet' }).waitFor();
    house.chain.mine(1);
    await house.settle();
    await page.getByRole('cell', { name: 'final', exact: true }).waitFor();
    expect(await page.evaluate('globalThis.stillTheSame')).toBe(true);
    expectNoFaults(watched);
    await watched.context.close();
  });

  test.each([true, false])(
    'from the first link to a test callback, JavaScript %s',
    async (javaScriptEnabled) => {
      const house = await open();
      const watched = await openPage(browser, house, { javaScriptEnabled });
      const { page } = watched;
      await watched.go(await house.withStore((store) => makeLink(store, house.world, '')));
      await page.getByLabel('New password').fill(password);
      await page.getByLabel('The same again').fill(password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Setting up' }).waitFor();
      await watched.go(`${home}/stores/new`);

      const key = page.getByLabel('Public key of the wallet');
      const secret = 'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn';
      await key.fill(secret);
      await page.getByRole('button', { name: 'Show its addresses' }).click();
      await page.getByRole('alert').filter({ hasText: 'private key' }).waitFor();
      expect(await page.content()).not.toContain(secret);

      await key.fill(merchantKey(2).account);
      await page.getByRole('button', { name: 'Show its addresses' }).click();
      const letters = page.getByLabel('The last 6 characters');
      await letters.fill('qqqqqq');
      await page.getByLabel('Name').fill('By hand');
      await page
        .getByLabel('Callback URL', { exact: false })
        .first()
        .fill(`${house.receiver.origin}/paid`);
      await page.getByText('More confirmations for large amounts').click();
      await page.getByLabel('may lead to a private').check();
      await page.getByRole('button', { name: 'Add the store' }).click();
      await page.getByRole('alert').filter({ hasText: 'No first address' }).waitFor();
      expect(await page.getByLabel('Name').inputValue()).toBe('By hand');

      await letters.fill(firstAddresses(merchantKey(2), 1)[0]?.slice(-6) ?? '');
      await page.getByRole('button', { name: 'Add the store' }).click();
      await page.getByRole('button', { name: 'Send test callback' }).click();
      await page.getByText('the callback is delivered').waitFor();
      expect(house.receiver.requests.at(-1)?.url).toContain('/paid?status=0');
      expectNoFaults(watched);
      await watched.context.close();
    },
  );
});
