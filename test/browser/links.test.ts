// The pages of links in a real Chromium: from the form to the paid order with and without script,
// the frame on another site, and how all of it fits and reads.

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { translationOf } from '../../src/checkout/words/languages.ts';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import type { LinkBody } from '../../src/domain/order/link-input.ts';
import { closeApps } from '../support/app.ts';
import { accessibilityFaults, openPage, sharedBrowser, shiftsOf } from '../support/browser.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { fixed, type LinkScene, openLink } from '../support/links.ts';
import { mailSettings } from '../support/mail-server.ts';
import { keyboardFaults, languageFaults, overflows } from '../support/page-checks.ts';
import { type PageSettings, settings, widths } from '../support/page-settings.ts';
import { startReceiver } from '../support/receiver.ts';

const phone = { viewport: { width: 360, height: 740 } };
const donation: LinkBody = {
  ...{ title: 'W'.repeat(60), description: `${'Für alle. '.repeat(40)}\n${'x'.repeat(90)}` },
  ...{ currency: 'EUR', min: '1', max: '1000000', suggested: ['5', '10', '25000'] },
  ...{ note: 'required', ask_email: true },
};

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  const originOf = ({ app }: LinkScene): string => `http://127.0.0.1:${app.port}`;
  const urlOf = (link: LinkScene): string => originOf(link) + link.path;

  /** A page that must ask our own origin alone, and break no rule of its policy. */
  async function openFor(link: LinkScene, options: BrowserContextOptions) {
    const { page, origins, faults } = await openPage(browser, options);
    return {
      page,
      async end(allowed: readonly string[] = []) {
        expect([...origins]).toEqual([originOf(link)]);
        const others = faults.filter((fault) => !allowed.some((text) => fault.includes(text)));
        expect(others).toEqual([]);
        await page.context().close();
      },
    };
  }

  /** Without a mail server, no page asks for a mail address. None listens here. */
  const setMailServer = ({ app }: LinkScene): Promise<void> =>
    app.withStore(({ state, database }) =>
      database.write((tx) => state.mailServer.write(tx, mailSettings(9))),
    );

  const payNewest = async (link: LinkScene): Promise<void> => {
    const [order] = await link.orders();
    link.app.pay(order?.address ?? '', order?.amount_sat ?? 0);
    link.app.chain.mine(2);
    await link.app.settle();
  };

  test.each([true, false])(
    'a phone goes from the form over an error to the paid order, script %s',
    async (javaScriptEnabled) => {
      const link = await openLink(donation);
      await setMailServer(link);
      const { amountIn, payWithBitcoin, note, email } = translationOf('de').words.link;
      const { page, end } = await openFor(link, { ...phone, javaScriptEnabled });
      await page.goto(`${urlOf(link)}?lang=de`);
      const amount = page.getByLabel(amountIn('EUR'));
      await amount.fill('zehn');
      await page.getByRole('button', { name: payWithBitcoin }).click();
      expect(await amount.getAttribute('aria-invalid')).toBe('true');
      expect(await amount.inputValue()).toBe('zehn');
      expect(await page.evaluate('document.activeElement.id')).toBe('amount');
      await amount.fill('12,50');
      await page.getByLabel(note).fill('Tisch 4');
      await page.getByLabel(email).fill('anna@customer.example');
      // The Enter key sends what was typed, not a suggested amount.
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/o\/ord_\w+\?lang=de$/);
      expect(await page.locator('html').getAttribute('lang')).toBe('de');
      await page.getByText('0,00025000 BTC').first().waitFor();
      expect(await page.getByText('Tisch 4').isVisible()).toBe(true);
      expect((await link.orders())[0]?.customer_email).toBe('anna@customer.example');
      await payNewest(link);
      if (!javaScriptEnabled) await page.reload();
      await page.locator('.pill.good').waitFor();
      await end(['status of 400']);
    },
  );

  test('a suggested amount is one click, also where another one was typed', async () => {
    const link = await openLink({ ...donation, note: 'no' });
    const { page, end } = await openFor(link, phone);
    await page.goto(urlOf(link));
    await page.getByLabel('Amount in EUR').fill('7');
    await page.getByRole('button', { name: '€10.00' }).click();
    await page.waitForURL(/\/o\//);
    expect((await link.orders())[0]?.amount).toBe('10.00');
    await end();
  });

  test('a double click makes one order', async () => {
    const link = await openLink(fixed);
    const { page, end } = await openFor(link, phone);
    await page.goto(urlOf(link));
    await page.getByRole('button', { name: 'Pay with Bitcoin' }).dblclick();
    await page.waitForURL(/\/o\//);
    await page.locator('#pay svg').first().waitFor();
    expect((await link.orders()).length).toBe(1);
    await end();
  });

  test('a frame on a site that the store names takes an order; on another it is blocked', async () => {
    const link = await openLink(fixed);
    const frame = `<!doctype html><title>Shop</title><iframe src="${urlOf(link)}" width="400" height="720"></iframe>`;
    const headers = { 'content-type': 'text/html' };
    const answer = () => ({ status: 200, headers, body: frame });
    const [named, other] = [await startReceiver({ answer }), await startReceiver({ answer })];
    for (const site of [named, other]) whenOver(() => site.close());
    await link.app.withStore(({ database, catalog }) =>
      database.write((tx) =>
        catalog.changeStore(tx, 1, { embedOrigins: `http://localhost:${named.port}` }),
      ),
    );
    const { page, faults } = await openPage(browser);
    await page.goto(`http://localhost:${named.port}/`);
    const inside = page.frameLocator('iframe');
    await inside.getByRole('button', { name: 'Pay with Bitcoin' }).click();
    await inside.locator('#pay svg').first().waitFor();
    expect((await link.orders()).length).toBe(1);
    await payNewest(link);
    await inside.locator('.pill.good').waitFor();
    expect(faults).toEqual([]);
    await page.goto(`http://localhost:${other.port}/`);
    await expect.poll(() => String(faults)).toContain('frame-ancestors');
    expect(await inside.getByRole('button').count()).toBe(0);
    await page.context().close();
  });

  interface Shown {
    readonly name: string;
    readonly path: string;
    /** Sends the form empty. */
    readonly isSent?: boolean;
  }

  /** One app with a link of each kind. */
  async function openAll() {
    const trustedProxy = [parseProxyNetwork('127.0.0.1')];
    const link = await openLink({ ...fixed, description: 'A2' }, { config: { trustedProxy } });
    await setMailServer(link);
    const pathOf = async (body: LinkBody): Promise<string> =>
      `/l/${(await link.app.post('/links', { title: 'Other', ...body })).body.id}`;
    const all: Shown[] = [
      { name: 'fixed', path: link.path },
      { name: 'donation', path: await pathOf(donation) },
      { name: 'donation with errors', path: await pathOf(donation), isSent: true },
      { name: 'closed', path: await pathOf({ amount_sat: 1_000, active: false }) },
    ];
    return { link, all };
  }

  async function faultsOf(
    page: Page,
    { isScripted, language }: PageSettings,
    { isSent = false }: Shown,
  ): Promise<string[]> {
    const findings = await accessibilityFaults(page);
    return [
      // Without script there is no other way to a newer state.
      ...findings.filter((each) => isScripted || !each.startsWith('meta-refresh:')),
      ...(await overflows(page)),
      ...(await languageFaults(page, language)),
      // The focus is at the first field with an error, so the keyboard begins behind it.
      ...(isSent ? [] : await keyboardFaults(page)),
    ];
  }

  test('all pages fit in every setting', async () => {
    const { link, all } = await openAll();
    const faults: unknown[] = [];
    let clients = 0;
    for (const run of settings) {
      const { colorScheme, isScripted, language, width } = run;
      const viewport = { width, height: 800 };
      const options = { colorScheme, javaScriptEnabled: isScripted, viewport };
      const { page, end } = await openFor(link, options);
      async function load({ path, isSent = false }: Shown): Promise<void> {
        clients += 1;
        const client = { 'X-Forwarded-For': `2001:db8:${clients.toString(16)}::1` };
        await page.setExtraHTTPHeaders(client);
        await page.goto(`${originOf(link)}${path}?lang=${language}`);
        if (!isSent) return;
        await page.locator('button.main').click();
        await page.locator('.error').nth(1).waitFor();
      }
      for (const shown of all) {
        const isShiftSeen = isScripted && !shown.isSent;
        const shifts = isShiftSeen ? await shiftsOf(page, () => load(shown)) : [];
        if (!isShiftSeen) await load(shown);
        const found = [...shifts, ...(await faultsOf(page, run, shown))];
        for (const other of widths.filter((each) => each !== width)) {
          await page.setViewportSize({ width: other, height: 800 });
          found.push(...(await overflows(page)).map((each) => `${other}: ${each}`));
        }
        await page.setViewportSize(viewport);
        if (found.length > 0) faults.push([shown.name, colorScheme, width, language, ...found]);
      }
      await end(['status of 400', 'status of 410']);
    }
    expect(faults).toEqual([]);
  });
});
