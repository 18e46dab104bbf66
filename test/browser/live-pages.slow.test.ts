// Live pages behind a network that fails, in a real Chromium: each shows a payment within half a
// minute. The clock of the browser stands still but for what a test lets pass.

import type { Browser, Locator, Page, Request } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { closeApps, type TestApp, untilReady } from '../support/app.ts';
import { openPage, sharedBrowser } from '../support/browser.ts';
import { openTill, type Till } from '../support/checkout.ts';
import { chromiumPath } from '../support/chromium.ts';
import { cleanUp } from '../support/files.ts';
import { type Behaviour, type FlakyProxy, startFlakyProxy } from '../support/flaky-proxy.ts';
import { signedIn } from '../support/visitor.ts';

const startTime = Date.UTC(2025, 10, 20, 15);
/** A live page, and what it shows before and after a payment. */
interface Kind {
  readonly name: string;
  path(till: Till): string;
  before(page: Page): Locator;
  seen(page: Page): Locator;
}

const customerPage: Kind = {
  name: 'the page of a customer',
  path: ({ path }) => path,
  before: (page) => page.getByText('Open in a wallet'),
  seen: (page) => page.getByText('Your payment arrived'),
};

const paymentsPage: Kind = {
  name: 'the list of payments',
  path: () => '/dashboard/payments',
  before: (page) => page.getByText('No payments'),
  seen: (page) => page.getByRole('cell', { name: 'Seen' }),
};

const kinds = [customerPage, paymentsPage];

describe.skipIf(chromiumPath === undefined)('in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await sharedBrowser();
  });
  afterEach(closeApps);
  afterEach(cleanUp);

  interface Followed {
    readonly till: Till;
    readonly proxy: FlakyProxy;
    readonly page: Page;
    /** Lets a time pass in the browser, or less of it if the page shows the payment earlier. */
    seesPaymentWithin(ms: number): Promise<void>;
    isAsBefore(): Promise<boolean>;
    /** Lets a time pass in the browser. */
    pass(ms: number): Promise<void>;
  }

  /** A page behind a proxy. */
  async function open(
    kind: Kind,
    behaviour: Partial<FlakyProxy['behaviour']> = {},
    before = '',
  ): Promise<Followed> {
    const till = await openTill();
    const proxy = await startFlakyProxy(() => till.app.port);
    Object.assign(proxy.behaviour, behaviour);
    const { page } = await openPage(browser);
    await page.context().addCookies([await cookieOf(till.app, proxy)]);
    await page.addInitScript(before);
    await page.clock.install({ time: startTime });
    const underWay = requestsUnderWay(page, proxy);
    // A page whose script hangs never counts as loaded.
    const waitUntil = behaviour.script === 'hang' ? 'commit' : 'load';
    await page.goto(proxy.origin + kind.path(till), { waitUntil });
    await page.evaluate('globalThis.stillTheSame = true');
    const seen = kind.seen(page);
    /** Passes a second, and waits for the answers to what was asked meanwhile. */
    async function passSecond(): Promise<void> {
      await page.clock.runFor(1000);
      await page.evaluate('0');
      await till.app.world.until(() => underWay.size === 0, 'the answers');
      // The script has read them.
      await page.evaluate('0');
    }
    const followed: Followed = {
      ...{ till, proxy, page },
      isAsBefore: () => kind.before(page).isVisible(),
      async seesPaymentWithin(ms) {
        for (let passed = 0; passed < ms && !(await seen.isVisible()); passed += 1000) {
          await passSecond();
        }
        await seen.waitFor();
      },
      async pass(ms) {
        for (let passed = 0; passed < ms; passed += 1000) await passSecond();
      },
    };
    return followed;
  }

  /** Requests for the parts of the page, and for streams, that are to be answered and are not yet. */
  function requestsUnderWay(page: Page, { behaviour }: FlakyProxy): ReadonlySet<Request> {
    const underWay = new Set<Request>();
    const isStream = (request: Request) => request.headers().accept === 'text/event-stream';
    page.on('request', (request) => {
      const isPart = request.headers()['x-paygate-live'] !== undefined;
      const isAnswered = behaviour.stream !== 'hang' && behaviour.stream !== 'buffer';
      if (isPart || (isStream(request) && isAnswered)) underWay.add(request);
    });
    // A stream that is open has its answer.
    page.on('response', (response) => {
      if (isStream(response.request())) underWay.delete(response.request());
    });
    page.on('requestfinished', (request) => underWay.delete(request));
    page.on('requestfailed', (request) => underWay.delete(request));
    return underWay;
  }

  async function cookieOf(app: TestApp, { origin }: FlakyProxy) {
    const { port } = new URL(origin);
    const [name = '', value = ''] = (await signedIn(app)).cookie.split('=');
    return { name: name.replace(String(app.port), port), value, url: origin };
  }

  /** The page with an open stream, after its first request for the parts. Its clock stands still. */
  async function follow(kind: Kind): Promise<Followed> {
    const followed = await open(kind);
    const { proxy, page, till } = followed;
    await till.app.world.until(() => proxy.counts.page > 0, 'the first request for the parts');
    await page.clock.pauseAt(startTime + 60_000);
    await followed.pass(1000);
    return followed;
  }

  async function end({ page }: Followed): Promise<void> {
    expect(await page.evaluate('globalThis.stillTheSame')).toBe(true);
    await page.context().close();
  }

  const cutShort =
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="generator" content="paygate"><ti';
  const signInPage = '<main id="main">Sign in</main><div id="status">Sign in</div>';
  const failures: readonly (readonly [name: string, does: Behaviour])[] = [
    ['502', { status: 502 }],
    ['500', { status: 500 }],
    ['429', { status: 429, headers: { 'Retry-After': '1' } }],
    ['404', { status: 404 }],
    ['cut', 'cut'],
    ['another page with status 200', { status: 200, body: signInPage }],
    ['a redirect', { status: 302, headers: { Location: '/elsewhere' } }],
    ['the start of the page', { status: 200, body: cutShort }],
  ];
  /** Each fault for the page of a customer, and some of them for the dashboard. */
  const ofKinds = (faults: typeof failures, ofDashboard: readonly string[]) =>
    kinds.flatMap((kind) =>
      faults
        .filter(([name]) => kind === customerPage || ofDashboard.includes(name))
        .map(([name, does]) => ({ kind, does, title: `${kind.name}, ${name}` })),
    );

  test.each(ofKinds(failures, ['502', 'another page with status 200', 'the start of the page']))(
    'a request after the event that fails is sent again: $title',
    async ({ kind, does }) => {
      const followed = await follow(kind);
      const { till, proxy } = followed;
      proxy.behaviour.page = does;
      const failed = proxy.next('page');
      await till.pay(25_000);
      await failed;
      await followed.pass(5000);
      expect(await followed.isAsBefore()).toBe(true);
      proxy.behaviour.page = 'pass';
      // Earlier than the stream counts as silent, because its heartbeats stand still here.
      await followed.seesPaymentWithin(8000);
      await end(followed);
    },
  );

  test.each(kinds)('a stream that falls silent without an end: $name', async (kind) => {
    const followed = await follow(kind);
    const { till, proxy } = followed;
    proxy.silenceStreams();
    await till.pay(25_000);
    await followed.seesPaymentWithin(17_000);
    await followed.pass(1000);
    const pages = proxy.counts.page;
    await till.mine(1);
    await till.app.world.until(() => proxy.counts.page > pages, 'an event of the new stream');
    await end(followed);
  });

  test.each(kinds)('a proxy that holds answers back until they end: $name', async (kind) => {
    const followed = await open(kind, { stream: 'buffer' });
    const { till, page } = followed;
    await page.clock.pauseAt(startTime + 60_000);
    await till.pay(25_000);
    await followed.seesPaymentWithin(17_000);
    await end(followed);
  });

  const refusals: readonly (readonly [name: string, does: Behaviour])[] = [
    ['429', { status: 429 }],
    ['502', { status: 502 }],
    ['a redirect', { status: 302, headers: { Location: '/elsewhere' } }],
    ['a page', { status: 200, body: signInPage }],
    ['cut', 'cut'],
    ['no answer', 'hang'],
  ];
  test.each(ofKinds(refusals, ['429']))('no stream is opened: $title', async ({ kind, does }) => {
    const followed = await open(kind, { stream: does });
    const { till, proxy, page } = followed;
    await page.clock.pauseAt(startTime + 60_000);
    await followed.pass(2000);
    await till.pay(25_000);
    await followed.seesPaymentWithin(17_000);
    const { page: pages, stream: streams } = proxy.counts;
    await followed.pass(60_000);
    // One client may ask for 60 pages and streams a minute.
    expect(proxy.counts.page + proxy.counts.stream - pages - streams).toBeLessThan(18);
    proxy.behaviour.stream = 'pass';
    await followed.pass(16_000);
    expect(proxy.openStreams()).toBe(1);
    await end(followed);
  });

  test.each(kinds)('paygate ends the stream for another page: $name', async (kind) => {
    const followed = await follow(kind);
    const { till, proxy } = followed;
    proxy.behaviour.stream = { status: 429 };
    proxy.endStreams();
    await till.app.world.until(() => proxy.openStreams() === 0, 'its end');
    await followed.pass(2000);
    const { stream } = proxy.counts;
    await till.pay(25_000);
    await followed.seesPaymentWithin(17_000);
    // At once, the pages would take each other's streams in turn.
    expect(proxy.counts.stream - stream).toBeLessThan(3);
    await end(followed);
  });

  test.each(kinds)('paygate restarts while the payment comes: $name', async (kind) => {
    const followed = await follow(kind);
    const { till, proxy } = followed;
    await till.app.stop();
    await till.app.world.until(() => proxy.openStreams() === 0, 'the end of the stream');
    till.app.pay(till.address, 25_000);
    await followed.pass(8000);
    expect(await followed.isAsBefore()).toBe(true);
    await till.app.start();
    await untilReady(till.app);
    await followed.seesPaymentWithin(17_000);
    await end(followed);
  });

  test('pages that lost the same server open their streams at different times', async () => {
    const [early, late] = await Promise.all(
      [0, 0.99].map(async (random) => {
        const followed = await open(customerPage, {}, `Math.random = () => ${random}`);
        await followed.till.app.world.until(() => followed.proxy.openStreams() === 1, 'the stream');
        await followed.page.clock.pauseAt(startTime + 60_000);
        await followed.pass(1000);
        const { stream } = followed.proxy.counts;
        followed.proxy.endStreams();
        await followed.till.app.world.until(() => followed.proxy.openStreams() === 0, 'its end');
        await followed.pass(10_000);
        await end(followed);
        return followed.proxy.counts.stream - stream;
      }),
    );
    expect([early, late]).toEqual([1, 0]);
  });

  test('while paygate does not answer, requests get rarer and wait longer', async () => {
    const followed = await follow(customerPage);
    const { proxy } = followed;
    proxy.behaviour.page = { status: 503 };
    proxy.behaviour.stream = { status: 503 };
    proxy.endStreams();
    const start = proxy.counts.page;
    await followed.pass(20_000);
    const first = proxy.counts.page - start;
    expect(first).toBeGreaterThan(3);
    await followed.pass(60_000);
    const later = proxy.counts.page - start - first;
    expect(later).toBeGreaterThan(3);
    expect(later).toBeLessThan(13);
    await end(followed);
  });

  test('a request without an answer ends, and another one follows', async () => {
    const followed = await follow(customerPage);
    const { till, proxy, page } = followed;
    proxy.behaviour.page = 'hang';
    const hung = proxy.next('page');
    await till.pay(25_000);
    await hung;
    proxy.behaviour.page = 'pass';
    const pages = proxy.counts.page;
    await page.clock.runFor(5000);
    expect(proxy.counts.page).toBe(pages);
    await page.clock.runFor(1000);
    await followed.seesPaymentWithin(3000);
    await end(followed);
  });

  test('a slow answer has more time at each attempt', async () => {
    const followed = await follow(customerPage);
    const { till, proxy, page } = followed;
    proxy.behaviour.page = 'hang';
    let hung = proxy.next('page');
    await till.pay(25_000);
    await hung;
    hung = proxy.next('page');
    await page.clock.runFor(6000);
    await page.clock.runFor(2000);
    await hung;
    proxy.behaviour.page = 'pass';
    const pages = proxy.counts.page;
    await page.clock.runFor(9000);
    expect(proxy.counts.page).toBe(pages);
    await page.clock.runFor(3000);
    await followed.seesPaymentWithin(5000);
    await end(followed);
  });

  test.each(kinds)('back online: $name', async (kind) => {
    const followed = await follow(kind);
    const { till, page } = followed;
    await page.context().setOffline(true);
    await till.pay(25_000);
    await followed.pass(5000);
    expect(await followed.isAsBefore()).toBe(true);
    await page.context().setOffline(false);
    await followed.seesPaymentWithin(1000);
    await end(followed);
  });

  const show = (page: Page, isHidden: boolean): Promise<void> =>
    page.evaluate(`{
      Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }`);

  test.each(kinds)(
    'a hidden tab asks for nothing, and is up to date when shown: $name',
    async (kind) => {
      const followed = await follow(kind);
      const { till, proxy, page } = followed;
      await show(page, true);
      await till.app.world.until(() => proxy.openStreams() === 0, 'the end of the stream');
      const { page: pages, stream: streams } = proxy.counts;
      await till.pay(25_000);
      await followed.pass(60_000);
      expect([proxy.counts.page, proxy.counts.stream]).toEqual([pages, streams]);
      expect(await followed.isAsBefore()).toBe(true);
      await show(page, false);
      await followed.seesPaymentWithin(0);
      expect(proxy.counts.stream).toBe(streams + 1);
      await end(followed);
    },
  );

  test('a page that the browser kept for the way back is up to date at once', async () => {
    const followed = await follow(customerPage);
    const { till, proxy, page } = followed;
    proxy.silenceStreams();
    await till.pay(25_000);
    const pages = proxy.counts.page;
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow'))`);
    await followed.pass(1000);
    expect(proxy.counts.page).toBe(pages);
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`);
    await followed.seesPaymentWithin(0);
    await end(followed);
  });

  test('a browser without EventSource follows the stream', async () => {
    const followed = await open(customerPage, {}, 'delete globalThis.EventSource');
    await followed.till.app.world.until(() => followed.proxy.openStreams() === 1, 'the stream');
    await followed.page.clock.pauseAt(startTime + 60_000);
    await followed.till.pay(25_000);
    await followed.seesPaymentWithin(0);
    await end(followed);
  });

  test('heartbeats keep a stream, and bring no request', async () => {
    const followed = await follow(customerPage);
    const { till, proxy, page } = followed;
    const { page: pages, stream: streams } = proxy.counts;
    for (let count = 0; count < 8; count += 1) {
      await page.clock.runFor(12_500);
      const heartbeat = proxy.nextChunk();
      await till.app.world.advance(12_500);
      await heartbeat;
      await page.evaluate('0');
    }
    expect([proxy.counts.page, proxy.counts.stream]).toEqual([pages, streams]);
    await end(followed);
  });

  test('a part that the reader uses follows when it is free', async () => {
    const followed = await follow(paymentsPage);
    const { till, proxy, page } = followed;
    const search = page.getByRole('searchbox');
    await search.focus();
    await till.pay(25_000);
    const pages = proxy.counts.page;
    await followed.pass(40_000);
    expect(await followed.isAsBefore()).toBe(true);
    expect(proxy.counts.page).toBe(pages);
    await search.blur();
    await followed.seesPaymentWithin(1000);
    await end(followed);
  });

  test('a part that the reader begins to use during the request follows when it is free', async () => {
    const followed = await follow(paymentsPage);
    const { till, proxy, page } = followed;
    const search = page.getByRole('searchbox');
    proxy.behaviour.page = 'late';
    const asked = proxy.next('page');
    await till.pay(25_000);
    await asked;
    proxy.behaviour.page = 'pass';
    await search.focus();
    proxy.release();
    await followed.pass(3000);
    expect(await followed.isAsBefore()).toBe(true);
    await search.blur();
    await followed.seesPaymentWithin(1000);
    await end(followed);
  });

  test('the sign-in of a proxy that stays is followed, a short redirect is not', async () => {
    const followed = await follow(paymentsPage);
    const { till, proxy, page } = followed;
    const redirect = { status: 302, headers: { Location: '/elsewhere' } };
    proxy.behaviour.page = redirect;
    await till.pay(25_000);
    await followed.pass(6000);
    expect(await page.evaluate('globalThis.stillTheSame')).toBe(true);
    proxy.behaviour.other = { status: 200, body: '<h1>Sign in at the proxy</h1>' };
    const signIn = page.getByRole('heading', { name: 'Sign in at the proxy' });
    for (let passed = 0; passed < 24 && !(await signIn.isVisible()); passed += 1) {
      await page.clock.runFor(1000);
      await page.evaluate('0').catch(() => undefined);
    }
    await signIn.waitFor();
    await page.context().close();
  });

  test.each(kinds)('a script that never arrives, not even as an error: $name', async (kind) => {
    const { till, page, isAsBefore } = await open(kind, { script: 'hang' });
    await kind.before(page).waitFor();
    await page.clock.pauseAt(startTime + 15_000);
    await till.pay(25_000);
    expect(await isAsBefore()).toBe(true);
    const reloaded = page.waitForEvent('framenavigated');
    await page.clock.runFor(6000);
    await reloaded;
    await kind.seen(page).waitFor();
    await page.context().close();
  });

  test.each(
    ofKinds(
      failures.filter(([name]) => ['502', '429', 'cut'].includes(name)),
      ['502'],
    ),
  )('a script that never arrives, and a page that fails at first: $title', async (fault) => {
    const { kind, does } = fault;
    const { till, proxy, page, isAsBefore } = await open(kind, { script: 'hang' });
    await kind.before(page).waitFor();
    await page.clock.pauseAt(startTime + 15_000);
    await till.pay(25_000);
    proxy.behaviour.other = does;
    const asked =
      does === 'cut' ? page.waitForEvent('requestfailed') : page.waitForEvent('requestfinished');
    await page.clock.runFor(10_000);
    const { referer } = await (await asked).allHeaders();
    // By this, the dashboard knows that no reader asked.
    expect(referer).toBe(page.url());
    await page.evaluate('0');
    expect(await isAsBefore()).toBe(true);
    expect(await page.evaluate('globalThis.stillTheSame')).toBe(true);
    proxy.behaviour.other = 'pass';
    const reloaded = page.waitForEvent('framenavigated');
    await page.clock.runFor(20_000);
    await reloaded;
    await kind.seen(page).waitFor();
    await page.context().close();
  });

  const choice = '<select><option>a</option><option>b</option><option>c</option></select>';
  const ticked = '<input type="checkbox" value="a" checked />';
  const detail = '<details><summary>More</summary>text</details>';
  /** What is put into the page, and how a reader uses it and leaves it. */
  const uses: readonly (readonly [name: string, field: string, use: string, leave: string])[] = [
    ['a focus', '<input />', 'field.focus()', 'field.blur()'],
    ['a typed text', '<input value="a" />', 'field.value = "b"', 'field.value = "a"'],
    ['a long text', '<textarea>a</textarea>', 'field.value = "b"', 'field.value = "a"'],
    ['a tick', ticked, 'field.checked = false', 'field.checked = true'],
    ['a choice', choice, 'field.selectedIndex = 1', 'field.selectedIndex = 0'],
    ['an open detail', detail, 'field.open = true', 'field.open = false'],
  ];

  test.each(uses)(
    'a script that never arrives, and a page in use: %s',
    async (_, field, use, leave) => {
      const { till, proxy, page } = await open(customerPage, { script: 'hang' });
      await customerPage.before(page).waitFor();
      await page.clock.pauseAt(startTime + 15_000);
      await page.evaluate(`{
        const form = document.createElement('form');
        form.innerHTML = ${JSON.stringify(field)};
        document.querySelector('main').append(form);
        globalThis.field = form.firstChild;
        ${use};
      }`);
      await till.pay(25_000);
      const { other } = proxy.counts;
      await page.clock.runFor(30_000);
      await page.evaluate('0');
      expect(proxy.counts.other).toBe(other);
      await page.evaluate(leave);
      // The reader may also begin to use it during the request.
      proxy.behaviour.other = 'late';
      const asked = proxy.next('other');
      await page.clock.runFor(20_000);
      await asked;
      await page.evaluate(use);
      const answered = page.waitForEvent('requestfinished');
      proxy.behaviour.other = 'pass';
      proxy.release();
      await answered;
      await page.evaluate('0');
      expect(await page.evaluate('globalThis.stillTheSame')).toBe(true);
      await page.evaluate(leave);
      const reloaded = page.waitForEvent('framenavigated');
      await page.clock.runFor(20_000);
      await reloaded;
      await customerPage.seen(page).waitFor();
      await page.context().close();
    },
  );

  test('without its script, a page loads itself again; with it, it does not', async () => {
    const opened = await Promise.all(
      kinds.map(async (kind) => ({ kind, ...(await open(kind, { script: { status: 502 } })) })),
    );
    const followed = await Promise.all(kinds.map((kind) => open(kind)));
    const reloaded = opened.map(({ page }) => page.waitForEvent('load'));
    for (const { till } of opened) await till.pay(25_000);
    await Promise.all(reloaded);
    for (const { kind, page } of opened) {
      await kind.seen(page).waitFor();
      await page.context().close();
    }
    for (const each of followed) await end(each);
  });
});
