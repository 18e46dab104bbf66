// The dashboard in a real Chromium: by keyboard and screen reader, on a phone, in the dark, without script, live.

import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { makeLink } from '../../src/dashboard/link.ts';
import {
  accessibilityFaults,
  chromiumPath,
  launch,
  openPage,
  type Watched,
} from '../support/browser.ts';
import { closeHouses, type House, merchantKey, openHouse, untilReady } from '../support/house.ts';
import { password, signedIn } from '../support/visitor.ts';

const home = '/dashboard';
const paths = [
  ...['', '/welcome', '/payments', '/payments/1', '/callbacks', '/callbacks/1', '/addresses'],
  ...['/addresses/1', '/stores', '/stores/new', '/stores/1', '/stores/1/wallet', '/servers'],
  ...['/settings', '/settings/audit', '/settings/backups', '/sign-out', '/sign-in'],
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

  const originOf = (house: House): string => `http://127.0.0.1:${house.port}`;

  /** A page in the session of somebody who is signed in. */
  async function enter(house: House, options?: BrowserContextOptions) {
    const watched = await openPage(browser, options);
    const [name = '', value = ''] = (await signedIn(house)).cookie.split('=');
    await watched.page.context().addCookies([{ name, value, url: originOf(house) }]);
    return watched;
  }

  async function end({ page, origins, faults }: Watched, house: House): Promise<void> {
    expect([...origins].filter((origin) => origin !== 'null')).toEqual([originOf(house)]);
    // What was refused on the way is no fault of the page.
    expect(faults.filter((fault) => !fault.includes('status of 400'))).toEqual([]);
    await page.context().close();
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
      const watched = await enter(house, { colorScheme, viewport: { width, height: 800 } });
      const { page } = watched;
      for (const path of paths) {
        await page.goto(originOf(house) + path);
        expect([path, await accessibilityFaults(page)]).toEqual([path, []]);
        expect([
          path,
          await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
        ]).toEqual([path, 0]);
      }
      await end(watched, house);
    },
  );

  test('a payment is seen from 0 to 2 without a reload', async () => {
    const house = await open();
    const watched = await enter(house);
    const { page } = watched;
    const opened = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.goto(`${originOf(house)}${home}/payments`);
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
    await end(watched, house);
  });

  test('a page whose session is over goes to the sign-in by itself, and back', async () => {
    const house = await open();
    const watched = await enter(house);
    const { page } = watched;
    const opened = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.goto(`${originOf(house)}${home}/payments`);
    await opened;
    house.world.jumpWallClock(31 * 60_000);
    await pay(house, await house.newAddress());
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Payments' }).waitFor();
    await page.context().close();
  });

  test.each([true, false])(
    'from the first link to a test callback, JavaScript %s',
    async (javaScriptEnabled) => {
      const house = await open();
      const watched = await openPage(browser, { javaScriptEnabled });
      const { page } = watched;
      await page.goto(
        await house.withStore((store) => makeLink(store, house.world, originOf(house))),
      );
      await page.getByLabel('New password').fill(password);
      await page.getByLabel('The same again').fill(password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Setting up' }).waitFor();
      await page.goto(`${originOf(house)}${home}/stores/new`);

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
      await end(watched, house);
    },
  );
});
