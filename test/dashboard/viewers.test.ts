// Viewers see orders and payments and change nothing. Each route of the dashboard is tried as a
// viewer; a new one fails here until it is decided.

import { afterEach, describe, expect, test } from 'vitest';
import { pages } from '../../src/dashboard/dashboard.ts';
import { authorizePages } from '../../src/dashboard/pages/stores/authorize-page.tsx';
import { parseProxyNetwork } from '../../src/domain/access/client-address.ts';
import { newTotpSecret, totpCode, totpStep } from '../../src/domain/access/totp.ts';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';
import { closeApps, merchantKey, openApp, type TestApp } from '../support/app.ts';
import { createAuthenticator } from '../support/authenticator.ts';
import { openTill, type Till } from '../support/checkout.ts';
import { dashboardRoutes } from '../support/dashboard-routes.ts';
import { listenTo } from '../support/event-stream.ts';
import {
  cheapHash,
  password,
  signedIn,
  signedInViewer,
  signInAs,
  signInPath,
  type Visitor,
  viewerPassword,
  visitorOf,
} from '../support/visitor.ts';

afterEach(closeApps);

const home = '/dashboard';
const account = `${home}/settings/account`;
const people = `${home}/settings/people`;

/** Routes without a session. */
const forStrangers = new Set([
  '/',
  '/favicon.svg',
  `${home}/assets/:name`,
  signInPath,
  `${home}/enter`,
  `${home}/decide`,
]);

/** What viewers may open, with the actions that they may run there. */
const forViewers: Readonly<Record<string, readonly string[]>> = {
  [home]: [],
  [`${home}/orders`]: [],
  [`${home}/orders/:id`]: [],
  [`${home}/orders/export`]: [],
  [`${home}/orders/labels/export`]: [],
  [`${home}/payments`]: [],
  [`${home}/payments/:id`]: [],
  [`${home}/payments/export`]: [],
  [`${home}/live`]: [],
  [account]: [
    ...['confirm', 'change-password', 'ask-passkey', 'begin-passkey', 'finish-passkey'],
    ...['begin-totp', 'finish-totp', 'end-totp', 'new-codes', 'end-session', 'end-others'],
  ],
  [`${home}/settings/passkeys/:id`]: ['rename', 'remove'],
  [`${home}/sign-out`]: ['sign-out'],
  // Every path that is no page: not found.
  [`${home}/*`]: [],
  '/api-keys/*': [],
};

const actionsAt = (path: string): string[] =>
  [...pages, ...authorizePages].flatMap((page) => {
    const bases = authorizePages.includes(page) ? '/api-keys' : home;
    return (bases + page.path).replace(/\/$/, '') === path ? Object.keys(page.actions ?? {}) : [];
  });

/** A shop with an order and a payment to it. */
async function openShop(): Promise<Till & { readonly payment: string; readonly ofLink: string }> {
  const till = await openTill();
  await till.pay(25_000);
  const { body } = await till.app.post('/links', { title: 'Tips', amount_sat: 20_000 });
  const payer = visitorOf(till.app);
  const { text } = await payer.get(`/l/${body.id}`);
  const [, key = ''] = /name="key" value="([^"]+)"/.exec(text) ?? [];
  await payer.post(`/l/${body.id}`, String(new URLSearchParams({ key })));
  const [ofLink] = (await till.app.get('/orders')).body.data;
  if (ofLink.link_id !== body.id) throw new Error('no order of a link');
  return { ...till, payment: '1', ofLink: ofLink.id };
}

const filled = (path: string, { id, payment }: { id: string; payment: string }): string =>
  path
    .replace(':platform', 'xenforo')
    .replace(':name', 'x')
    .replace('*', 'nowhere')
    .replace(':id', path.includes('/orders/') ? id : path.includes('/payments/') ? payment : '1');

const auditCount = (app: TestApp) => app.withStore(async ({ audit }) => audit.list(100).length);

describe('every route of the dashboard', () => {
  test('S-185 is refused to a viewer, unless it is one of those for viewers', async () => {
    const shop = await openShop();
    const owner = await signedIn(shop.app);
    const viewer = await signedInViewer(shop.app);
    await viewer.get(account);
    const before = await auditCount(shop.app);
    const paths = await dashboardRoutes(shop.app);
    expect(paths.length).toBeGreaterThan(60);
    const decided = new Set([...forStrangers, ...Object.keys(forViewers)]);
    expect([...decided].filter((path) => !paths.includes(path))).toEqual([]);
    for (const path of paths.filter((each) => !forStrangers.has(each))) {
      const url = filled(path, shop);
      const own = forViewers[path];
      for (const does of [...actionsAt(path), 'nothing']) {
        if (own?.includes(does)) continue;
        const sent = await viewer.post(url, `token=${viewer.formToken}&do=${does}`);
        const refused = own !== undefined && actionsAt(path).length === 0 ? 405 : 403;
        expect([path, does, sent.status]).toEqual([path, does, refused]);
      }
      if (path === `${home}/live`) continue;
      const { status } = await viewer.get(url);
      const head = await fetch(`http://127.0.0.1:${shop.app.port}${url}`, {
        ...{ method: 'HEAD', redirect: 'manual', headers: { Cookie: viewer.cookie } },
      });
      const isNone = url.includes('nowhere');
      const wanted = own === undefined ? 403 : isNone ? 404 : 200;
      expect([path, status, head.status]).toEqual([path, wanted, wanted]);
      // The owner is not refused, so the person is the reason.
      if (own === undefined) expect([path, (await owner.get(url)).status]).not.toContain(403);
    }
    expect(await auditCount(shop.app)).toBe(before);
  });

  test('is refused by its action, whatever page the form claims to be of', async () => {
    const shop = await openShop();
    const viewer = await signedInViewer(shop.app);
    const sent = await viewer.submit(home, 'dismiss-restored');
    expect([sent.status, sent.text]).toEqual([403, expect.stringContaining('Only the owner')]);
    expect(sent.text).not.toContain('Stores');
  });
});

/** Every page for viewers that has content, and the files. */
const shownTo = (shop: Awaited<ReturnType<typeof openShop>>): string[] => [
  ...Object.keys(forViewers)
    .filter((path) => !/live|passkeys|\*/.test(path))
    .map((path) => filled(path, shop)),
  `${home}/payments/export?format=paygate`,
  `${home}/orders/${shop.ofLink}`,
  `${home}/payments?q=nothing`,
  `${home}/orders?q=nothing`,
];

describe('what a viewer sees', () => {
  test('S-186 has no key, no wallet, no Callback URL and no webhook', async () => {
    const shop = await openShop();
    const { app } = shop;
    const viewer = await signedInViewer(app);
    const owner = await signedIn(app);
    const { account: xpub } = merchantKey();
    const url = `${app.receiver.origin}/hook`;
    const { callbackUrl, webhookSecret } = await app.withStore(({ catalog, database }) =>
      database.write((tx) => {
        catalog.changeStore(tx, 1, { webhookUrl: url });
        return catalog.store(1);
      }),
    );
    const all = [xpub, app.apiKey, callbackUrl, webhookSecret, app.receiver.origin];
    expect(all.filter((secret) => secret.length < 10)).toEqual([]);
    const seen = await Promise.all(shownTo(shop).map((path) => viewer.get(path)));
    for (const { text } of seen) for (const secret of all) expect(text).not.toContain(secret);
    expect((await owner.get(`${home}/stores/1/wallet`)).text).toContain(xpub);
    expect((await owner.get(`${home}/stores/1/callbacks`)).text).toContain(app.receiver.origin);
  });

  test('has no link and no button that is refused', async () => {
    const shop = await openShop();
    const empty = await openApp();
    for (const app of [shop.app, empty]) {
      const viewer = await signedInViewer(app);
      const start = app === shop.app ? shownTo(shop) : [home, `${home}/orders`, `${home}/payments`];
      for (const path of start) {
        const { text, status } = await viewer.get(path);
        expect([path, status]).toEqual([path, 200]);
        const links = [...text.matchAll(/href="(\/dashboard[^"]*)"/g)].map(([, to = '']) =>
          to.replaceAll('&amp;', '&'),
        );
        for (const to of new Set(links)) {
          if (to.includes('/assets/')) continue;
          expect([path, to, (await viewer.get(to)).status]).toEqual([path, to, 200]);
        }
        const forms = [...text.matchAll(/<form method="post"/g)].length;
        const isOwn = path === account || path.endsWith('/sign-out');
        expect([path, forms > 0]).toEqual([path, isOwn]);
      }
    }
  });
});

describe('a person', () => {
  /** The owner's and a viewer's authenticator app. */
  const [ofOwner, ofViewer] = [1, 2].map((byte) => newTotpSecret(new Uint8Array(20).fill(byte)));
  const code = (app: TestApp, secret = '') => totpCode(secret, totpStep(app.world.now()));

  const attempt = async (app: TestApp, fields: Record<string, string>) =>
    (await signInAs(visitorOf(app), fields)).status;

  const viewerId = (app: TestApp) =>
    app.withStore(async ({ admin }) => admin.personNamed('Anna')?.id ?? 0);

  test('S-187 signs in with the own name, password and code, and with nothing of another', async () => {
    const app = await openApp();
    await signedInViewer(app);
    const id = await viewerId(app);
    expect(id).toBe(2);
    for (const [name, wrong] of [
      ['admin', viewerPassword],
      ['Anna', password],
      ['Bea', viewerPassword],
      ['', viewerPassword],
    ] as const) {
      const seen = await visitorOf(app).submit(signInPath, 'sign-in', {
        ...{ username: name, password: wrong },
      });
      expect([name, seen.status]).toEqual([name, 401]);
      expect(seen.text).toContain('Wrong name or password.');
      expect(seen.text).toContain(`value="${name}"`);
    }
    const zone = 'Asia/Tokyo';
    expect(await attempt(app, { username: ' aNNa ', password: viewerPassword, zone })).toBe(303);
    // The setting of the time zone is the owner's.
    expect(await app.withStore(async ({ state }) => state.timeZone.read())).toBeUndefined();
    expect(await attempt(app, { username: 'admin', password })).toBe(303);
    expect(await attempt(app, { password })).toBe(303);
    await app.withStore(({ admin, database }) =>
      database.write((tx) => {
        admin.setTotp(tx, ofOwner ?? '');
        admin.of(id).setTotp(tx, ofViewer ?? '');
        admin.setRecoveryCodes(tx, ['aaaa-aaaa-aaaa-aaaa-aaaa-aaaa']);
      }),
    );
    const asViewer = { username: 'Anna', password: viewerPassword };
    const recovery = { 'recovery-code': 'aaaa-aaaa-aaaa-aaaa-aaaa-aaaa' };
    expect(await attempt(app, { ...asViewer, code: code(app, ofOwner) })).toBe(401);
    expect(await attempt(app, { ...asViewer, ...recovery })).toBe(401);
    await app.world.advance(minuteMs);
    expect(await attempt(app, { ...asViewer, code: code(app, ofViewer) })).toBe(303);
    // A code of one person does not use up that of the same step of another.
    expect(await attempt(app, { password, code: code(app, ofViewer) })).toBe(401);
    expect(await attempt(app, { password, code: code(app, ofOwner) })).toBe(303);
    expect(await attempt(app, { ...asViewer, code: code(app, ofViewer) })).toBe(401);
  });

  test('who guesses codes of a viewer uses up none of the owner’s', async () => {
    const app = await openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });
    const from = (client: string) =>
      visitorOf(app, {
        headers: {
          'X-Forwarded-For': client,
          'X-Forwarded-Proto': 'https',
          'X-Forwarded-Host': 'pay.example.com',
        },
        origin: 'https://pay.example.com',
      });
    await app.withStore(({ admin, database }) =>
      database.write((tx) => {
        admin.setPassword(tx, app.world.now(), cheapHash(password));
        const viewer = admin.of(admin.addViewer(tx, app.world.now(), 'Anna').id);
        viewer.setPassword(tx, app.world.now(), cheapHash(viewerPassword));
        admin.setTotp(tx, ofOwner ?? '');
        viewer.setTotp(tx, ofViewer ?? '');
      }),
    );
    const guess = async (client: string, fields: Record<string, string>) =>
      (await signInAs(from(client), fields)).status;
    const asViewer = { username: 'Anna', password: viewerPassword, code: '000000' };
    const statuses = [];
    for (let at = 1; at <= 7; at += 1) statuses.push(await guess(`203.0.${at}.1`, asViewer));
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    const asOwner = { username: 'admin', password, code: code(app, ofOwner) };
    expect(await guess('203.0.99.1', asOwner)).toBe(303);
  });

  test('changes the own password, sessions, codes and passkeys, and no other person’s', async () => {
    const app = await openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });
    const origin = 'https://pay.example.com';
    const secure = {
      headers: { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'pay.example.com' },
      origin,
    };
    const owner = await signedIn(app, secure);
    const viewer = await signedInViewer(app, secure);
    const other = visitorOf(app, secure);
    const asViewer = { username: 'Anna', password: viewerPassword };
    await other.submit(signInPath, 'sign-in', asViewer);
    const id = await viewerId(app);
    const authenticator = createAuthenticator(origin);
    const begun = await viewer.submit(account, 'begin-passkey');
    const [, made = ''] = /data-new-passkey="([^"]+)"/.exec(begun.text) ?? [];
    const asked = JSON.parse(made.replaceAll('&quot;', '"'));
    expect(asked.user).toMatchObject({ name: 'Anna', displayName: 'Anna of pay.example.com' });
    const passkey = authenticator.create(asked);
    await viewer.submit(account, 'finish-passkey', { name: 'Phone', 'passkey-new': passkey });
    // Two sessions and a passkey of one's own are listed, and none of the other person's.
    const counts = async (visitor: Visitor) => {
      const { text } = await visitor.get(account);
      return [text.match(/name="session"/g)?.length ?? 0, text.includes('Phone')];
    };
    expect([await counts(owner), await counts(viewer)]).toEqual([
      [0, false],
      [1, true],
    ]);
    const passkeyPath = `${home}/settings/passkeys/1`;
    expect((await owner.get(passkeyPath)).text).toContain('was removed');
    await owner.get(account);
    const post = (does: string, more = '') =>
      owner.post(passkeyPath, `token=${owner.formToken}&do=${does}${more}`);
    expect((await post('rename', '&name=Mine')).status).toBe(404);
    expect((await post('remove')).status).toBe(404);
    // The passkey signs its own person in, and confirms for no other.
    const reads = async (visitor: Visitor, path: string) =>
      authenticator.get(JSON.parse((await visitor.submit(path, 'ask-passkey')).text));
    const byPasskey = visitorOf(app, secure);
    const used = await byPasskey.submit(signInPath, 'use-passkey', {
      passkey: await reads(byPasskey, signInPath),
    });
    expect([used.status, (await byPasskey.get(`${home}/stores`)).status]).toEqual([303, 403]);
    app.world.jumpWallClock(6 * minuteMs);
    const confirmed = async (visitor: Visitor) =>
      visitor.submit(account, 'confirm', { passkey: await reads(visitor, account) });
    const refused = await confirmed(owner);
    expect([refused.status, refused.text]).toEqual([
      401,
      expect.stringContaining('another person’s'),
    ]);
    expect((await confirmed(viewer)).status).toBe(303);
    expect((await owner.submit(account, 'confirm', { password: viewerPassword })).status).toBe(403);
    // A sign-out of other sessions, and a new password, end the person's own sessions alone.
    await viewer.submit(account, 'end-others');
    expect([(await other.get(account)).status, (await owner.get(account)).status]).toEqual([
      303, 200,
    ]);
    const changed = 'walnut harbour thimble';
    await viewer.submit(account, 'change-password', {
      ...{ 'password-new': changed, 'password-again': changed },
    });
    expect((await owner.get(account)).status).toBe(200);
    const rows = await app.withStore(async ({ admin }) => [
      admin.operator()?.passwordHash === admin.of(id).person()?.passwordHash,
      admin.passkeys().length,
      admin.of(id).passkeys().length,
    ]);
    expect(rows).toEqual([false, 0, 1]);
  });

  test('S-189 is named in the audit log', async () => {
    const app = await openApp();
    const owner = await signedIn(app);
    const viewer = await signedInViewer(app);
    await viewer.submit(account, 'begin-totp');
    await viewer.submit(account, 'end-others');
    await owner.submit(`${home}/stores`, 'reveal-key');
    const { text } = await owner.get(`${home}/settings/audit`);
    const rows = [...text.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
      [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => cell.split('<')[0]),
    );
    expect(rows.slice(1).map(([, what, who]) => [what, who])).toEqual([
      ['The merchant API key was shown.', 'admin at 127.0.0.1'],
      ['All other sessions were signed out.', 'Anna at 127.0.0.1'],
    ]);
  });
});

describe('the owner', () => {
  const linkIn = (text: string): string =>
    /\/dashboard\/enter\?token=[\w-]{43}/.exec(text)?.[0] ?? '';
  const fields = { 'password-new': viewerPassword, 'password-again': viewerPassword };

  test('S-188 adds a viewer by a link, and removes one, which ends the sessions at once', async () => {
    const app = await openApp();
    const owner = await signedIn(app);
    const added = await owner.submit(people, 'add-viewer', { name: 'Anna Müller' });
    expect(added.text).toContain('A link for Anna Müller');
    expect(added.text).toContain('within 24 hours');
    expect((await owner.get(people)).text).toContain('no password yet');
    // Without a password the name does not sign in.
    const named = { username: 'Anna Müller', password: '' };
    expect((await visitorOf(app).submit(signInPath, 'sign-in', named)).status).toBe(401);
    app.world.jumpWallClock(23 * hourMs);
    const viewer = visitorOf(app);
    const entered = await viewer.submit(linkIn(added.text), 'enter', fields);
    expect([entered.status, entered.to]).toEqual([303, home]);
    expect((await viewer.get(`${home}/orders`)).status).toBe(200);
    expect((await visitorOf(app).get(linkIn(added.text))).text).toContain('no longer valid');
    // It is the viewer's password that the link sets.
    const again = visitorOf(app);
    await again.submit(signInPath, 'sign-in', {
      username: 'anna müller',
      ...{ password: viewerPassword },
    });
    const stream = await listenTo(app, `${home}/live`, { Cookie: again.cookie });
    const ownerAgain = await signedIn(app);
    const { text } = await ownerAgain.get(people);
    expect(text).toContain('password, signed in now');
    const reset = await ownerAgain.submit(people, 'viewer-link', { person: '2' });
    const removed = await ownerAgain.submit(people, 'remove-viewer', { person: '2' });
    expect(removed.to).toBe(`${people}?done=viewer-removed`);
    expect((await viewer.get(home)).status).toBe(303);
    expect((await again.get(home)).status).toBe(303);
    expect((await visitorOf(app).get(linkIn(reset.text))).text).toContain('no longer valid');
    app.chain.mine();
    await app.settle();
    await app.world.until(() => stream.heard.over, 'its end');
    expect((await ownerAgain.get(home)).status).toBe(200);
    // The name is free again; the number is not.
    const next = await ownerAgain.submit(people, 'add-viewer', { name: 'Anna Müller' });
    expect(next.status).toBe(200);
    expect(
      await app.withStore(async ({ admin, audit }) => [
        admin.people().map(({ id }) => id),
        audit.list(10).map(({ action, detail }) => [action, JSON.parse(detail).viewer]),
      ]),
    ).toEqual([
      [1, 3],
      [
        ['viewer.add', 'Anna Müller'],
        ['viewer.remove', 'Anna Müller'],
        ['viewer.link', 'Anna Müller'],
        ['password.set', undefined],
        ['viewer.add', 'Anna Müller'],
      ],
    ]);
  });

  test('is asked for the password again, and cannot be removed or linked', async () => {
    const app = await openApp();
    const owner = await signedIn(app);
    await signedInViewer(app);
    for (const does of ['viewer-link', 'remove-viewer']) {
      for (const person of ['1', '9', 'x', '']) {
        expect([does, (await owner.submit(people, does, { person })).status]).toEqual([does, 404]);
      }
    }
    app.world.jumpWallClock(6 * minuteMs);
    for (const does of ['add-viewer', 'viewer-link', 'remove-viewer']) {
      const seen = await owner.submit(people, does, { name: 'Bea', person: '2' });
      expect([does, seen.status, seen.text.includes('Type your password again')]).toEqual([
        ...[does, 403, true],
      ]);
    }
    const left = await app.withStore(async ({ admin }) => admin.people().map(({ name }) => name));
    expect(left).toEqual(['admin', 'Anna']);
  });

  test.each([
    ['', 400],
    ['x'.repeat(41), 400],
    ['x'.repeat(40), 200],
    ['<b>', 400],
    ['Anna\u202eb', 400],
    ['ANNA', 409],
    ['Admin', 409],
    ["Zoë O'Neil", 200],
  ])('gives a viewer the name %j: %i', async (name, status) => {
    const app = await openApp();
    await signedInViewer(app);
    const owner = await signedIn(app);
    expect((await owner.submit(people, 'add-viewer', { name })).status).toBe(status);
  });

  test('has fifty viewers at most', async () => {
    const app = await openApp();
    const owner = await signedIn(app);
    await app.withStore(({ admin, database }) =>
      database.write((tx) => {
        for (let at = 0; at < 50; at += 1) admin.addViewer(tx, app.world.now(), `Viewer ${at}`);
      }),
    );
    const seen = await owner.submit(people, 'add-viewer', { name: 'One more' });
    expect([seen.status, seen.text]).toEqual([409, expect.stringContaining('50 viewers already')]);
  });
});

test('S-190 the details of /healthz are for the owner, and not for a viewer', async () => {
  const app = await openApp({ config: { trustedProxy: [parseProxyNetwork('127.0.0.1')] } });
  const secure = {
    ...{ headers: { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'pay.example.com' } },
    origin: 'https://pay.example.com',
  };
  const [owner, viewer] = [await signedIn(app, secure), await signedInViewer(app, secure)];
  for (const path of ['/healthz', '/readyz']) {
    const ofStranger = (await visitorOf(app, secure).get(path)).text;
    expect((await viewer.get(path)).text).toBe(ofStranger);
    expect((await owner.get(path)).text).not.toBe(ofStranger);
  }
});
