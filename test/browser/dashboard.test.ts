// The dashboard in a real Chromium: keyboard, accessibility, phone, dark mode, no JavaScript, live
// updates.

import { HDKey } from '@scure/bip32';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { pages } from '../../src/dashboard/dashboard.ts';
import { createSignInLink } from '../../src/dashboard/guard/sign-in-link.ts';
import { parsePriceSource } from '../../src/price/sources.ts';
import { closeApps, merchantKey, openApp, type TestApp, untilReady } from '../support/app.ts';
import {
  accessibilityFaults,
  brokenCode,
  crampedAt,
  juttingOut,
  layoutShifts,
  openPage,
  outlines,
  sharedBrowser,
  shiftsOf,
  type Watched,
  widths,
} from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { startReceiver } from '../support/receiver.ts';
import { password, signedIn } from '../support/visitor.ts';

const home = '/dashboard';
/** Every page with an example id, an expired link, and a path without a page. */
const paths = [
  ...pages.map(({ path }) => path.replace(':id', '1').replace(/\/$/, '')),
  ...['/enter?token=overdue', '/nowhere'],
]
  // Exports are files.
  .filter((path) => !path.endsWith('/export'))
  .map((path) => home + path);
/** Pages without a session. test/browser/reference.test.ts looks at them in every width. */
const openPaths = ['/docs', '/docs/quickstart'];

/** Private keys in three formats of wallets. */
const secrets = [
  'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn',
  HDKey.fromMasterSeed(new Uint8Array(32)).privateExtendedKey,
  `${'abandon '.repeat(11)}about`,
];

/** Pages that are shown once, after a button. */
const answers: readonly (readonly [path: string, button: string, heading: string])[] = [
  ['/stores', 'Show the key', 'Stores'],
  ['/stores/1/keys', 'Show the secret', 'Signature secret'],
  ['/stores/1/keys', 'Create a key', 'New API key'],
  ['/stores/1/plugin', 'Allow for 15 minutes', 'Shop: Plugin'],
  ['/stores/1/plugin/woocommerce', 'Create a key for WooCommerce', 'Shop: Plugin'],
  ['/stores/1/callbacks', 'Send test callback', 'Test callback to Shop'],
  ['/stores/1/ready', 'Show key and secret', 'Shop: setup'],
  ['/settings/account', 'Set up', 'Authenticator app'],
  ['/settings/rates', 'Request now', 'Rates'],
];

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  async function open(config: Parameters<typeof openApp>[0] = {}) {
    const app = await openApp(config);
    await untilReady(app);
    return app;
  }

  const originOf = (app: TestApp): string => `http://127.0.0.1:${app.port}`;

  /** A page with the session of a signed-in operator. */
  async function enter(app: TestApp, options?: BrowserContextOptions) {
    const watched = await openPage(browser, options);
    const [name = '', value = ''] = (await signedIn(app)).cookie.split('=');
    await watched.page.context().addCookies([{ name, value, url: originOf(app) }]);
    return watched;
  }

  async function end({ page, origins, faults }: Watched, app: TestApp): Promise<void> {
    expect([...origins].filter((origin) => origin !== 'null')).toEqual([originOf(app)]);
    // Failed requests of another origin are no fault of the page.
    expect(faults.filter((fault) => !/status of 40[04]/.test(fault))).toEqual([]);
    await page.context().close();
  }

  /** No layout shift during loading, no overflow, no finding of axe-core. */
  async function examine(page: Page, name: string, load: () => Promise<unknown>): Promise<void> {
    expect([name, await shiftsOf(page, load), await juttingOut(page)]).toEqual([name, [], 0]);
    expect([name, await accessibilityFaults(page)]).toEqual([name, []]);
  }

  async function pay(app: TestApp, address: string): Promise<void> {
    app.pay(address, 20_000);
    await app.settle();
  }

  test.each([
    ['light', 360, []],
    // A page that is loaded is looked at in every width. That no word in a table is broken, too.
    ['dark', 1280, widths],
  ] as const)(
    'every page, %s and %i px wide: no finding of axe-core, no overflow, no layout shift, margins',
    async (colorScheme, width, widthsLookedAt) => {
      const source = await startReceiver({
        answer: () => ({ status: 200, body: '{"USD":50000}' }),
      });
      whenOver(() => source.close());
      const priceSource = [parsePriceSource(`${source.origin}/#{CODE}`)];
      const app = await open({ config: { price: 'own', priceSource } });
      await pay(app, await app.newAddress());
      const watched = await enter(app, { colorScheme, viewport: { width, height: 800 } });
      const { page } = watched;
      for (const path of paths) {
        await examine(page, path, () => page.goto(originOf(app) + path));
        for (const other of widthsLookedAt) {
          const seen = [await crampedAt(page, other), await brokenCode(page)];
          expect([path, other, ...seen]).toEqual([path, other, [], []]);
        }
        await page.setViewportSize({ width, height: 800 });
      }
      for (const [path, button, heading] of answers) {
        await examine(page, `${path}: ${button}`, async () => {
          await page.goto(originOf(app) + home + path);
          await page.getByRole('button', { name: button, exact: true }).click();
          await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
        });
      }
      await examine(page, 'the addresses of a key', async () => {
        await page.goto(`${originOf(app)}${home}/stores/new`);
        await page.getByLabel('Public key of the wallet').fill(merchantKey(2).account);
        await page.getByRole('button', { name: 'Show addresses' }).click();
        await page.getByLabel('The last 6 characters').waitFor();
      });
      await end(watched, app);
    },
  );

  /** Lists and the page of a row of each, which are looked at in every width. */
  const shownPaths = ['', '/payments', '/payments/1', '/callbacks', '/callbacks/1', '/addresses'];

  const listSettings = [
    [360, 'light', false],
    [768, 'dark', true],
    [1280, 'light', false],
  ] as const;

  test('lists and their pages have no finding of axe-core, no overflow', async () => {
    const app = await open({ config: { price: 'off' } });
    await pay(app, await app.newAddress());
    app.receiver.script({ status: 500 });
    await pay(app, await app.newAddress());
    for (const [width, colorScheme, javaScriptEnabled] of listSettings) {
      const viewport = { width, height: 800 };
      const watched = await enter(app, { colorScheme, viewport, javaScriptEnabled });
      const { page } = watched;
      for (const path of shownPaths) {
        await page.goto(originOf(app) + home + path);
        const seen = [await juttingOut(page), await accessibilityFaults(page)];
        expect([width, colorScheme, path, ...seen]).toEqual([width, colorScheme, path, 0, []]);
        for (const other of widths.filter((each) => each !== width)) {
          await page.setViewportSize({ width: other, height: 800 });
          expect([other, path, await juttingOut(page)]).toEqual([other, path, 0]);
        }
        await page.setViewportSize(viewport);
      }
      await end(watched, app);
    }
  });

  /** The heights of the rows of a list, and what is seen of the first one. */
  const rowsOf = (page: Page) =>
    page.evaluate(`({
      heights: [...document.querySelectorAll('.list tbody tr')]
        .map((each) => each.getBoundingClientRect().height),
      cells: [...document.querySelector('.list tbody tr').cells]
        .filter((each) => each.checkVisibility())
        .map((each) => Math.round(each.getBoundingClientRect().top)),
      tooWide: document.querySelector('.scroll').scrollWidth - document.querySelector('.scroll').clientWidth,
    })`) as Promise<{ heights: number[]; cells: number[]; tooWide: number }>;

  test('a row of a list is 40 to 48 px high, and on a phone a card of two lines', async () => {
    const app = await open({ config: { price: 'off' } });
    await pay(app, await app.newAddress());
    const watched = await enter(app);
    const { page } = watched;
    for (const path of ['', '/payments', '/callbacks', '/addresses', '/payments/1']) {
      for (const width of [768, 1024, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(originOf(app) + home + path);
        const { heights } = await rowsOf(page);
        expect(heights.length).toBeGreaterThan(0);
        expect([path, width, heights.filter((each) => each < 40 || each > 48)]).toEqual([
          ...[path, width, []],
        ]);
      }
      await page.setViewportSize({ width: 360, height: 800 });
      const { heights, cells, tooWide } = await rowsOf(page);
      expect([path, tooWide, heights.filter((each) => each > 72)]).toEqual([path, 0, []]);
      expect([path, cells.filter((each) => each > 0).length >= 4]).toEqual([path, true]);
    }
    await end(watched, app);
  });

  test.each([true, false])(
    'a press anywhere in a row opens its page, and the menu opens the sections, JavaScript %s',
    async (javaScriptEnabled) => {
      const app = await open({ config: { price: 'off' } });
      await pay(app, await app.newAddress());
      const viewport = { width: 360, height: 800 };
      const watched = await enter(app, { viewport, javaScriptEnabled });
      const { page } = watched;
      await page.goto(`${originOf(app)}${home}/payments`);
      // The link lies over the cells: the press is real, the cell is not its target.
      await page.locator('.list tbody td').nth(3).click({ force: true });
      await page.getByRole('heading', { name: '20,000 sat', level: 1 }).waitFor();
      const section = page.getByRole('link', { name: 'Addresses', exact: true });
      expect(await section.isVisible()).toBe(false);
      const menu = page.getByRole('button', { name: 'Menu' });
      await menu.click();
      await page.keyboard.press('Escape');
      await section.waitFor({ state: 'hidden' });
      await menu.click();
      await page.locator('h1').click({ force: true });
      await section.waitFor({ state: 'hidden' });
      await menu.click();
      // The technical sections are folded; a key unfolds them, with or without a script.
      expect(await page.getByRole('link', { name: 'Settings', exact: true }).isVisible()).toBe(
        true,
      );
      expect(await section.isVisible()).toBe(false);
      const group = page.getByText('Technical', { exact: true });
      await group.focus();
      await page.keyboard.press('Enter');
      await section.waitFor();
      await page.keyboard.press('Enter');
      await section.waitFor({ state: 'hidden' });
      await page.keyboard.press('Space');
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(await juttingOut(page)).toBe(0);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Addresses', level: 1 }).waitFor();
      await page.setViewportSize({ width: 1024, height: 800 });
      // It is open on its own pages, and closed on others.
      expect(await section.isVisible()).toBe(true);
      await page.getByRole('link', { name: 'Stores', exact: true }).click();
      await page.getByRole('heading', { name: 'Stores', level: 1 }).waitFor();
      expect(await section.isVisible()).toBe(false);
      expect(await page.getByRole('button', { name: 'Menu' }).isVisible()).toBe(false);
      await end(watched, app);
    },
  );

  test('a filter applies when it is chosen, and by its button without JavaScript', async () => {
    const app = await open({ config: { price: 'off' } });
    await pay(app, await app.newAddress());
    for (const javaScriptEnabled of [true, false]) {
      const watched = await enter(app, { javaScriptEnabled });
      const { page } = watched;
      await page.goto(`${originOf(app)}${home}/payments`);
      await page.getByLabel('State').selectOption('Gone');
      const button = page.getByRole('button', { name: 'Show', exact: true });
      expect(await button.isVisible()).toBe(!javaScriptEnabled);
      if (!javaScriptEnabled) await button.click();
      await page.getByText('No payments found.').waitFor();
      await page.getByRole('link', { name: 'Show all payments' }).click();
      await page.getByText('1 payment', { exact: true }).waitFor();
      await end(watched, app);
    }
  });

  test('times are in the zone of the reader with JavaScript, and in UTC without', async () => {
    const app = await open({ config: { price: 'off' } });
    await pay(app, await app.newAddress());
    const shown = async (javaScriptEnabled: boolean) => {
      const zone = { timezoneId: 'Asia/Tokyo', locale: 'en-GB' };
      const watched = await enter(app, { ...zone, javaScriptEnabled });
      await watched.page.goto(`${originOf(app)}${home}/payments`);
      const time = watched.page.locator('.list time');
      const found = [await time.textContent(), await time.getAttribute('title')];
      await end(watched, app);
      return found;
    };
    const iso = new Date(app.world.now()).toISOString();
    const title = expect.stringMatching(/:\d\d UTC$/);
    expect(await shown(false)).toEqual([`${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`, title]);
    const [local] = await shown(true);
    expect(local).toMatch(/^\d+ \w+ 20\d\d, \d\d:\d\d$|ago$|^in |now$/);
  });

  test.each(['light', 'dark'] as const)(
    'the focused element has a visible outline of 2 px (%s)',
    async (colorScheme) => {
      const app = await open({ config: { price: 'off' } });
      const watched = await enter(app, { colorScheme, viewport: { width: 1024, height: 800 } });
      const { page } = watched;
      for (const path of [
        home,
        `${home}/stores/1/callbacks`,
        `${home}/settings/account`,
        '/docs',
      ]) {
        await page.goto(originOf(app) + path);
        const stops = await outlines(page, 80);
        expect(stops.length).toBeGreaterThan(1);
        const faint = stops.filter(({ width, contrast }) => width < 2 || contrast < 3);
        expect([path, faint]).toEqual([path, []]);
      }
      await end(watched, app);
    },
  );

  test('the docs follow the dark mode, link back, and have an icon', async () => {
    const app = await open();
    const watched = await openPage(browser, { colorScheme: 'dark' });
    const { page } = watched;
    for (const path of openPaths) {
      await page.goto(originOf(app) + path);
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toMatch(
        /^rgb\((\d|[1-3]\d), /,
      );
      const links = await page
        .locator('header a')
        .evaluateAll((all) => all.map((each) => each.getAttribute('href')));
      expect(links).toEqual([home, '/docs', '/docs/quickstart']);
      const icon = await page.locator('link[rel=icon]').getAttribute('href');
      expect((await fetch(originOf(app) + icon)).status).toBe(200);
    }
    await end(watched, app);
  });

  test('nothing shifts when the script loads long after the page', async () => {
    const app = await open();
    const { page } = await enter(app, { viewport: { width: 360, height: 800 } });
    await page.goto(`${originOf(app)}${home}/stores`);
    const held = Promise.withResolvers<void>();
    await page.route('**/*.js', async (route) => {
      await held.promise;
      await route.continue();
    });
    const copy = page.locator('button[data-copy]');
    const show = page.getByRole('button', { name: 'Show the key', exact: true });
    await show.click({ noWaitAfter: true });
    await copy.waitFor({ state: 'attached' });
    expect([await layoutShifts(page), await copy.isVisible()]).toEqual([[], false]);
    held.resolve();
    await copy.waitFor();
    expect(await layoutShifts(page)).toEqual([]);
    await page.context().close();
  });

  test('the checks notice a violation of the policy and a layout shift', async () => {
    const app = await open();
    const { page, faults } = await enter(app);
    await page.goto(originOf(app) + home);
    await page.evaluate("document.body.setAttribute('style', 'color: red')");
    await page.evaluate(
      "document.body.append(Object.assign(new Image(), { src: '//127.1.1.1/x' }))",
    );
    await page.evaluate("document.body.prepend(document.createElement('hr'))");
    expect(await layoutShifts(page)).not.toEqual([]);
    expect(faults.filter((fault) => fault.includes('Content Security Policy'))).toHaveLength(2);
    await page.context().close();
  });

  test('selected failed callbacks are resent', async () => {
    const app = await open();
    const answer = { status: 500, body: 'the database is away' };
    app.receiver.script(answer, answer);
    await pay(app, await app.newAddress());
    await pay(app, await app.newAddress());
    const watched = await enter(app);
    const { page } = watched;
    await page.goto(`${originOf(app)}${home}/callbacks`);
    expect(await page.getByRole('cell', { name: 'answered 500' }).count()).toBe(2);
    await page.getByLabel('Select delivery 2').check();
    await page.getByRole('button', { name: 'Resend selected' }).click();
    await page.getByRole('status').filter({ hasText: 'Sending again now' }).waitFor();
    await app.settle();
    await page.reload();
    const row = page.getByRole('row').filter({ has: page.getByLabel('Select delivery 2') });
    await row.getByText('Delivered').first().waitFor();
    expect(await page.getByRole('row').filter({ hasText: 'Delivered' }).count()).toBe(1);
    expect(app.receiver.requests).toHaveLength(3);
    await end(watched, app);
  });

  test('a payment is seen from 0 to 2 without a reload', async () => {
    const app = await open();
    const watched = await enter(app);
    const { page } = watched;
    const opened = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.goto(`${originOf(app)}${home}/payments`);
    await opened;
    await page.evaluate('globalThis.stillTheSame = true');
    await pay(app, await app.newAddress());
    await page.getByRole('cell', { name: 'Seen' }).waitFor();
    app.chain.mine(1);
    await app.settle();
    await page.getByRole('cell', { name: 'Confirming' }).waitFor();
    app.chain.mine(1);
    await app.settle();
    await page.getByRole('cell', { name: 'Confirmed', exact: true }).waitFor();
    expect(await page.evaluate('globalThis.stillTheSame')).toBe(true);
    await end(watched, app);
  });

  test('the keyboard focus stays at its row when the list changes', async () => {
    const app = await open();
    const watched = await enter(app);
    const { page } = watched;
    await pay(app, await app.newAddress());
    const opened = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.goto(`${originOf(app)}${home}/payments`);
    await opened;
    const link = page.locator(`a[href="${home}/payments/1"]`);
    await link.focus();
    await pay(app, await app.newAddress());
    await page.locator(`a[href="${home}/payments/2"]`).waitFor();
    expect(await link.evaluate((each) => each === each.ownerDocument.activeElement)).toBe(true);
    await end(watched, app);
  });

  test('a wide table keeps its scroll position and the focus when it changes', async () => {
    const app = await open();
    // Little wider than a phone, so that any font makes the table wider than its page.
    const watched = await enter(app, { viewport: { width: 580, height: 800 } });
    const { page } = watched;
    await pay(app, await app.newAddress());
    const opened = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.goto(`${originOf(app)}${home}/payments`);
    await opened;
    const table = page.getByRole('region', { name: 'Payments' });
    await table.focus();
    await table.evaluate((each) => each.scrollBy(10, 0));
    await pay(app, await app.newAddress());
    await page.locator(`a[href="${home}/payments/2"]`).waitFor();
    expect(
      await table.evaluate((each) => [each.scrollLeft, each === each.ownerDocument.activeElement]),
    ).toEqual([10, true]);
    await end(watched, app);
  });

  test('a page whose session has ended goes to the sign-in by itself, and back', async () => {
    const app = await open();
    const watched = await enter(app);
    const { page } = watched;
    const opened = page.waitForResponse((response) => response.url().endsWith('/live'));
    await page.goto(`${originOf(app)}${home}/payments`);
    await opened;
    app.world.jumpWallClock(31 * 60_000);
    await pay(app, await app.newAddress());
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Payments' }).waitFor();
    await page.context().close();
  });

  test.each([true, false])(
    'from the first link to a test callback, JavaScript %s',
    async (javaScriptEnabled) => {
      const app = await open();
      const watched = await openPage(browser, { javaScriptEnabled });
      const { page } = watched;
      await page.goto(
        await app.withStore((records) => createSignInLink(records, app.world, originOf(app))),
      );
      await page.getByLabel('New password').fill(password);
      await page.getByLabel('Repeat the password').fill(password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Setup' }).waitFor();
      await page.getByRole('navigation').getByRole('link', { name: 'Stores' }).click();
      await page.getByRole('link', { name: 'Add a store' }).click();

      const key = page.getByLabel('Public key of the wallet');
      for (const secret of secrets) {
        await key.fill(secret);
        await page.getByRole('button', { name: 'Show addresses' }).click();
        await page
          .getByRole('alert')
          .filter({ hasText: /private|recovery/ })
          .waitFor();
        expect(await page.content()).not.toContain(secret);
        expect(await key.inputValue()).toBe('');
      }

      await page.getByLabel('My own program').check();
      await key.fill(merchantKey(2).account);
      await page.getByRole('button', { name: 'Show addresses' }).click();
      const letters = page.getByLabel('The last 6 characters');
      await letters.fill('qqqqqq');
      const name = page.getByRole('textbox', { name: 'Name', exact: true });
      await name.fill('By hand');
      await page.getByRole('button', { name: 'Add the store' }).click();
      await page
        .getByRole('alert')
        .filter({ hasText: 'None of these addresses ends in' })
        .waitFor();
      expect(await name.inputValue()).toBe('By hand');

      // A pasted address is not cut by a maximum length.
      const [address = ''] = firstAddresses(merchantKey(2), 1);
      await letters.fill('');
      await letters.focus();
      await page.keyboard.insertText(address);
      expect(await letters.inputValue()).toBe(address);
      await page.getByRole('button', { name: 'Add the store' }).click();
      await page.getByRole('heading', { name: 'By hand: setup' }).waitFor();
      const [, id = ''] = /\/stores\/(\d+)/.exec(page.url()) ?? [];
      await page.goto(`${originOf(app)}${home}/stores/${id}/callbacks`);
      await page.getByLabel('Callback URL').first().fill(`${app.receiver.origin}/paid`);
      await page.getByLabel('may lead to a private').check();
      await page.getByRole('button', { name: 'Save' }).first().click();
      await page.getByText('Saved.').waitFor();
      await page.getByRole('button', { name: 'Send test callback' }).click();
      await page.getByText('the callback is delivered').waitFor();
      expect(app.receiver.requests.at(-1)?.url).toContain('/paid?status=0');
      await end(watched, app);
    },
  );

  test('a link from another site ends no session', async () => {
    const app = await open();
    await signedIn(app);
    const { page } = await openPage(browser);
    await page.goto(`${originOf(app)}${home}/sign-in`);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const elsewhere = await page.context().newPage();
    await elsewhere.goto(`data:text/html,<a href="${originOf(app)}${home}">my shop</a>`);
    await elsewhere.getByRole('link').click();
    // Browsers omit the session cookie for a link from another site.
    await elsewhere.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.reload();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Overview');
    await elsewhere.getByLabel('Password').fill(password);
    await elsewhere.getByRole('button', { name: 'Sign in' }).click();
    await elsewhere.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.context().close();
  });
});
