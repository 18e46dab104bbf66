// Errors of forms: all at once, each at its field, worded for the page, beside what was typed.

import { afterEach, describe, expect, test } from 'vitest';
import { firstAddresses } from '../../src/bitcoin/keychain.ts';
import { inWordsOfPages } from '../../src/dashboard/parts/page-words.ts';
import { parsePriceSource } from '../../src/price/sources.ts';
import { closeApps, merchantKey, openApp } from '../support/app.ts';
import { guessablePasswords } from '../support/guessable-passwords.ts';
import { password, type Seen, signedIn } from '../support/visitor.ts';

afterEach(closeApps);

const stores = '/dashboard/stores';
const lateMs = 6 * 60_000;

/** The inputs that are marked, in their order on the page, each with the text that describes it. */
function faultsOf({ text }: Seen): (readonly [name: string, text: string | undefined])[] {
  const tags = [...text.matchAll(/<(?:input|textarea|select)[^>]*aria-invalid="true"[^>]*>/g)];
  return tags.map(([tag]) => {
    const name = /name="([^"]*)"/.exec(tag)?.[1] ?? '';
    const id = /aria-describedby="([^"]*)"/.exec(tag)?.[1];
    const [, told] = new RegExp(`<p id="${id}" class="fault">([^<]*)</p>`).exec(text) ?? [];
    return [name, told] as const;
  });
}

const focused = ({ text }: Seen): string[] =>
  [...text.matchAll(/<(?:input|textarea|select)[^>]*autofocus[^>]*>/g)].map(
    ([tag]) => /name="([^"]*)"/.exec(tag)?.[1] ?? '',
  );

describe('a refused form', () => {
  test('of a new store marks every field that is wrong, and has the focus at the first', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const seen = await visitor.submit(`${stores}/new`, 'add', {
      key: merchantKey(2).account,
      letters: 'qqqqqq',
      name: ' ',
      currency: 'EURO',
    });
    expect(seen.status).toBe(400);
    expect(faultsOf(seen).map(([name]) => name)).toEqual(['letters', 'name', 'currency']);
    for (const [name, text] of faultsOf(seen)) {
      expect([name, text]).toEqual([name, expect.stringMatching(/^\p{Lu}.*\.$/u)]);
    }
    expect(focused(seen)).toEqual(['letters']);
    const [, summary = ''] = /role="alert" class="problem">(.*?)<\/div>/s.exec(seen.text) ?? [];
    expect(summary.match(/<li>/g)).toHaveLength(3);
    expect(seen.text).not.toMatch(/--[a-z]/);
    await app.withStore(async ({ catalog }) => expect(catalog.stores()).toHaveLength(1));
  });

  test('of settings names each field that is wrong, and keeps what was typed', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const wrong = { name: 'A', confirmations: '0', 'above-0': 'much', 'depth-0': '6' };
    const seen = await visitor.submit(`${stores}/1/general`, 'change', wrong);
    expect(faultsOf(seen).map(([name]) => name)).toEqual(['confirmations', 'above-0']);
    expect(focused(seen)).toEqual(['confirmations']);
    expect(seen.text).toContain(
      'Confirmations until a payment is final: A whole number from 1 to 100',
    );
    const url = { 'callback-url': 'http://10.0.0.5/paid' };
    const refused = await visitor.submit(`${stores}/1/callbacks`, 'change', url);
    expect(faultsOf(refused)).toEqual([['callback-url', expect.stringMatching(/^10\.0/)]]);
    expect(refused.text).toContain('value="http://10.0.0.5/paid"');
    expect(refused.text).not.toMatch(/--[a-z]/);
  });

  test('with one fault says it at the top and at its field', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const seen = await visitor.submit(`${stores}/new`, 'look', { key: 'tpubWrong' });
    const [[name, text] = []] = faultsOf(seen);
    expect([name, focused(seen)]).toEqual(['key', ['key']]);
    expect(seen.text).toContain(`<p role="alert" class="problem">`);
    expect(text).not.toBe('');
    expect(seen.text).not.toContain('tpubWrong');
  });

  test('marks a wrong password in the form that was sent, and repeats none', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    app.world.jumpWallClock(lateMs);
    const page = `${stores}/1/keys`;
    const seen = await visitor.submit(page, 'add-key', {
      scope: 'read',
      password: 'wrong battery',
    });
    expect([seen.status, faultsOf(seen)]).toEqual([403, [['password', 'Wrong password.']]]);
    expect(seen.text).not.toContain('wrong battery');
    const missing = await visitor.submit(page, 'add-key', { scope: 'read' });
    expect(faultsOf(missing)).toEqual([['password', 'Type your password again for this.']]);
    expect((await visitor.submit(page, 'add-key', { scope: 'read', password })).status).toBe(200);
  });

  test('of a new password marks it, and repeats none', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const change = (fresh: string, again: string) =>
      visitor.submit('/dashboard/settings/account', 'change-password', {
        'password-new': fresh,
        'password-again': again,
      });
    const other = await change('a quite new password', 'another new password');
    expect(faultsOf(other)).toEqual([['password-again', 'The two passwords do not match.']]);
    const names = ['paygate.shop.example', 'tulip garden tulip garden'];
    await app.addStore({ name: 'Tulip Garden' });
    for (const text of [...guessablePasswords, ...names]) {
      const weak = await change(text, text);
      expect([text, faultsOf(weak).map(([name]) => name)]).toEqual([text, ['password-new']]);
      expect(weak.text).not.toContain(`"${text}"`);
    }
  });

  test('at the field of a Callback URL that another store has', async () => {
    const app = await openApp();
    await app.addStore({ key: merchantKey(2), callbackUrl: 'https://shop.example/two' });
    const visitor = await signedIn(app);
    const seen = await visitor.submit(`${stores}/1/callbacks`, 'change', {
      'callback-url': 'https://shop.example/two',
      'allow-private': 'on',
    });
    const [[name, text] = []] = faultsOf(seen);
    expect([seen.status, name]).toEqual([409, 'callback-url']);
    expect(text).toContain('has this Callback URL already');
    expect(text).not.toContain('paygate store');
  });

  test('of Rates marks a currency that is none', async () => {
    const priceSource = [parsePriceSource('https://price.example/#{CODE}')];
    const app = await openApp({ config: { price: 'own', priceSource } });
    const visitor = await signedIn(app);
    const seen = await visitor.submit('/dashboard/settings/rates', 'ask', { currency: 'EURO' });
    expect(faultsOf(seen).map(([name]) => name)).toEqual(['currency']);
  });
});

test.each([
  ['name: 1 to 100 characters expected', 'Name: 1 to 100 characters expected.'],
  [
    '10.0.0.5 is a private address, which this store must allow: --allow-private-callback, or the tick for it in the dashboard',
    '10.0.0.5 is a private address, which this store must allow: tick “URLs may lead to a private or loopback address”',
  ],
  [
    'this key is wallet 1 already; leave --start-index out',
    'This key is wallet 1 already; leave “Start at index” empty.',
  ],
  ['Is it right?', 'Is it right?'],
])('%j is a sentence of the page', (text, words) => {
  expect(inWordsOfPages(text)).toBe(words);
});

describe('the pages of a store', () => {
  test('ask for the password at most twice each, and a grave act on a page of its own', async () => {
    const app = await openApp();
    await app.withStore(({ catalog, database }) =>
      database.write((tx) =>
        catalog.changeStore(tx, 1, { webhookUrl: 'https://shop.example/hook' }),
      ),
    );
    const visitor = await signedIn(app);
    app.world.jumpWallClock(lateMs);
    const sections = ['', 'general', 'wallet', 'callbacks', 'webhooks', 'keys', 'plugin', 'danger'];
    for (const section of sections) {
      const { text, status } = await visitor.get(`${stores}/1/${section}`.replace(/\/$/, ''));
      expect([section, status]).toEqual([section, 200]);
      expect(text.match(/aria-current="page"/g)?.length).toBe(2);
      expect([section, (text.match(/type="password"/g) ?? []).length <= 2]).toEqual([
        section,
        true,
      ]);
      expect(text).not.toContain('class="danger"');
    }
    const grave = ['remove', 'replace-secret'];
    for (const act of [...grave.map((each) => `1/${each}`), 'replace-key']) {
      const { text } = await visitor.get(`${stores}/${act}`);
      expect([act, text.match(/type="password"/g)?.length]).toEqual([act, 1]);
      expect(text).toContain('What will happen:');
      expect(text).toMatch(/>Cancel<\/a>/);
    }
  });

  test('begin with what is missing', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const overview = async () => (await visitor.get(`${stores}/1`)).text;
    expect(await overview()).toContain('No test has reached a shop yet');
    await visitor.submit(`${stores}/1/callbacks`, 'send-test');
    expect(await overview()).not.toContain('No test has reached a shop yet');
    await app.withStore(({ catalog, database }) =>
      database.write((tx) => catalog.changeStore(tx, 1, { walletId: null })),
    );
    expect(await overview()).toContain('This store has no wallet');
  });

  test('say “Saved” before the form that was saved, because the page opens there', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const fields = { name: 'Renamed', confirmations: '3' };
    const { to = '' } = await visitor.submit(`${stores}/1/general`, 'change', fields);
    const { text } = await visitor.get(to.replace(/#.*/, ''));
    expect(text).toMatch(/<section id="change"[^>]*><p role="status" class="note">Saved\.<\/p>/);
  });

  test('show what a plugin asks for, after it was opened', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const { to } = await visitor.submit(`${stores}/1/plugin`, 'allow-plugin', { key: '1' });
    expect(to).toBe(`${stores}/1/plugin?done=opened`);
    const { text } = await visitor.get(to ?? '');
    expect(text).toContain('A plugin may now set up its store.');
    expect(text).toContain(`<code>http://127.0.0.1:${app.port}/api</code>`);
    expect(text).toContain('API key of all stores');
  });
});

describe('adding a store', () => {
  test('for a program ends with key, secret, a request that works, and a test', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const letters = firstAddresses(merchantKey(2), 1)[0]?.slice(-6) ?? '';
    const added = await visitor.submit(`${stores}/new`, 'add', {
      ...{ key: merchantKey(2).account, letters, name: 'Two', way: 'program' },
    });
    const first = await visitor.get(added.to ?? '');
    expect(first.text).toContain('Set one of them first.');
    expect(first.text).not.toContain('Send test');
    await visitor.submit(`${stores}/2/callbacks`, 'change', {
      ...{ 'callback-url': `${app.receiver.origin}/two?secret=a'b`, 'allow-private': 'on' },
    });
    const ready = await visitor.get(added.to ?? '');
    const secret = await app.withStore(async ({ catalog }) => catalog.store(2).webhookSecret);
    expect(ready.text).not.toContain(app.apiKey);
    expect(ready.text).not.toContain(secret);
    expect(ready.text).not.toContain('Set one of them first.');
    const path = added.to?.replace(/\?.*/, '') ?? '';
    const shown = await visitor.submit(path, 'reveal');
    for (const each of [app.apiKey, secret, '--data-urlencode']) {
      expect(shown.text).toContain(each);
    }
    const sent = await visitor.submit(path, 'send-test');
    expect(sent.text).toContain('the callback is delivered');
    expect(sent.text).toContain('continue the setup');
  });

  test('says that a second store on the same key shares its counter', async () => {
    const app = await openApp();
    const visitor = await signedIn(app);
    const key = merchantKey(1);
    const looked = await visitor.submit(`${stores}/new`, 'look', { key: key.account });
    expect(looked.text).toMatch(/“Shop” uses this wallet, too. The stores share one counter/);
    for (const wallet of ['Sparrow', 'Electrum', 'BlueWallet', 'Trezor Suite', 'Ledger Live']) {
      expect(looked.text).toContain(wallet);
    }
    const added = await visitor.submit(`${stores}/new`, 'add', {
      ...{ key: key.account, letters: firstAddresses(key, 1)[0] ?? '', name: 'Two' },
    });
    expect((await visitor.get(added.to ?? '')).text).toContain('share one counter');
    expect((await visitor.get(`${stores}/1/wallet`)).text).toContain('“Two” uses this wallet');
    const other = await visitor.submit(`${stores}/new`, 'look', { key: merchantKey(2).account });
    expect(other.text).not.toContain('share one counter');
  });
});
