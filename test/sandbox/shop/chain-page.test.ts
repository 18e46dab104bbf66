// The guard of the pages that the sandbox adds to the dashboard: the same rules as for its other
// pages. Invalid form fields of the Chain page change nothing.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SimulatedChain } from '../../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../../src/sandbox/electrum/simulated-server.ts';
import { createChainPage } from '../../../src/sandbox/shop/chain-page.tsx';
import { cleanUp } from '../../support/files.ts';
import { openSandbox, type Placed, type Visit } from '../../support/sandbox.ts';
import { type Visitor, visitorOf } from '../../support/visitor.ts';
import { createTestWorld } from '../../support/world.ts';

// One for all: nothing here may change it but what says so.
let visit: Visit;
let order: Placed;
let port: number;
let merchant: Visitor;

beforeAll(async () => {
  visit = await openSandbox();
  order = await visit.order();
  port = Number(new URL(visit.sandbox.apiOrigin).port);
  merchant = await visit.merchant();
});
afterAll(cleanUp);

const path = '/dashboard/chain';
const signIn = '/dashboard/sign-in';
/** Redirect of a form without a session; the page there says that nothing was done. */
const tooLate = `${signIn}?next=${encodeURIComponent(path)}&late=1`;
const form = 'application/x-www-form-urlencoded';
const otherTypes = ['multipart/form-data; boundary=x', 'text/plain', 'application/json'];

/** The state that the page shows. */
function levers(): string[] {
  const world = createTestWorld();
  const chain = new SimulatedChain({ seed: 'levers', now: () => world.now() / 1000 });
  const server = new SimulatedServer({ chain, timer: world });
  const { page } = createChainPage({ world, chain, server, shopUrl: '/' });
  return Object.keys(page.actions ?? {});
}

/** Fields that every lever would understand. */
const fields = (): Record<string, string> => ({
  ...{ address: order.address, amount: '5', how: 'exact', blocks: '1', depth: '1', fate: 'drop' },
  ...{ txid: 'ab'.repeat(32), by: 'fee', seconds: '10' },
});

/** What all levers together can change. */
async function stateOf() {
  const { chain } = visit.sandbox;
  const { text } = await merchant.get(path);
  const isUp = text.includes('It is running');
  return { tip: chain.tip, waiting: chain.mempool().map(({ txid }) => txid), isUp };
}

async function changesNothing(act: () => Promise<void>): Promise<void> {
  const before = await stateOf();
  await act();
  expect(await stateOf()).toEqual(before);
}

const bodyOf = (does: string, token: string): string =>
  String(new URLSearchParams({ token, do: does, ...fields() }));

test('every action of the page is known', () => {
  expect(levers()).toEqual(['pay', 'mine', 'replace', 'reorganise', 'stop', 'start']);
});

describe('the Chain page', () => {
  test('requires a sign-in, which leads back to it', () =>
    changesNothing(async () => {
      const stranger = visitorOf({ port });
      const turned = await stranger.get(`${path}?address=x&amount=5`);
      expect(turned).toMatchObject({ status: 303, text: '' });
      expect(turned.to).toBe(`${signIn}?next=${encodeURIComponent(`${path}?address=x&amount=5`)}`);
      for (const does of levers()) {
        expect(await stranger.post(path, bodyOf(does, ''))).toMatchObject({
          status: 303,
          to: tooLate,
        });
      }
    }));

  test('ends with the session', async () => {
    const own = await openSandbox();
    const other = await own.merchant();
    expect(await other.get(path)).toMatchObject({ status: 200 });
    own.world.jumpWallClock(31 * 60_000);
    expect(await other.get(path)).toMatchObject({ status: 303 });
    const { tip } = own.sandbox.chain;
    const sent = await other.post(path, `token=${other.formToken}&do=mine&blocks=1`);
    expect(sent).toMatchObject({ status: 303, to: tooLate });
    expect(own.sandbox.chain.tip).toBe(tip);
  });

  test.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'])('does not accept %s', async (method) => {
    for (const page of [path, '/dashboard/sandbox']) {
      const headers = { Cookie: merchant.cookie };
      const url = `${visit.sandbox.apiOrigin}${page}`;
      const { status } = await fetch(url, { method, headers, redirect: 'manual' });
      expect([page, status]).toEqual([page, 405]);
    }
  });

  test.each([
    ['another site', { Origin: 'https://evil.example' }],
    ['a frame without an origin', { Origin: 'null' }],
    ['the shop', { Origin: 'SHOP' }],
    ['a site of the same family', { 'Sec-Fetch-Site': 'same-site' }],
    ['another site by its own word', { 'Sec-Fetch-Site': 'cross-site' }],
  ])('does nothing for a form that comes from %s', (_, given) =>
    changesNothing(async () => {
      const { Origin, ...headers }: Record<string, string> = given;
      const own = Origin === undefined ? {} : { Origin };
      if (own.Origin === 'SHOP') own.Origin = visit.sandbox.shopOrigin;
      for (const does of levers()) {
        for (const type of [form, ...otherTypes]) {
          const body = bodyOf(does, merchant.formToken);
          const sent = await merchant.post(path, body, {
            ...{ 'Content-Type': type, ...headers, ...own },
          });
          expect([does, type, sent.status]).toEqual([does, type, 403]);
        }
      }
    }),
  );

  test('does nothing without an origin, without its token, or in another type', () =>
    changesNothing(async () => {
      const { cookie, formToken } = merchant;
      for (const does of levers()) {
        const body = bodyOf(does, formToken);
        const headers = { Cookie: cookie, 'Content-Type': form };
        const bare = { method: 'POST', body, headers, redirect: 'manual' } as const;
        const { status } = await fetch(visit.sandbox.apiOrigin + path, bare);
        expect([does, status]).toEqual([does, 403]);
        for (const token of ['', 'A'.repeat(43), `x${formToken}`]) {
          const sent = await merchant.post(path, bodyOf(does, token));
          expect([does, token, sent.status]).toEqual([does, token, 403]);
        }
        for (const type of otherTypes) {
          const sent = await merchant.post(path, body, { 'Content-Type': type });
          expect([does, type, sent.status]).toEqual([does, type, 400]);
        }
      }
    }));

  test('is in no frame, runs no foreign script and is not cached', async () => {
    for (const page of [path, `${path}?address=x`, '/dashboard/sandbox']) {
      const { headers, text } = await merchant.get(page);
      const policy = headers.get('Content-Security-Policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get('X-Frame-Options')).toBe('DENY');
      expect(headers.get('Cache-Control')).toContain('no-store');
      expect(text).not.toMatch(/<[^>]+ (style|on[a-z]+)=|<script>|<style|javascript:/i);
    }
  });
});

describe('the link that signs in', () => {
  test.each(['', 'key=', `key=${'0'.repeat(32)}`])(
    'is invalid with another key: %s',
    async (query) => {
      const stranger = visitorOf({ port });
      const refused = await stranger.get(`/dashboard/sandbox?${query}&next=${path}`);
      expect(refused.status).toBe(403);
      expect(await stranger.get(path)).toMatchObject({ status: 303 });
    },
  );

  test('begins a new session, whatever cookie the browser sent', async () => {
    const visitor = visitorOf({ port });
    const planted = `paygate-${port}=planted-by-somebody-else`;
    visitor.cookie = planted;
    const { links, apiOrigin } = visit.sandbox;
    expect(await visitor.get(links.chain.slice(apiOrigin.length))).toMatchObject({ to: path });
    expect(visitor.cookie).not.toBe(planted);
    const thief = visitorOf({ port });
    thief.cookie = planted;
    expect(await thief.get(path)).toMatchObject({ status: 303 });
  });

  test.each(['//evil.example', 'https://evil.example', '/dashboard/../evil', '/dashboard//x'])(
    'does not redirect to another place: %s',
    async (next) => {
      const { links, apiOrigin } = visit.sandbox;
      const link = new URL(links.dashboard);
      link.searchParams.set('next', next);
      const led = await visitorOf({ port }).get(link.href.slice(apiOrigin.length));
      expect(led).toMatchObject({ status: 303, to: '/dashboard' });
    },
  );
});

test('the answer to a form is not refreshed, because another page has its URL', async () => {
  const shown = await merchant.get(path);
  expect(shown.text).toContain('data-live="/dashboard/live"');
  expect(shown.headers.get('Refresh')).toBe('20');
  const refused = await visit.pull('mine', { blocks: '0' });
  expect(refused.status).toBe(400);
  expect(refused.text).not.toContain('data-live=');
  expect(refused.headers.get('Refresh')).toBeNull();
});

describe('foreign text', () => {
  const script = '"><script>alert(1)</script>';

  test('is escaped', async () => {
    const query = new URLSearchParams({ address: script, amount: script });
    const shown = await merchant.get(`${path}?${query}`);
    expect(shown.text).not.toContain('<script>');
    expect(shown.text).toContain('&quot;&gt;&lt;script&gt;');
    const paid = await visit.pull('pay', { address: script, amount: '1', how: 'exact' });
    expect(paid.status).toBe(400);
    expect(paid.text).not.toContain('<script>');
  });

  test.each([
    ['pay', { amount: '0', how: 'exact' }],
    ['pay', { amount: '1e3', how: 'exact' }],
    ['pay', { amount: '9999999999', how: 'exact' }],
    ['pay', { amount: '5', how: 'constructor' }],
    ['pay', { address: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', amount: '5', how: 'exact' }],
    ['pay', { address: '', amount: '5', how: 'exact' }],
    ['mine', { blocks: '0' }],
    ['mine', { blocks: '7' }],
    ['mine', {}],
    ['reorganise', { depth: '11', fate: 'drop' }],
    ['reorganise', { depth: '1', fate: 'mempool' }],
    ['replace', { txid: 'none', by: '' }],
    ['stop', { seconds: '61' }],
    ['stop', { seconds: '0' }],
  ])('that is invalid changes nothing: %s %o', (does, given: Record<string, string>) =>
    changesNothing(async () => {
      const refused = await visit.pull(does, { address: order.address, ...given });
      expect(refused).toMatchObject({
        status: 400,
        text: expect.stringContaining('role="alert"'),
      });
    }),
  );
});
