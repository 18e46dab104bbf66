// The lists of payments, deliveries, addresses and servers, and their detail pages.

import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { closeApps, merchantKey, openApp, type TestApp, untilReady } from '../support/app.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);

const home = '/dashboard';
const dayMs = 86_400_000;

async function open(options: Parameters<typeof openApp>[0] = {}) {
  const app = await openApp(options);
  await untilReady(app);
  return { app, visitor: await signedIn(app) };
}

async function payNew(app: TestApp, valueSat = 20_000) {
  const address = await app.newAddress();
  const txid = app.pay(address, valueSat);
  await app.settle();
  return { address, txid };
}

/** The main element of the page. */
const mainOf = (text: string): string => /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? '';

const links = (text: string, path: string): string[] =>
  [...mainOf(text).matchAll(new RegExp(`href="(${home}/${path}/\\d+)"`, 'g'))].map(
    ([, link = '']) => link,
  );

describe('payments', () => {
  test('are found by address, transaction, store, state and day', async () => {
    const { app, visitor } = await open();
    const first = await payNew(app, 12_345);
    app.chain.mine(1);
    await app.settle();
    const second = await payNew(app, 54_321);
    const found = async (query: string): Promise<number> => {
      const { status, text } = await visitor.get(`${home}/payments${query}`);
      expect([query, status]).toEqual([query, 200]);
      return links(text, 'payments').length;
    };
    const today = new Date(app.world.now()).toISOString().slice(0, 10);
    const tomorrow = new Date(app.world.now() + dayMs).toISOString().slice(0, 10);
    expect(await found('')).toBe(2);
    expect(await found(`?q=${first.address}`)).toBe(1);
    expect(await found(`?q=${second.txid.toUpperCase()}`)).toBe(1);
    const pasted = encodeURIComponent(`\u2066${first.address}\u2069\u00a0`);
    expect(await found(`?q=${pasted}`)).toBe(1);
    expect(await found(`?q=%E2%80%8B${second.txid}%C2%A0`)).toBe(1);
    expect(await found(`?q=${'0'.repeat(64)}`)).toBe(0);
    expect(await found('?q=%3Cscript%3Ealert(1)%3C/script%3E')).toBe(0);
    expect(await found('?state=unconfirmed')).toBe(1);
    expect(await found('?state=confirming')).toBe(1);
    expect(await found('?state=settled')).toBe(0);
    expect(await found('?store=1&from=&to=&q=')).toBe(2);
    expect(await found('?store=2')).toBe(0);
    expect(await found(`?from=${today}&to=${today}`)).toBe(2);
    expect(await found(`?from=${tomorrow}`)).toBe(0);
    for (const query of [
      '?state=x',
      '?store=x',
      '?from=tomorrow',
      '?before=-1',
      '?to=2026-99-99',
    ]) {
      expect((await visitor.get(`${home}/payments${query}`)).status).toBe(400);
    }
    const newest = mainOf((await visitor.get(`${home}/payments`)).text);
    expect(newest).toMatch(/54,321 sat[\s\S]*12,345 sat/);
  });

  test('S-134 what is typed and asked for is never part of an SQL statement', async () => {
    const { app, visitor } = await open();
    const { address, txid } = await payNew(app);
    const fields = ['q', 'state', 'store', 'from', 'to', 'before', 'link', 'type', 'status'];
    const hostile = ["' or '1'='1", '1 or 1=1', "x'; drop table payments; --", "%' or 1=1 --", '"'];
    const lists = ['payments', 'orders', 'callbacks', 'events', 'addresses', 'links'];
    const queries = fields.flatMap((field) =>
      hostile.map((text) => String(new URLSearchParams({ [field]: text }))),
    );
    for (const query of queries) {
      for (const list of lists) {
        const { status, text } = await visitor.get(`${home}/${list}?${query}`);
        expect([list, query, status < 500]).toEqual([list, query, true]);
        if (query.startsWith('q=')) expect(links(text, list)).toEqual([]);
      }
      for (const path of ['v3/orders', 'v3/events', 'v3/links', 'merchant/tx', 'searchhistory']) {
        const { status } = await app.ask(`/api/${path}?${query}&addr=${query}&after=${query}`);
        expect([path, query, status < 500]).toEqual([path, query, true]);
      }
    }
    expect((await app.ask(`/api/merchant/tx?addr=${address}`)).body).toMatchObject({ txid });
  });

  test('of one store are searched up to a limit, and then among the older ones', async () => {
    const { app, visitor } = await open();
    await payNew(app, 12_345);
    await app.withStore(({ database }) =>
      database.write(() => {
        const at = app.world.now() + 1;
        database.orm.$client
          .prepare(
            `insert into payments (address_id, txid, value_sat, state, first_seen_at, changed_at)
            with recursive n(i) as (select 1 union all select i + 1 from n where i < 5050)
            select (select max(id) from addresses where origin = 'ahead'), 'n' || i, 1000,
              'settled', ${at}, ${at} from n`,
          )
          .run();
        // An address of no store, as a restore skips it.
        database.orm.$client
          .prepare(
            "update addresses set origin = 'skipped' where id = (select max(id) from addresses)",
          )
          .run();
      }),
    );
    const found = async (query: string) => {
      const { text } = await visitor.get(`${home}/payments${query}`);
      const [, older = ''] = /href="[^"]*\/payments(\?[^"]*)" rel="next"/.exec(mainOf(text)) ?? [];
      const isCut = text.includes('5,000 payments were searched. Older ones may match, too.');
      const hasSum = text.includes('class="sums"') || text.includes('>Add up<');
      const hasFile = text.includes('<summary>Export</summary>');
      const count = links(text, 'payments').length;
      return { older: older.replaceAll('&amp;', '&'), count, isCut, hasSum, hasFile };
    };
    const first = await found('?store=1');
    expect(first).toMatchObject({ count: 0, isCut: true, hasSum: true, hasFile: true });
    const second = await found(first.older);
    expect(second).toEqual({ older: '', count: 1, isCut: false, hasSum: false, hasFile: true });
    expect(await found('?store=2')).toMatchObject({ count: 0, isCut: true });
    const table = (await visitor.get(`${home}/payments/export?store=1`)).text;
    expect(table.trim().split('\r\n')).toHaveLength(2);
    expect(await found('?state=unconfirmed')).toMatchObject({ count: 1, isCut: false });
  });

  test.each([
    ['callbacks', 'deliveries', 'held'],
    ['events', 'events', 'superseded'],
  ])(
    '%s in a state that few have are searched up to a limit, and then among the older ones',
    async (list, noun, state) => {
      const { app, visitor } = await open();
      await payNew(app, 12_345);
      await app.withStore(({ database }) =>
        database.write(() => {
          const { $client } = database.orm;
          const many =
            'with recursive n(i) as (select 1 union all select i + 1 from n where i < 5050)';
          const event =
            '(channel, id, event_id, store_id, address_id, type, content, created_at, state, next_attempt_at)';
          $client.exec(`update deliveries set state = 'held' where channel = 'callback';
          insert into deliveries (channel, id, payment_id, address_id, store_id, version, event_id,
            status, content, state, next_attempt_at, created_at)
            ${many} select 'callback', 9 + i, 1, 1, 1, 9 + i, 'e' || i, 0, '', 'delivered', 0, 0 from n;
          insert into deliveries ${event}
            select 'webhook', 9, 'evt_old', 1, address_id, 'payment.seen', '{}', 0, 'superseded', 0 from payments;
          insert into deliveries ${event}
            ${many} select 'webhook', 9 + i, 'evt_' || i, 1, 1, 'payment.seen', '{}', 0, 'delivered', 0 from n`);
        }),
      );
      const found = async (query: string) => {
        const { text } = await visitor.get(`${home}/${list}${query}`);
        const main = mainOf(text);
        const [, older = ''] = /href="[^"]*\/\w+(\?[^"]*)" rel="next"/.exec(main) ?? [];
        const isCut = main.includes(`5,000 ${noun} were searched. Older ones may match, too.`);
        const isEmpty = /No \w+ found/.test(main);
        const hasFile = main.includes('/export?');
        const count = links(text, list).length;
        return { older: older.replaceAll('&amp;', '&'), count, isCut, isEmpty, hasFile };
      };
      const first = await found(`?state=${state}`);
      expect(first).toMatchObject({ count: 0, isCut: true, isEmpty: false, hasFile: true });
      const second = await found(first.older);
      expect(second).toEqual({ older: '', count: 1, isCut: false, isEmpty: false, hasFile: true });
      const table = (await visitor.get(`${home}/${list}/export?state=${state}`)).text;
      expect(table.trim().split('\r\n')).toHaveLength(2);
      const none = await found('?state=exhausted');
      expect(none).toEqual({ older: '', count: 0, isCut: false, isEmpty: true, hasFile: false });
    },
  );

  test('go page by page without duplicates, also when new ones arrive', async () => {
    const { app, visitor } = await open();
    await manyPayments(app, 120);
    const seen: string[] = [];
    let path: string | undefined = `${home}/payments`;
    while (path !== undefined) {
      const { text } = await visitor.get(path);
      seen.push(...links(text, 'payments'));
      if (seen.length === 50) await payNew(app);
      path = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(seen).toHaveLength(120);
    expect(new Set(seen).size).toBe(120);
  });

  test.each([
    [49, 0],
    [50, 0],
    [51, 1],
  ])('of %i there are %i on an older page, and that page is not empty', async (count, more) => {
    const { app, visitor } = await open();
    await manyPayments(app, count);
    const { text } = await visitor.get(`${home}/payments?store=1&state=settled`);
    expect(links(text, 'payments')).toHaveLength(Math.min(count, 50));
    const older = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    const next = older === undefined ? '' : (await visitor.get(older)).text;
    expect(links(next, 'payments')).toHaveLength(more);
    expect(older === undefined).toBe(more === 0);
  });

  test('one shows its proof, its timeline and its deliveries', async () => {
    const { app, visitor } = await open();
    const { address, txid } = await payNew(app);
    const [path = ''] = links((await visitor.get(`${home}/payments`)).text, 'payments');
    expect((await visitor.get(path)).text).toContain('a server reported this payment');
    for (let blocks = 0; blocks < 2; blocks += 1) {
      app.chain.mine(1);
      await app.settle();
    }
    const { text } = await visitor.get(path);
    for (const words of [address, txid, 'In block', '2 confirmations', '(2 required)']) {
      expect(text).toContain(words);
    }
    expect(links(text, 'callbacks')).toHaveLength(3);
    expect((await visitor.get(`${home}/payments/99`)).status).toBe(404);
  });

  test('a dropped one can no longer be replaced', async () => {
    const { app, visitor } = await open();
    const { address, txid } = await payNew(app);
    const replaceable = 'may still replace it';
    expect((await visitor.get(`${home}/payments/1`)).text).toContain(replaceable);
    app.chain.replace(txid as Txid, [{ address, valueSat: 15_000 }]);
    await app.settle();
    const { text } = await visitor.get(`${home}/payments/1`);
    expect(text).toContain('Replaced by');
    expect(mainOf(text)).not.toContain(replaceable);
    // The page of a dropped payment has no section about its proof.
    expect(text).not.toContain('a server reported this payment');
  });

  test('one without a callback says why', async () => {
    const { app, visitor } = await open();
    const setMinimum = (minimum: string) =>
      visitor.submit(`${home}/stores/1/callbacks`, 'change', {
        ...{ name: 'Shop', 'callback-url': `${app.receiver.origin}/cb`, confirmations: '2' },
        ...{ 'allow-private': 'on', 'allow-http': 'on', minimum },
      });
    expect((await setMinimum('0.0005')).status).toBe(303);
    await payNew(app, 49_999);
    const shown = async () => mainOf((await visitor.get(`${home}/payments/1`)).text);
    expect(await shown()).toContain(
      'None: the store gets callbacks only for payments of at least 0.00050000 BTC.',
    );
    await setMinimum('');
    expect(await shown()).toContain('None yet.');
    app.chain.mine(2);
    await app.settle();
    expect(await shown()).toMatch(/Confirmed \(2\)[\s\S]*pill good">Delivered</);
  });

  test('one whose store sends no callbacks says so, as its delivery does', async () => {
    const { app, visitor } = await open();
    const address = await app.newAddress();
    await visitor.submit(`${home}/stores/1/remove`, 'remove', { 'stop-callbacks': 'on' });
    app.pay(address, 5_000);
    await app.settle();
    expect(app.receiver.requests).toEqual([]);
    const one = mainOf((await visitor.get(`${home}/payments/1`)).text);
    const stopped = 'stopped: its store sends no callbacks</small>';
    expect(one).toMatch(new RegExp(`Seen \\(0\\)[\\s\\S]*Waiting</span>.*${stopped}`));
    const { text } = await visitor.get(`${home}/callbacks/1`);
    expect(mainOf(text)).toContain(stopped);
    expect(text).not.toContain('Next attempt');
  });

  test('the first sighting precedes the block, whatever time the block claims', async () => {
    const { app, visitor } = await open();
    // Times of blocks are whole seconds.
    app.world.jumpWallClock(60_500);
    await payNew(app);
    app.chain.mine(2);
    await app.settle();
    const { text } = await visitor.get(`${home}/payments/1`);
    const course = /First seen|In block|Confirmed, with|1 confirmation\b|>2 confirmations/g;
    expect(mainOf(text).match(course)).toEqual([
      ...['First seen', 'In block', 'Confirmed, with'],
      ...['1 confirmation', '>2 confirmations'],
    ]);
  });

  test('a reorganised one says so', async () => {
    const { app, visitor } = await open();
    await payNew(app);
    app.chain.mine(1);
    await app.settle();
    app.chain.reorganise(1, { transactions: 'mempool' });
    await app.settle();
    const { text } = await visitor.get(`${home}/payments/1`);
    expect(text).toContain('Reversed: its block left the best chain');
    expect(mainOf(text)).toContain('<span class="pill waiting">Seen</span>');
  });

  test('one whose block left the best chain is confirmed on no page while it is checked', async () => {
    const { app, visitor } = await open();
    await payNew(app);
    app.chain.mine(2);
    await app.settle();
    const cells = async (path: string) =>
      [
        ...(await visitor.get(path)).text.matchAll(
          /<(?:span class="pill|small class="beside)[^>]*> ?([^<]*)</g,
        ),
      ].map(([, text]) => text);
    const lists = [home, `${home}/payments`, `${home}/addresses/1`];
    for (const path of lists) expect(await cells(path)).toContain('Confirmed');
    app.chain.reorganise(2, { transactions: 'drop' });
    await app.settle();
    for (const path of [...lists, `${home}/payments/1`]) {
      const shown = await cells(path);
      expect([path, shown.includes('Confirmed')]).toEqual([path, false]);
      expect(shown).toContain('Its block left the best chain: checking again');
    }
    await app.outlastAbsence();
    expect(await cells(`${home}/payments`)).toContain('Reversed after status 1 or 2');
  });

  test('are exported without formulas for a spreadsheet', async () => {
    const { app, visitor } = await open({ store: { name: '=HYPERLINK("http://evil","x")' } });
    await payNew(app);
    await manyPayments(app, 1200);
    const { headers, text } = await visitor.get(`${home}/payments/export`);
    expect(headers.get('Content-Type')).toContain('text/csv');
    expect(headers.get('Content-Disposition')).toContain('attachment');
    const rows = text.trimEnd().split('\r\n');
    expect(rows).toHaveLength(1202);
    expect(rows[0]).toMatch(/^id,first_seen,store,address,txid,satoshi,state/);
    expect(rows.at(-1)).toContain(`"'=HYPERLINK(""http://evil"",""x"")"`);
    const one = await visitor.get(
      `${home}/payments/export?state=unconfirmed&q=${rows.at(-1)?.split(',')[5]}`,
    );
    expect(one.text.trimEnd().split('\r\n').length).toBeLessThan(3);
  });

  test.each([
    ['x;=1+1', "x;'=1+1"],
    ['x; =1+1;@SUM(1)', "x;' =1+1;'@SUM(1)"],
    ['x;"=1+1"', `"x;'""=1+1"""`],
    ['x|=1|+1', "x|'=1|'+1"],
    ['＝1+1', "'＝1+1"],
    ['a-b; c=d', 'a-b; c=d'],
  ])(
    'leave as a table that no spreadsheet runs, by whatever it divides cells: %s',
    async (name, cell) => {
      const { app, visitor } = await open({ store: { name } });
      await payNew(app);
      const { text } = await visitor.get(`${home}/payments/export`);
      expect(text.split('\r\n')[1]).toContain(`,${cell},`);
    },
  );

  test('are exported in UTF-8 that a spreadsheet recognises', async () => {
    const { app, visitor } = await open({ store: { name: 'Käserei 花' } });
    await payNew(app);
    const table = await fetch(`http://127.0.0.1:${app.port}${home}/payments/export`, {
      headers: { Cookie: visitor.cookie },
    });
    const bytes = Buffer.from(await table.arrayBuffer());
    expect(bytes.subarray(0, 5).toString('latin1')).toBe('\xef\xbb\xbfid');
    expect(bytes.toString('utf8')).toContain(',Käserei 花,');
  });

  test('the first page has a chart of the last 30 days, with a table', async () => {
    const { app, visitor } = await open();
    await payNew(app, 150_000_000);
    app.chain.mine(2);
    await app.settle();
    await payNew(app, 70_000_000);
    const text = mainOf((await visitor.get(home)).text);
    // One for each bar, and one for its day.
    expect(text.match(/<rect /g)).toHaveLength(60);
    const today = new Date(app.world.now()).toISOString().slice(0, 10);
    expect(text).toContain(`<title>${today} · 1.50000000 BTC</title>`);
    const [, table = ''] = /<details>(.*?)<\/details>/s.exec(text) ?? [];
    expect(table).toMatch(new RegExp(`>${today}</a>.*>1</td>.*1.50000000 BTC`, 's'));
    expect(text).toMatch(/Unconfirmed[^§]*?0\.70000000 BTC[^§]*?1 payment/);
    expect(text).not.toContain('do not exist');
  });

  test('invented payments of more than all bitcoins leave the first page readable', async () => {
    const { app, visitor } = await open();
    await payNew(app, 1_000);
    await invent(app, 4_400);
    const page = await visitor.get(home);
    expect(page.status).toBe(200);
    const text = mainOf(page.text)
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ');
    expect(text).toContain(
      'Unconfirmed 21000000.00000000 BTC or more 4,401 payments ' +
        'More than all bitcoins: a server reports payments that do not exist.',
    );
  });
});

/** Unconfirmed payments of all bitcoins each, to the newest address. */
const invent = (app: TestApp, count: number): Promise<void> =>
  app.withStore(async ({ database, addressView }) => {
    const { payments } = await import('../../src/store/schema/schema.ts');
    const [newest] = addressView.list({ limit: 1 }).rows;
    const at = app.world.now();
    await database.write(() => {
      for (let place = 1; place <= count; place += 1) {
        const txid = place.toString(16).padStart(64, '0') as never;
        const value = { valueSat: 2_100_000_000_000_000, state: 'unconfirmed' } as const;
        const row = { ...value, txid, addressId: newest?.id ?? 0, firstSeenAt: at, changedAt: at };
        database.orm.insert(payments).values(row).run();
      }
    });
  });

/** Writes payments to the tables directly, because these tests only read them. */
const manyPayments = (app: TestApp, count: number): Promise<void> =>
  app.withStore(async ({ database }) => {
    const places = `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${count - 1})`;
    await database.write(() => {
      database.orm.$client.exec(
        `insert into addresses
          (wallet_id, branch, derivation_index, address, script, scripthash, origin, store_id)
        ${places} select 1, 0, 1000000 + i, 'bcrt1q' || i, x'', printf('%064x', i + 1), 'issued', 1
        from n;
        insert into payments
          (address_id, txid, value_sat, state, height, first_seen_at, changed_at)
        select id, scripthash, 1000, 'settled', 1, ${app.world.now()}, ${app.world.now()}
        from addresses where derivation_index >= 1000000 order by id`,
      );
    });
  });

describe('callbacks', () => {
  const failing = { receiver: { answer: () => ({ status: 500, body: '<b onclick=x>no</b>' }) } };

  test('show every attempt, and the response of the shop as escaped text', async () => {
    const { app, visitor } = await open(failing);
    await payNew(app);
    const { text } = await visitor.get(`${home}/callbacks?state=owed`);
    expect(links(text, 'callbacks')).toHaveLength(1);
    const one = await visitor.get(`${home}/callbacks/1`);
    expect(one.text).toContain('&lt;b onclick=x&gt;no&lt;/b&gt;');
    expect(one.text).not.toContain('<b onclick');
    expect((await visitor.get(`${home}/callbacks?state=delivered`)).text).toContain(
      'No deliveries found.',
    );
  });

  test('are resent: one, some, all that failed of a store', async () => {
    const { app, visitor } = await open();
    await payNew(app);
    await payNew(app);
    expect(app.receiver.requests).toHaveLength(2);
    expect((await visitor.submit(`${home}/callbacks/1`, 'resend')).status).toBe(303);
    await app.settle();
    expect(app.receiver.requests).toHaveLength(3);
    await visitor.get(`${home}/callbacks`);
    const body = `token=${visitor.formToken}&do=resend&id=1&id=2`;
    const some = await visitor.post(`${home}/callbacks`, body);
    expect(some.to).toBe(`${home}/callbacks?done=resent`);
    await app.settle();
    expect(app.receiver.requests).toHaveLength(5);
    app.receiver.script({ status: 503 });
    await payNew(app);
    const all = await visitor.submit(`${home}/callbacks`, 'resend-failed', { store: '1' });
    expect(all.status).toBe(303);
    await app.settle();
    expect(app.receiver.requests).toHaveLength(7);
    const none = await visitor.submit(`${home}/callbacks`, 'resend');
    expect([none.status, none.text]).toEqual([
      400,
      expect.stringContaining('Select at least one delivery'),
    ]);
    const { text } = await visitor.get(`${home}/settings/audit`);
    expect(text.match(/callback\.resend/g)?.length).toBe(3);
  });

  test('that are resent leave the filters of the list, which says so once', async () => {
    const { app, visitor } = await open();
    const outputs: { address: string; valueSat: number }[] = [];
    while (outputs.length < 60) {
      outputs.push({ address: await app.newAddress(), valueSat: 2_000 });
    }
    // Addresses that are issued in a burst are watched within a second.
    await app.world.advance(2_000);
    app.chain.pay(outputs);
    await app.settle();
    const list = `${home}/callbacks?state=delivered&store=1`;
    await visitor.get(list);
    const sent = await visitor.post(list, `token=${visitor.formToken}&do=resend&id=1`);
    expect(sent.to).toBe(`${list}&done=resent`);
    await app.settle();
    const { text } = await visitor.get(sent.to ?? '');
    expect(mainOf(text)).toContain('Sending again now');
    const older = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const next = await visitor.get(older);
    expect(links(next.text, 'callbacks').length).toBeGreaterThan(0);
    expect(mainOf(next.text)).not.toContain('Sending again now');
    const all = await visitor.submit(list, 'resend-failed', { store: '1' });
    expect(all.to).toBe(`${list}&done=none-failed`);
  });

  test('are not reported as resent if none has failed', async () => {
    const { app, visitor } = await open();
    await payNew(app);
    const sent = await visitor.submit(`${home}/callbacks`, 'resend-failed', { store: '1' });
    const { text } = await visitor.get(sent.to ?? '');
    expect(mainOf(text)).not.toContain('Sending again now');
    expect(mainOf(text)).toContain('This store has no failed delivery');
    await app.settle();
    expect(app.receiver.requests).toHaveLength(1);
  });

  test('that failed of a removed store which still sends callbacks are resent', async () => {
    const { app, visitor } = await open();
    app.receiver.script({ status: 503 });
    await payNew(app);
    await visitor.submit(`${home}/stores/1/remove`, 'remove');
    const offered = async (): Promise<string[]> => {
      const [, select = ''] =
        /do" value="resend-failed".*?<select name="store">(.*?)<\/select>/s.exec(
          (await visitor.get(`${home}/callbacks`)).text,
        ) ?? [];
      return [...select.matchAll(/<option value="(\d+)"/g)].map(([, id = '']) => id);
    };
    expect(await offered()).toEqual(['1']);
    await visitor.submit(`${home}/callbacks`, 'resend-failed', { store: '1' });
    await app.settle();
    expect(app.receiver.requests).toHaveLength(2);
    await app.addStore({ name: 'Silent' });
    expect(await offered()).toEqual(['2', '1']);
    await visitor.submit(`${home}/stores/2/remove`, 'remove', { 'stop-callbacks': 'on' });
    expect(await offered()).toEqual(['1']);
  });

  test('the store of the filter is preselected for resending failed ones', async () => {
    const { app, visitor } = await open();
    await app.addStore({ name: 'Second', callbackUrl: 'https://second.example/paid' });
    const chosen = async (query: string): Promise<string[]> => {
      const { text } = await visitor.get(`${home}/callbacks${query}`);
      const [, form = ''] = /value="resend-failed"(.*?)<\/form>/s.exec(text) ?? [];
      return [...form.matchAll(/<option value="(\d+)" selected/g)].map(([, id = '']) => id);
    };
    expect(await chosen('?store=2&state=exhausted')).toEqual(['2']);
    expect(await chosen('')).toEqual([]);
  });

  test('a superseded one is not resent, and nothing else of the selection is', async () => {
    const { app, visitor } = await open();
    await payNew(app);
    app.chain.mine(1);
    await app.settle();
    const sent = app.receiver.requests.length;
    await visitor.get(`${home}/callbacks`);
    const seen = await visitor.post(
      `${home}/callbacks`,
      `token=${visitor.formToken}&do=resend&id=2&id=1`,
    );
    expect([seen.status, seen.text]).toEqual([409, expect.stringContaining('superseded')]);
    await app.settle();
    expect(app.receiver.requests).toHaveLength(sent);
  });

  test('with a 200 that reads like a refusal are found', async () => {
    const answer = { status: 200, body: '{"error":"order not found"}' };
    const { app, visitor } = await open({ receiver: { answer: () => answer } });
    await payNew(app);
    const { text } = await visitor.get(`${home}/callbacks?state=flagged`);
    expect(links(text, 'callbacks')).toHaveLength(1);
    expect(text).toContain('delivered, but the response says');
    const one = (await visitor.get(`${home}/callbacks/1`)).text;
    expect(one).toContain('See that this is the Callback URL of the shop that has these orders.');
  });
});

describe('addresses', () => {
  test('of several wallets are in the order in which they were issued, page by page', async () => {
    const { app, visitor } = await open();
    const second = { startIndex: 0, callbackUrl: 'https://second.example/paid' };
    await app.addStore({ key: merchantKey(2), ...second });
    const given: string[] = [];
    for (let count = 0; count < 60; count += 1) {
      const store = count % 3 === 0 ? 'second.example' : 's3cr3t';
      given.unshift(await app.newAddress(`?match_callback=${store}`));
      app.world.jumpWallClock(1);
    }
    const seen: string[] = [];
    let path: string | undefined = `${home}/addresses`;
    while (path !== undefined) {
      const { text } = await visitor.get(path);
      seen.push(...(mainOf(text).match(/bcrt1q[a-z0-9]{38}/g) ?? []));
      path = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(seen).toEqual(given);
  });

  test('an unpaid one is found', async () => {
    const { app, visitor } = await open();
    const asked = await app.newAddress();
    await app.newAddress();
    const found = async (query: string): Promise<string[]> => {
      const { status, text } = await visitor.get(`${home}/addresses${query}`);
      expect([query, status]).toEqual([query, 200]);
      return mainOf(text).match(/(?<=<code title=")bcrt1q[a-z0-9]{38}/g) ?? [];
    };
    expect(await found(`?q=${asked}`)).toEqual([asked]);
    expect(await found(`?q=%20${asked.toUpperCase()}&state=unpaid&store=1`)).toEqual([asked]);
    expect(await found(`?q=${asked}&state=paid`)).toEqual([]);
    for (const other of ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', '0'.repeat(64), 'x']) {
      expect(await found(`?q=${other}`)).toEqual([]);
    }
    expect((await visitor.get(`${home}/addresses?q=${asked}`)).text).toContain(
      `type="search" name="q" value="${asked}"`,
    );
  });

  test('of one state are searched up to a limit, and then among the older ones', async () => {
    const { app, visitor } = await open();
    const oldest = await app.newAddress();
    await manyPayments(app, 5_050);
    await app.withStore(async ({ database }) => {
      await database.write(() =>
        database.orm.$client
          .prepare('UPDATE addresses SET issued_at = ? WHERE derivation_index >= 1000000')
          .run(app.world.now() + 1),
      );
    });
    await app.world.advance(60_000);
    const newest = await app.newAddress();
    const found = async (query: string) => {
      const main = mainOf((await visitor.get(`${home}/addresses${query}`)).text);
      const [, older = ''] = /href="[^"]*\/addresses(\?[^"]*)" rel="next"/.exec(main) ?? [];
      return {
        older: older.replaceAll('&amp;', '&'),
        addresses: main.match(/(?<=<code title=")bcrt1q[0-9a-z]{30,}/g),
        isCut: main.includes('5,000 addresses were searched'),
      };
    };
    const first = await found('?state=unpaid&store=1');
    expect(first).toMatchObject({ addresses: [newest], isCut: true });
    const second = await found(first.older);
    expect(second).toEqual({ older: '', addresses: [oldest], isCut: false });
    const paid = await found('?state=paid');
    expect(paid).toMatchObject({ isCut: false });
    expect(paid.older).not.toBe('');
    expect(await found(`?q=${oldest}&state=unpaid`)).toMatchObject({ addresses: [oldest] });
  });

  test('are paid or unpaid; one has its QR code and its payments', async () => {
    const { app, visitor } = await open();
    const { address } = await payNew(app);
    await app.newAddress();
    const count = async (query: string): Promise<number> =>
      links((await visitor.get(`${home}/addresses${query}`)).text, 'addresses').length;
    expect([await count(''), await count('?state=paid'), await count('?state=unpaid')]).toEqual([
      2, 1, 1,
    ]);
    const [path = ''] = links(
      (await visitor.get(`${home}/addresses?state=paid`)).text,
      'addresses',
    );
    const { text } = await visitor.get(path);
    expect(text).toContain(`QR code of ${address}`);
    expect(links(text, 'payments')).toHaveLength(1);
  });

  test('a wide gap names the gap limit for the merchant’s own wallet', async () => {
    const { app, visitor } = await open();
    await payNew(app);
    const gap = async (): Promise<string> =>
      mainOf((await visitor.get(`${home}/addresses`)).text).replaceAll(/<[^>]+>/g, '');
    expect(await gap()).toContain('Wallet 1: the last address is paid.');
    for (let count = 0; count < 15; count += 1) await app.newAddress();
    expect(await gap()).toContain(
      'the last 15 addresses are unpaid. Your own wallet may not show the next payment: set its gap limit to 40',
    );
    expect((await visitor.get(home)).text).toContain(
      'has issued 15 addresses since the last paid one',
    );
  });
});

describe('servers', () => {
  test('are shown in their current state; their names are escaped text', async () => {
    const banner = '<img src=x onerror=alert(1)>';
    const { app, visitor } = await open({ servers: 2, server: { software: banner } });
    const { text } = await visitor.get(`${home}/servers`);
    for (const label of app.labels) expect(text).toContain(label);
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(text).not.toContain('<img');
    // There is no form while there is nothing to accept.
    await visitor.get(`${home}/settings/account`);
    const post = async (does: string, server: string): Promise<number> => {
      const sha256 = 'ab'.repeat(32);
      const form = new URLSearchParams({ token: visitor.formToken, do: does, server, sha256 });
      return (await visitor.post(`${home}/servers`, String(form))).status;
    };
    expect(await post('accept', 'ssl://nobody:1')).toBe(404);
    expect(await post('follow', app.labels[0] ?? '')).toBe(404);
  });

  test('a deep branch is followed once the operator decides so', async () => {
    const { app, visitor } = await open();
    const [label = ''] = app.labels;
    const deepTip = 'ab'.repeat(32) as never;
    await app.withStore(({ database, state }) =>
      database.write((tx) =>
        state.hold.write(tx, [{ kind: 'branch', server: label, text: 'it forks deep', deepTip }]),
      ),
    );
    expect((await visitor.submit(`${home}/servers`, 'follow', { server: label })).status).toBe(303);
    await app.withStore(async ({ state }) => {
      expect(state.acceptedBranch.read()).toBe(deepTip);
    });
  });
});

test('every linked page exists', async () => {
  const { app, visitor } = await open();
  await payNew(app);
  const wanted = [home];
  const known = new Set(wanted);
  for (let path = wanted.shift(); path !== undefined; path = wanted.shift()) {
    const { status, text } = await visitor.get(path);
    expect([path, status]).toEqual([path, 200]);
    for (const found of linked(text)) {
      if (!known.has(found)) wanted.push(found);
      known.add(found);
    }
  }
  expect(known.size).toBeGreaterThan(14);
});

const linked = (text: string): string[] =>
  [...text.matchAll(/href="(\/[^"#]*)"/g)]
    .map(([, path = '']) => path.replaceAll('&amp;', '&'))
    .filter((path) => !path.includes('/assets/'));
