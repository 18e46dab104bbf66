// The list of orders, the page of one, and accepting and canceling it.

import { afterEach, describe, expect, test } from 'vitest';
import { minuteMs } from '../../src/lib/time-units.ts';
import { closeApps } from '../support/app.ts';
import { openTill, priced, quoteMs, type Till } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { plansOf, statementsOf } from '../support/plans.ts';
import { signedIn, signedInViewer, type Visitor } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

const list = '/dashboard/orders';

async function open(changes: object = {}): Promise<Till & { readonly visitor: Visitor }> {
  const till = await openTill({ expires_in: 86_400, ...changes });
  return { ...till, visitor: await signedIn(till.app) };
}

/** The text of the main element without tags. */
function textOf(html: string): string {
  const main = /<main[\s\S]*<\/main>/.exec(html)?.[0] ?? '';
  return main
    .replaceAll(/<svg[\s\S]*?<\/svg>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
}

const orderLinks = (html: string): string[] =>
  [...html.matchAll(/href="\/dashboard\/orders\/(ord_\w+)"/g)].map(([, id = '']) => id);

describe('the list', () => {
  test('shows price, state, reference and store, each row as one link', async () => {
    const { app, visitor, id } = await open();
    const { text } = await visitor.get(list);
    expect(text).toContain(`<a class="whole" href="${list}/${id}">`);
    expect(textOf(text)).toMatch(/12\.50 EUR 25,000 sat Open 1007 .* Shop .*1 order/);
    const plain = await app.order({ amount_sat: 30_000 });
    expect(orderLinks((await visitor.get(list)).text)).toEqual([plain.id, id]);
    // The column of sections.
    expect(text).toContain(`<a href="${list}" aria-current="page">Orders</a>`);
  });

  test('is found by state, store, link, reference, id and address', async () => {
    const { app, visitor, id, address } = await open();
    const other = await app.order({ ...priced, reference: '1008' });
    await app.post(`/orders/${other.id}/cancel`);
    await app.post('/links', { title: 'Tips' });
    const found = async (query: string): Promise<string[]> => {
      const { status, text } = await visitor.get(`${list}?${query}`);
      expect([query, status]).toEqual([query, 200]);
      return orderLinks(text);
    };
    expect(await found('state=canceled')).toEqual([other.id]);
    expect(await found('state=open&store=1')).toEqual([id]);
    expect(await found('store=2')).toEqual([]);
    expect(await found('link=1')).toEqual([]);
    expect(await found('q=1008')).toEqual([other.id]);
    expect(await found(`q=${id}`)).toEqual([id]);
    expect(await found(`q=${id}&state=paid`)).toEqual([]);
    expect(await found(`q=${address}`)).toEqual([id]);
    expect(await found(`q=%E2%80%8Bbitcoin:${address}%C2%A0`)).toEqual([id]);
    expect(await found(`q=%EF%BB%BF${id}`)).toEqual([id]);
    expect(await found('q=%C2%A01008%E2%80%8B')).toEqual([other.id]);
    expect(await found('q=%3Cscript%3E')).toEqual([]);
    const { text } = await visitor.get(`${list}?q=nothing`);
    expect(text).toContain('No orders found.');
    for (const query of ['state=nonsense', 'store=-1', 'link=x', 'before=x']) {
      expect([query, (await visitor.get(`${list}?${query}`)).status]).toEqual([query, 400]);
    }
  });

  test('has what was sold or the link, and is found by the day it was made', async () => {
    const { app, visitor, id } = await open({ description: 'Two cups' });
    const link = (await app.post('/links', { title: 'Counter' })).body;
    const other = await app.order(priced);
    await app.withStore(({ database, orderView, linkView }) =>
      database.write(() => {
        const linkId = linkView.byPublicId(link.id)?.id ?? 0;
        const row = orderView.byPublicId(other.id)?.id ?? 0;
        database.orm.$client.prepare('update orders set link_id = ? where id = ?').run(linkId, row);
        database.orm.$client.prepare('update orders set created_at = 1 where id = ?').run(row);
      }),
    );
    const { text } = await visitor.get(list);
    expect(textOf(text)).toMatch(/1007 Two cups/);
    expect(textOf(text)).toContain('Counter');
    const found = async (query: string) => orderLinks((await visitor.get(`${list}?${query}`)).text);
    const today = new Date(app.world.now()).toISOString().slice(0, 10);
    expect(await found(`from=${today}`)).toEqual([id]);
    expect(await found('to=1970-01-01')).toEqual([other.id]);
    expect(await found('from=1970-01-02&to=1970-01-02')).toEqual([]);
    expect(await found(`q=12.50&from=${today}&to=${today}`)).toEqual([id]);
    expect((await visitor.get(`${list}?from=today`)).status).toBe(400);
  });

  test('on the overview has the price in its currency, too', async () => {
    const { visitor, id } = await open();
    const { text } = await visitor.get('/dashboard');
    expect(text).toContain(`<a class="whole" href="${list}/${id}">`);
    expect(textOf(text)).toMatch(/Latest orders.*12\.50 EUR 25,000 sat Open 1007/);
  });

  test('goes page by page, also of a state of all stores', async () => {
    const { app, visitor } = await open();
    for (let more = 0; more < 55; more += 1) await app.order({ amount_sat: 1_000 + more });
    for (const query of ['', '?state=open']) {
      const first = (await visitor.get(list + query)).text;
      expect(textOf(first)).toContain('More than 50 orders');
      expect(orderLinks(first)).toHaveLength(50);
      const [, next = ''] = /href="([^"]*before=\d+)" rel="next"/.exec(first) ?? [];
      const second = (await visitor.get(next.replaceAll('&amp;', '&'))).text;
      expect(orderLinks(second)).toHaveLength(6);
      expect(new Set([...orderLinks(first), ...orderLinks(second)]).size).toBe(56);
    }
  });
});

test('the first page links to the newest orders, and to all of them', async () => {
  const { visitor, id } = await open();
  const { text } = await visitor.get('/dashboard');
  expect(text).toContain(`<a href="${list}">All orders →</a>`);
  expect(text).toContain(`<a class="whole" href="${list}/${id}">`);
});

describe('the page of an order', () => {
  test('has a code to scan while it is open, its facts, and what is copied', async () => {
    const { visitor, id, address } = await open({ description: '2 posters\nA2' });
    const { status, text } = await visitor.get(`${list}/${id}`);
    expect(status).toBe(200);
    expect(text).toContain('<span class="amount">12.50 EUR</span> <span class="pill neutral">Open');
    expect(text).toContain('aria-label="QR code to pay 25,000 sat"');
    expect(text).toContain(`href="bitcoin:${address}?amount=0.00025&amp;label=Shop"`);
    const shown = textOf(text);
    expect(shown).toMatch(/Price 12\.50 EUR = 25,000 sat Received 0 sat/);
    expect(shown).toMatch(/Rate 1 BTC = 50,000\.00 EUR; the promise ends .* Ends /);
    expect(shown).toMatch(/Reference 1007 Description 2 posters A2 Store Shop/);
    expect(text).toContain(`/o/${id}</code>`);
    expect(shown).toMatch(/Created .* Rate promised: 1 BTC = 50,000\.00 EUR, 25,000 sat/);
    expect(shown).toContain('No payments yet.');
  });

  test('has the mail address of its customer, for the owner and for viewers', async () => {
    const { app, visitor, id } = await open({ customer_email: 'anna&co@customer.example' });
    const viewer = await signedInViewer(app);
    for (const person of [visitor, viewer]) {
      expect((await person.get(`${list}/${id}`)).text).toContain(
        '<dt>Mail address of the customer</dt><dd>anna&amp;co@customer.example</dd>',
      );
    }
    const without = await open();
    expect((await without.visitor.get(`${list}/${without.id}`)).text).not.toContain('Mail address');
  });

  test('says what is short, over and late, with its payments, timeline and events', async () => {
    const { app, visitor, id, pay, mine } = await open();
    await pay(10_000);
    const short = (await visitor.get(`${list}/${id}`)).text;
    expect(short).toMatch(/Open<\/span><small class="beside"> short by 15,000 sat/);
    await app.world.advance(quoteMs + 3 * minuteMs);
    const lapsed = textOf((await visitor.get(`${list}/${id}`)).text);
    expect(lapsed).toContain('The promised rate is over.');
    await pay(20_000);
    await mine(2);
    const { text } = await visitor.get(`${list}/${id}`);
    expect(text).toMatch(/Paid<\/span><small class="beside"> late, over by 5,000 sat/);
    expect(text).not.toContain('aria-label="QR code to pay');
    expect(text).not.toContain('<dt>Ends</dt>');
    expect([...text.matchAll(/href="\/dashboard\/payments\/(\d+)"/g)].map(([, at]) => at)).toEqual([
      '2',
      '1',
    ]);
    expect(textOf(text)).toMatch(/50,000\.00 EUR, late .* 50,000\.00 EUR /);
    expect(textOf(text)).toMatch(
      /Created .* Payment of 10,000 sat seen .* Payment of 20,000 sat seen, late .* Enough was seen .* Paid: enough is final/,
    );
    expect(text).toMatch(/href="\/dashboard\/events\/\d+"/);
    // The payment leads back.
    const payment = (await visitor.get('/dashboard/payments/1')).text;
    expect(payment).toContain(`href="${list}/${id}"`);
  });

  test('escapes what a shop and strangers wrote', async () => {
    const { visitor, id } = await open({ reference: '<b>&"', description: '<script>' });
    for (const path of [list, `${list}/${id}`]) {
      const { text } = await visitor.get(path);
      expect(text).toContain('&lt;b&gt;&amp;&quot;');
      expect(text).not.toContain('<b>');
    }
  });

  test('an unknown order is not found', async () => {
    const { visitor, id } = await open();
    for (const each of ['1', 'ord_x', `${id}x`, `${id}/accept`.replace('ord_', 'ord_1')]) {
      expect([each, (await visitor.get(`${list}/${each}`)).status]).toEqual([each, 404]);
    }
  });
});

describe('decisions', () => {
  const actionsOf = ({ app }: Till) =>
    app.withStore(async ({ audit }) =>
      audit.list(10).flatMap(({ action, keyId, detail }) => {
        const { order, client } = JSON.parse(detail) as Record<string, string>;
        return action.startsWith('order.') ? [[action, keyId, order, client]] : [];
      }),
    );

  test('cancels an order, once, and writes it into the audit log', async () => {
    const till = await open();
    const { app, visitor, id } = till;
    const page = `${list}/${id}`;
    expect((await visitor.get(page)).text).toContain(`href="${page}/cancel"`);
    expect((await visitor.get(page)).text).not.toContain(`href="${page}/accept"`);
    const question = (await visitor.get(`${page}/cancel`)).text;
    expect(question).toContain('The customer’s page says: do not pay.');
    for (let times = 0; times < 2; times += 1) {
      const canceled = await visitor.submit(`${page}/cancel`, 'cancel');
      expect([canceled.status, canceled.to]).toEqual([303, `${page}?done=order-canceled`]);
    }
    expect((await app.get(`/orders/${id}`)).body.status).toBe('canceled');
    expect(await actionsOf(till)).toEqual([['order.cancel', null, id, '127.0.0.1']]);
    const { text } = await visitor.get(`${page}?done=order-canceled`);
    expect(text).toContain('The order is canceled.');
    expect(textOf(text)).toMatch(/Timeline .* Canceled/);
  });

  test('accepts what was received', async () => {
    const till = await open();
    const { app, visitor, id, pay } = till;
    const page = `${list}/${id}`;
    await pay(20_000);
    const question = (await visitor.get(`${page}/accept`)).text;
    expect(question).toContain('What was received, 20,000 sat, is enough for this order.');
    expect((await visitor.submit(`${page}/accept`, 'accept')).status).toBe(303);
    expect((await app.get(`/orders/${id}`)).body.status).toBe('processing');
    expect(await actionsOf(till)).toEqual([['order.accept', null, id, '127.0.0.1']]);
    expect((await visitor.get(`${page}/cancel`)).text).toContain(
      'Only an order that is open or expired is canceled.',
    );
    const refused = await visitor.submit(`${page}/cancel`, 'cancel');
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('The order is processing');
  });

  test('ask for the password again', async () => {
    const { app, visitor, id, pay } = await open();
    await pay(20_000);
    app.world.jumpWallClock(6 * minuteMs);
    for (const command of ['accept', 'cancel']) {
      const refused = await visitor.submit(`${list}/${id}/${command}`, command);
      expect([command, refused.status]).toEqual([command, 403]);
      expect(refused.text).toContain('Type your password again');
    }
    expect((await app.get(`/orders/${id}`)).body.status).toBe('open');
  });
});

test('no page reads a whole table: each reads one page by an index', async () => {
  const { app, visitor, id, address, pay } = await open();
  await pay(30_000);
  await app.post('/links', { title: 'Tips' });
  const large = /^SCAN (orders|payments|deliveries|quotes|refunds|addresses|attempts)\b(.*)/;
  const scansOf = async (path: string): Promise<string[]> => {
    const statements = await statementsOf(() => visitor.get(path));
    const reads = statements.filter((text) => /^\s*select/i.test(text));
    expect([path, reads.length > 0]).toEqual([path, true]);
    return plansOf(app.path, reads)
      .flat()
      .filter((step) => large.test(step) || /TEMP B-TREE FOR ORDER BY/.test(step));
  };
  expect(await scansOf(list)).toEqual([]);
  const queries = ['state=paid', 'store=1', 'store=1&state=open', 'link=1', 'q=1007', `q=${id}`];
  for (const query of [...queries, `q=${address}`, 'store=1&before=1', 'state=open&before=1']) {
    expect([query, await scansOf(`${list}?${query}`)]).toEqual([query, []]);
  }
  for (const page of ['', '/accept', '/cancel', '/refund']) {
    const found = await scansOf(`${list}/${id}${page}`);
    // The payments of one address are sorted.
    const scans = found.filter((step) => !step.startsWith('USE TEMP B-TREE'));
    expect([page, scans]).toEqual([page, []]);
  }
});
