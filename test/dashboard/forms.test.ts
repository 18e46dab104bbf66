// Forms as people send them: with a wrong password, with a mistyped key, from an outdated page, and
// twice because of a second click.

import { afterEach, describe, expect, test } from 'vitest';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { closeApps, merchantKey, openApp, type TestApp, untilReady } from '../support/app.ts';
import { type Seen, signedIn, type Visitor } from '../support/visitor.ts';

afterEach(closeApps);

const stores = '/dashboard/stores';
const one = `${stores}/1`;
const general = `${one}/general`;
const callbacks = `${one}/callbacks`;
/** Long enough that the password is no longer recent. */
const lateMs = 6 * 60_000;

async function late(app: TestApp): Promise<Visitor> {
  const visitor = await signedIn(app);
  app.world.jumpWallClock(lateMs);
  return visitor;
}

/** The form of a page with the given action. */
const formOf = ({ text }: Seen, does: string): string =>
  [...text.matchAll(/<form.*?<\/form>/gs)]
    .map(([form]) => form)
    .find((form) => form.includes(`name="do" value="${does}"`)) ?? '';

/** The fields that a browser sends for an untouched form. */
function fieldsOf(form: string): URLSearchParams {
  const unescaped = (text: string): string =>
    text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
  const fields = new URLSearchParams();
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1] ?? '';
    if (tag.includes('type="checkbox"') && !/\schecked=/.test(tag)) continue;
    fields.append(name, unescaped(/value="([^"]*)"/.exec(tag)?.[1] ?? ''));
  }
  for (const [, name = '', options = ''] of form.matchAll(
    /<select name="([^"]*)">(.*?)<\/select>/gs,
  )) {
    const values = [...options.matchAll(/<option value="([^"]*)"([^>]*)>/g)];
    const chosen = values.find(([, , rest = '']) => rest.includes('selected')) ?? values[0];
    fields.append(name, chosen?.[1] ?? '');
  }
  return fields;
}

const storeOf = (app: TestApp) => app.withStore(async ({ catalog }) => catalog.store(1));

describe('a choice stays after a wrong password', () => {
  test.each([
    [`${one}/keys`, 'add-key', { scope: 'read' }],
    [`${one}/remove`, 'remove', { 'stop-callbacks': 'on' }],
    [`${stores}/replace-key`, 'rotate-key', { overlap: 'at-once' }],
    [`${one}/wallet/new`, 'use-known', { wallet: '3' }],
    [`${one}/plugin`, 'allow-plugin', { key: '3' }],
  ])('at %s, %s', async (path, does, chosen) => {
    const app = await openApp();
    await app.addStore({ key: merchantKey(2) });
    await app.addStore({ key: merchantKey(3) });
    await app.withStore(async ({ keys, database }) => {
      for (const byte of [7, 8]) {
        const secret = new Uint8Array(32).fill(byte);
        await database.write((tx) =>
          keys.add(tx, app.world.now(), { storeId: 1, scope: 'payments', secret }),
        );
      }
    });
    const visitor = await late(app);
    const refused = await visitor.submit(path, does, { ...chosen, password: 'not the password' });
    expect(refused.status).toBe(403);
    const again = Object.fromEntries(fieldsOf(formOf(refused, does)));
    expect(again).toMatchObject(chosen);
  });

  test('a refused form does not change other forms of the page', async () => {
    const app = await openApp();
    const visitor = await late(app);
    const typed = { scope: 'read', password: 'not the password' };
    const refused = await visitor.submit(`${one}/keys`, 'reveal-secret', typed);
    expect(refused.status).toBe(403);
    expect(fieldsOf(formOf(refused, 'add-key')).get('scope')).toBe('payments');
    expect(formOf(refused, 'add-key')).not.toContain('aria-invalid');
    expect(formOf(refused, 'reveal-secret')).toMatch(/name="password"[^>]*aria-invalid="true"/);
  });

  test('switches stay as they were sent, and as they are in the file before', async () => {
    const app = await openApp({ store: { callbackUrl: 'https://shop.example/paid' } });
    await app.withStore(async ({ catalog, database }) => {
      await database.write((tx) =>
        catalog.changeStore(tx, 1, { reversalCallback: true, omitRbf: true }),
      );
    });
    const before = await storeOf(app);
    const visitor = await late(app);
    const first = fieldsOf(formOf(await visitor.get(callbacks), 'change'));
    first.set('minimum', '0.001');
    first.set('password', 'not the password');
    const refused = await visitor.post(callbacks, String(first));
    expect(refused.status).toBe(403);
    const form = fieldsOf(formOf(refused, 'change'));
    form.set('password', 'velvet otter ladder');
    const saved = await visitor.post(callbacks, String(form));
    expect(saved.to).toBe(`${callbacks}?done=saved#change`);
    expect(await storeOf(app)).toEqual({ ...before, minimumSat: 100_000 });
  });

  test('the start index stays after a mistyped key', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const typed = { 'start-index': '5000', 'allow-depth': 'on' };
    const refused = await visitor.submit(`${stores}/new`, 'look', { ...typed, key: 'tpubWrong' });
    expect(refused.status).toBe(400);
    const form = formOf(refused, 'look');
    expect(Object.fromEntries(fieldsOf(form))).toMatchObject(typed);
    expect(form).toMatch(/<details open/);
    expect(form).not.toContain('tpubWrong');
  });
});

test('a Callback URL that needs a permission is refused, and the page shows the switch for it', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  for (const [url, field] of [
    ['https://10.0.0.5/paid', 'allow-private'],
    ['http://shop.example/paid', 'allow-http'],
  ] as const) {
    const fields = { 'callback-url': url };
    const refused = await visitor.submit(`${stores}/1/callbacks`, 'change', fields);
    expect([url, refused.status]).toEqual([url, 400]);
    expect(refused.text).toMatch(/(allow it for this store|must allow): tick “URLs may/);
    expect(refused.text).not.toMatch(/--[a-z]/);
    expect(formOf(refused, 'change')).toContain(`name="${field}"`);
  }
});

test.each([
  ['0.5', '', 'Larger amounts'],
  ['', '6', 'Larger amounts'],
  ['much', '6', 'Larger amounts'],
  ['0.5', '0', 'Larger amounts'],
])(
  'above %j BTC %j confirmations are refused by the name that the page has',
  async (above, depth, said) => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const form = fieldsOf(formOf(await visitor.get(general), 'change'));
    form.set('above-0', above);
    form.set('depth-0', depth);
    const refused = await visitor.post(general, String(form));
    const [, problem = ''] = /class="problem">(.*?)<\/p>/s.exec(refused.text) ?? [];
    expect([refused.status, problem]).toEqual([400, expect.stringContaining(said)]);
    expect(problem).not.toContain('depth-0');
    expect(fieldsOf(formOf(refused, 'change')).get('depth-0')).toBe(depth);
  },
);

test('a form that changes nothing writes no audit entry', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const send = async (name: string) => {
    const form = fieldsOf(formOf(await visitor.get(general), 'change'));
    form.set('name', name);
    expect((await visitor.post(general, String(form))).status).toBe(303);
    return (await visitor.get('/dashboard/settings/audit')).text.includes('store.change');
  };
  expect(await send('Shop')).toBe(false);
  expect(await send('Shop 1')).toBe(true);
});

test('a second click on the same wallet or a closed window writes no audit entry', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const logged = async (action: string) => {
    const { text } = await visitor.get('/dashboard/settings/audit');
    return text.split(`>${action}<`).length - 1;
  };
  expect((await visitor.submit(`${one}/wallet/new`, 'use-known', { wallet: '1' })).status).toBe(
    303,
  );
  expect(await logged('store.attach')).toBe(0);
  await visitor.submit(`${one}/plugin`, 'allow-plugin', { key: '1' });
  for (const _ of ['first', 'second']) {
    expect((await visitor.submit(`${one}/plugin`, 'shut-plugin', { key: '1' })).status).toBe(303);
  }
  expect(await logged('plugin.shut')).toBe(1);
});

describe('an outdated page', () => {
  test('does not overwrite the Callback URL that a plugin has set', async () => {
    const app = await openApp();
    await untilReady(app);
    const visitor = await signedIn(app);
    await visitor.submit(`${one}/plugin`, 'allow-plugin', { key: '1' });
    const page = await visitor.get(callbacks);
    const byPlugin = `${app.receiver.origin}/set-by-plugin`;
    const body = JSON.stringify({ http_callback: byPlugin });
    expect((await app.ask('/api/v2/stores/1', { method: 'POST', body })).status).toBe(200);
    const form = fieldsOf(formOf(page, 'change'));
    form.set('minimum', '0.001');
    const refused = await visitor.post(callbacks, String(form));
    expect([refused.status, (await storeOf(app)).callbackUrl]).toEqual([409, byPlugin]);
    expect(refused.text).toContain(byPlugin);
    // The page shows the current values, ready to be changed.
    const again = fieldsOf(formOf(refused, 'change'));
    expect([again.get('callback-url'), again.get('minimum')]).toEqual([byPlugin, '']);
    again.set('minimum', '0.001');
    expect((await visitor.post(callbacks, String(again))).status).toBe(303);
    expect(await storeOf(app)).toMatchObject({ callbackUrl: byPlugin, minimumSat: 100_000 });
  });

  test('does not overwrite it after another refusal either', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const form = fieldsOf(formOf(await visitor.get(general), 'change'));
    form.set('name', 'Renamed');
    const renamed = await visitor.post(general, String(form));
    expect(renamed.status).toBe(303);
    form.set('confirmations', '101');
    const refused = await visitor.post(general, String(form));
    expect(refused.status).toBe(400);
    const again = fieldsOf(formOf(refused, 'change'));
    again.set('confirmations', '5');
    again.set('name', 'Again');
    expect((await visitor.post(general, String(again))).status).toBe(409);
    expect((await storeOf(app)).name).toBe('Renamed');
  });

  test('is no error if the values are already as requested, as after a second click', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const form = fieldsOf(formOf(await visitor.get(general), 'change'));
    form.set('name', 'Renamed');
    const seen = [
      await visitor.post(general, String(form)),
      await visitor.post(general, String(form)),
    ];
    expect(seen.map(({ status }) => status)).toEqual([303, 303]);
    expect((await storeOf(app)).name).toBe('Renamed');
  });
});

test('an outdated page of a removed store does not undo the removal', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const page = await visitor.get(general);
  const keyPage = await visitor.get(`${one}/keys`);
  const confirming = await visitor.get(`${one}/remove`);
  const stop = { 'stop-callbacks': 'on' };
  expect((await visitor.submit(`${one}/remove`, 'remove', stop)).status).toBe(303);
  const removed = await storeOf(app);
  const forms = [
    [`${one}/remove`, confirming, 'remove'],
    [general, page, 'change'],
    [`${one}/keys`, keyPage, 'add-key'],
  ] as const;
  for (const [path, shown, does] of forms) {
    const seen = await visitor.post(path, String(fieldsOf(formOf(shown, does))));
    expect([does, seen.status]).toEqual([does, 409]);
    expect(seen.text).toContain('Store 1 was removed');
  }
  expect(await storeOf(app)).toEqual(removed);
  await app.withStore(async ({ keys }) => {
    expect(keys.list(app.world.now())).toHaveLength(1);
  });
});

describe('a form that is sent twice', () => {
  const twice = async (visitor: Visitor, path: string, form: URLSearchParams) => [
    await visitor.post(path, String(form)),
    await visitor.post(path, String(form)),
  ];

  const replacing = `${one}/replace-secret`;

  test('creates one new secret, and the previous one continues to sign', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const { webhookSecret } = await storeOf(app);
    const page = await visitor.get(replacing);
    const form = fieldsOf(formOf(page, 'rotate-secret'));
    const seen = await twice(visitor, replacing, form);
    expect(seen.map(({ status }) => status)).toEqual([200, 409]);
    expect((await storeOf(app)).previousWebhookSecret).toBe(webhookSecret);
    // The form of the error page can replace the secret again.
    const again = fieldsOf(formOf(seen[1] ?? page, 'rotate-secret'));
    expect((await visitor.post(replacing, String(again))).status).toBe(200);
  });

  test('creates none if another page was faster, also after a mistyped password', async () => {
    const app = await openApp();
    const visitor = await late(app);
    const form = fieldsOf(formOf(await visitor.get(replacing), 'rotate-secret'));
    expect((await (await signedIn(app)).submit(replacing, 'rotate-secret')).status).toBe(200);
    const { webhookSecret } = await storeOf(app);
    form.set('password', 'not the password');
    const refused = await visitor.post(replacing, String(form));
    expect(refused.status).toBe(403);
    const again = fieldsOf(formOf(refused, 'rotate-secret'));
    again.set('password', 'velvet otter ladder');
    expect((await visitor.post(replacing, String(again))).status).toBe(409);
    expect((await storeOf(app)).webhookSecret).toBe(webhookSecret);
  });

  test('adds one store', async () => {
    const app = await openApp();
    await untilReady(app);
    const visitor = await signedIn(app);
    const key = merchantKey(2);
    await visitor.get(`${stores}/new`);
    const form = new URLSearchParams({
      ...{ token: visitor.formToken, do: 'add', key: key.account },
      letters: firstAddresses(key, 1)[0]?.slice(-6) ?? '',
      name: 'New',
    });
    const seen = await twice(visitor, `${stores}/new`, form);
    expect(seen.map(({ status }) => status)).toEqual([303, 409]);
    expect(seen[1]?.text).toContain('&quot;New&quot;');
    await app.withStore(async ({ catalog }) => expect(catalog.stores()).toHaveLength(2));
  });
});
