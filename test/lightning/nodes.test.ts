// Both kinds of nodes by one interface, played on real sockets: invoices, settlements after a
// cursor, the proof that a credential cannot spend. Answers are wrong in every way.

import { afterEach, describe, expect, test } from 'vitest';
import type { NetworkName } from '../../src/bitcoin/network.ts';
import type { Settlements } from '../../src/domain/order/lightning-invoice.ts';
import type { KnownNode, NodeKind } from '../../src/domain/store/lightning-node.ts';
import type { LightningNode } from '../../src/lightning/node.ts';
import { openNode } from '../../src/lightning/open-node.ts';
import { makeCertificate } from '../electrum/certificates.ts';
import { field, publicKeyOf } from '../support/bolt11.ts';
import {
  type PlayedNode,
  type PlayedNodeOptions,
  startLnd,
  startPhoenixd,
} from '../support/lightning-nodes.ts';
import { createTestWorld, type TestWorld } from '../support/world.ts';

const startOf = { lnd: startLnd, phoenixd: startPhoenixd };
const request = { valueSat: 1_000, seconds: 900, text: 'Order 7', externalId: 'order-7' };

let started: PlayedNode[] = [];
afterEach(async () => {
  for (const node of started) await node.stop();
  started = [];
});

async function stage(kind: NodeKind, options: PlayedNodeOptions = {}) {
  const world = createTestWorld();
  const played = await startOf[kind]({ now: world.now, ...options });
  started.push(played);
  const { url, credential } = played;
  const open = (change: Partial<KnownNode> = {}, network: NetworkName = 'regtest') =>
    openNode(world, { kind, url, credential, ...change }, { network });
  return { world, played, open };
}

/** Takes the elements of a stream one by one. */
function follow(stream: AsyncIterable<Settlements>) {
  const elements = stream[Symbol.asyncIterator]();
  return async (): Promise<Settlements> => (await elements.next()).value;
}

const endless = (): AbortSignal => new AbortController().signal;

/** Lets timers of the node fall due while an element is awaited. */
async function advancing<T>(world: TestWorld, awaited: Promise<T>, stepMs = 100): Promise<T> {
  let isOver = false;
  awaited.then(
    () => {
      isOver = true;
    },
    () => {
      isOver = true;
    },
  );
  while (!isOver) await world.advance(stepMs);
  return awaited;
}

describe.each(['lnd', 'phoenixd'] as const)('%s', (kind) => {
  test('makes an invoice', async () => {
    const { played, open, world } = await stage(kind);
    const made = await open().createInvoice(request);
    const [only] = played.invoices;
    expect(made).toEqual({
      invoice: only?.invoice,
      paymentHash: only?.paymentHash,
      expiresAt: world.now() + 900_000,
    });
    expect(only).toMatchObject({ valueSat: 1_000, seconds: 900 });
    expect([only?.text, only?.externalId]).toEqual(
      kind === 'lnd' ? ['Order 7 order-7', ''] : ['Order 7', 'order-7'],
    );
  });

  test('a text is cut where a node would refuse it', async () => {
    const { played, open } = await stage(kind);
    const length = kind === 'lnd' ? 128 - ' order-7'.length : 128;
    await open().createInvoice({ ...request, text: `${'a'.repeat(length - 1)}😀` });
    const text = `${'a'.repeat(length - 1)}\ufffd`;
    expect(played.invoices[0]?.text).toBe(kind === 'lnd' ? `${text} order-7` : text);
  });

  test('a check proves the credential and finds the key', async () => {
    const { played, open } = await stage(kind);
    const identity = await open().check();
    expect(identity).toMatchObject({ publicKey: publicKeyOf(1), certificate: null });
    expect(played.invoices).toHaveLength(1);
    expect(played.invoices[0]).toMatchObject({ valueSat: 1, seconds: 60 });
    if (kind === 'lnd') expect(played.invoices[0]?.state).toBe('CANCELED');
  });

  test('a credential that may spend is refused, with a way to one that may not', async () => {
    const { played, open } = await stage(kind);
    const check = open({ credential: played.spendingCredential }).check();
    const advice =
      kind === 'lnd' ? /invoices:read invoices:write$/ : /http-password-limited-access/;
    await expect(check).rejects.toThrow(advice);
    await expect(check).rejects.toMatchObject({ code: 'forbidden' });
  });

  test('a wrong credential is refused, and not repeated', async () => {
    const { open, played } = await stage(kind);
    const credential = kind === 'lnd' ? `${played.credential.slice(0, -2)}00` : 'a-wrong-password';
    const made = open({ credential }).createInvoice(request);
    await expect(made).rejects.toMatchObject({ code: 'forbidden' });
    await expect(made).rejects.toThrow(/^the node refuses the credential: /);
    await expect(made).rejects.not.toThrow(credential);
  });

  test('another network is refused at the check', async () => {
    const { open } = await stage(kind);
    await expect(open({}, 'mainnet').check()).rejects.toThrow(
      'it begins with lnbcrt, but this paygate is on mainnet',
    );
  });

  test('an invoice of another key is refused once the key is known', async () => {
    const { open } = await stage(kind, { signer: 2 });
    await expect(open({ publicKey: publicKeyOf(1) }).createInvoice(request)).rejects.toThrow(
      `with the key ${publicKeyOf(2)} instead of ${publicKeyOf(1)}`,
    );
    await open({ publicKey: publicKeyOf(2) }).createInvoice(request);
  });

  test.each([
    ['amount', { amount: '10001n' }],
    ['hash', { paymentHash: '00'.repeat(32) }],
    ['expiry', { seconds: 3600 }],
    ['network', { prefix: 'lnbc' }],
    ['address', { fields: [field(9, [0, 1])] }],
  ])('an invoice of another %s is refused', async (_, wrong) => {
    const { played, open } = await stage(kind);
    played.wrong = wrong;
    const made = open().createInvoice(request);
    await expect(made).rejects.toMatchObject({ code: 'invalid' });
    await expect(made).rejects.toThrow(/^the node gave no usable invoice: /);
  });

  test('settlements come after the check, at once, and once', async () => {
    const { world, played, open } = await stage(kind);
    const { cursor } = await open().check();
    const node = open();
    const next = follow(node.settlements(cursor, endless()));
    expect((await next()).settled).toEqual([]);
    const { invoice } = await node.createInvoice(request);
    const awaited = advancing(world, next());
    await world.until(() => kind === 'phoenixd' || isStreaming(played), 'the stream');
    const paid = played.pay(invoice, 1_001);
    expect((await awaited).settled).toEqual([
      {
        paymentHash: paid.paymentHash,
        preimage: paid.preimage,
        valueSat: 1_001,
        settledAt: Math.floor(paid.settledAt / 1000) * 1000,
        externalId: 'order-7',
      },
    ]);
    const second = played.makeInvoice(5);
    const awaitedNext = advancing(world, next());
    played.pay(second.invoice);
    expect((await awaitedNext).settled.map(({ paymentHash }) => paymentHash)).toEqual([
      second.paymentHash,
    ]);
  });

  test('the first settlement of a node is found, though nothing was connected', async () => {
    const { played, open } = await stage(kind);
    const { cursor } = await open().check();
    const { invoice, paymentHash } = played.makeInvoice(5);
    played.pay(invoice);
    const { settled } = await follow(open().settlements(cursor, endless()))();
    expect(settled.map((each) => each.paymentHash)).toEqual([paymentHash]);
  });

  test('a cursor resumes: nothing is missed, whatever was lost', async () => {
    const { world, played, open } = await stage(kind);
    const { cursor } = await open().check();
    const invoices = Array.from({ length: 50 }, () => played.makeInvoice(5));
    for (const { invoice } of invoices.slice(0, 20)) {
      played.pay(invoice);
      await world.advance(1000);
    }
    const first = await follow(open().settlements(cursor, endless()))();
    expect(hashes([first])).toEqual(new Set(invoices.slice(0, 20).map((each) => each.paymentHash)));
    await played.stop();
    for (const { invoice } of invoices.slice(20)) {
      played.pay(invoice);
      await world.advance(1000);
    }
    await played.start();
    const next = follow(open().settlements(first.cursor, endless()));
    const found: Settlements[] = [];
    const rest = new Set(invoices.slice(20).map((each) => each.paymentHash));
    while (!has(found, rest)) found.push(await next());
    // The same cursor gives the same again.
    const again: Settlements[] = [];
    const nextAgain = follow(open().settlements(first.cursor, endless()));
    while (!has(again, rest)) again.push(await nextAgain());
    expect(hashes(again)).toEqual(hashes(found));
  });

  test('an old cursor, as of a restored copy, brings all since then', async () => {
    const { world, played, open } = await stage(kind);
    const { cursor } = await open().check();
    const invoices = Array.from({ length: 3 }, () => played.makeInvoice(5));
    for (const { invoice } of invoices) {
      played.pay(invoice);
      await world.advance(1000);
    }
    const late = await follow(open().settlements(cursor, endless()))();
    const lateAgain = await follow(open().settlements(cursor, endless()))();
    expect(hashes([late])).toEqual(new Set(invoices.map((each) => each.paymentHash)));
    expect(lateAgain).toEqual(late);
  });

  test('it says each minute that the node answers', async () => {
    const { world, open } = await stage(kind);
    const { cursor } = await open().check();
    const next = follow(open().settlements(cursor, endless()));
    const startedAt = world.monotonic();
    await next();
    expect(world.monotonic() - startedAt).toBe(0);
    const { settled } = await advancing(world, next(), 1_000);
    expect(settled).toEqual([]);
    expect(world.monotonic() - startedAt).toBeLessThanOrEqual(60_000);
  });

  test('settlements end with an error when the node is away', async () => {
    const { world, played, open } = await stage(kind);
    const { cursor } = await open().check();
    const next = follow(open().settlements(cursor, endless()));
    await next();
    const ended = advancing(world, next());
    await world.until(() => kind === 'phoenixd' || isStreaming(played), 'the stream');
    await played.stop();
    await expect(ended).rejects.toMatchObject({ code: 'unavailable' });
    await expect(ended).rejects.toThrow(/^the node /);
  });

  test('settlements end with the reason of an abort', async () => {
    const { world, played, open } = await stage(kind);
    const { cursor } = await open().check();
    const stop = new AbortController();
    const next = follow(open().settlements(cursor, stop.signal));
    await next();
    const ended = advancing(world, next());
    await world.until(() => kind === 'phoenixd' || isStreaming(played), 'the stream');
    const reason = new Error('the store was archived');
    stop.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });

  test('a wrong preimage comes as the node says it: its order refuses it, with an alarm', async () => {
    const { played, open } = await stage(kind);
    const { cursor } = await open().check();
    const [good, bad, none] = [1, 2, 3].map((sat) => played.makeInvoice(sat));
    Object.assign(bad ?? {}, { preimage: good?.preimage });
    Object.assign(none ?? {}, { preimage: '' });
    for (const each of [good, bad, none]) played.pay(each?.invoice ?? '');
    const { settled } = await follow(open().settlements(cursor, endless()))();
    expect(new Map(settled.map((each) => [each.paymentHash, each.preimage]))).toEqual(
      new Map([good, bad, none].map((each) => [each?.paymentHash, each?.preimage])),
    );
  });

  describe('answers', () => {
    test('a slow node makes no invoice after 10 s', async () => {
      const { world, played, open } = await stage(kind);
      played.fault = () => 'hang';
      const startedAt = world.monotonic();
      const made = advancing(world, open().createInvoice(request));
      await expect(made).rejects.toMatchObject({ code: 'unavailable' });
      await expect(made).rejects.toThrow('the node did not answer within 10 s');
      expect(world.monotonic() - startedAt).toBeLessThan(10_500);
    });

    test('an invoice that is not waited for any more ends at once', async () => {
      const { world, played, open } = await stage(kind);
      played.fault = () => 'hang';
      const stop = new AbortController();
      const node = open();
      const made = Array.from({ length: 20 }, () => node.createInvoice(request, stop.signal));
      const ended = Promise.allSettled(made);
      await world.until(() => played.requests.length === 8, 'the first requests');
      stop.abort();
      for (const { status } of await ended) expect(status).toBe('rejected');
      expect(played.requests).toHaveLength(8);
    });

    test('a slow node cancels none after 2 s', async () => {
      const { world, played, open } = await stage(kind);
      const { paymentHash } = await open().createInvoice(request);
      played.fault = () => 'hang';
      const startedAt = world.monotonic();
      const canceled = advancing(world, open().cancel(paymentHash));
      if (kind === 'phoenixd') await canceled;
      else await expect(canceled).rejects.toThrow('the node did not answer within 2 s');
      expect(world.monotonic() - startedAt).toBeLessThan(2_500);
    });

    test('at most 8 are asked at once; the others wait, within their 10 s', async () => {
      const { world, played, open } = await stage(kind);
      const node = open();
      const held = Promise.withResolvers<undefined>();
      played.fault = () => held.promise;
      const made = Array.from({ length: 20 }, () => node.createInvoice(request));
      await world.until(() => played.requests.length === 8, 'the first requests');
      await world.advance(9_500);
      expect(played.requests).toHaveLength(8);
      held.resolve(undefined);
      await Promise.all(made);
      expect(played.invoices).toHaveLength(20);
    });

    test('what waited for too long is not asked any more', async () => {
      const { world, played, open } = await stage(kind);
      const node = open();
      played.fault = () => 'hang';
      const made = Array.from({ length: 20 }, () => node.createInvoice(request));
      const ended = Promise.allSettled(made);
      await world.until(() => played.requests.length === 8, 'the first requests');
      for (const each of await advancing(world, ended)) {
        expect(each).toMatchObject({
          status: 'rejected',
          reason: { code: 'unavailable', message: 'the node did not answer within 10 s' },
        });
      }
      expect(played.requests).toHaveLength(8);
      played.fault = () => undefined;
      await node.createInvoice(request);
    });

    test('others may take 10 s', async () => {
      const { world, played, open } = await stage(kind);
      const { cursor } = await open().check();
      played.fault = () => 'hang';
      const ended = advancing(world, follow(open().settlements(cursor, endless()))());
      await expect(ended).rejects.toThrow('the node did not answer within 10 s');
    });

    test.each([
      ['a lost connection', 'reset' as const, 'unavailable', 'the node cannot be reached: '],
      [
        'a redirect',
        { status: 302, headers: { location: 'https://x' }, body: '' },
        'unavailable',
        '302',
      ],
      ['an error of a proxy', { status: 502, body: '<html>' }, 'unavailable', '502: <html>'],
      ['a page', { body: '<html>' }, 'invalid', 'it is not bech32'],
      ['nothing', { body: '' }, 'invalid', 'it is not bech32'],
      ['null', { body: 'null' }, 'invalid', 'it is not bech32'],
      ['a list', { body: '[[]]' }, 'invalid', 'it is not bech32'],
      ['a flood', { body: 'x'.repeat(4_000_001) }, 'invalid', 'more than 4 MB'],
    ])('%s is no invoice', async (_, answer, code, message) => {
      const { played, open } = await stage(kind);
      played.fault = () => answer;
      const made = open().createInvoice(request);
      await expect(made).rejects.toMatchObject({ code });
      await expect(made).rejects.toThrow(message);
    });

    test.each([
      ['null', 'null'],
      ['a page', '<html>'],
      ['other types', '[{"paymentHash":7,"completedAt":{},"receivedSat":"x","fees":-1}]'],
      ['no numbers', '{"invoices":[{"state":"SETTLED","settle_index":"-1"}]}'],
    ])('settlements of %s crash nothing', async (_, body) => {
      const { played, open } = await stage(kind);
      const { cursor } = await open().check();
      played.fault = () => ({ body });
      const first = follow(open().settlements(cursor, endless()))();
      await first.then(
        ({ settled }) => expect(settled).toEqual([]),
        (error) => expect(error).toMatchObject({ name: 'PaygateError', code: 'invalid' }),
      );
    });

    test('an error never repeats the credential, even if the node does', async () => {
      const { played, open } = await stage(kind);
      const basic = Buffer.from(`:${played.credential}`).toString('base64');
      const body = `${played.credential} ${basic}`;
      played.fault = () => ({ status: 500, body });
      const error = await open()
        .createInvoice(request)
        .catch((thrown) => thrown);
      expect(error.message).toMatch(/^the node answered 500: /);
      for (const secret of [played.credential, basic]) {
        expect(JSON.stringify(error) + error.message + error.stack).not.toContain(secret);
        expect(error.message).not.toContain(secret.slice(0, 12));
      }
    });
  });
});

describe('lnd alone', () => {
  const hashOf = (element: Settlements) => element.settled.map(({ paymentHash }) => paymentHash);
  const firstOf = (node: LightningNode, cursor: string) =>
    follow(node.settlements(cursor, endless()))();

  test('the first settlement is found behind a page of 500 invoices', async () => {
    const { played, open } = await stage('lnd');
    const { cursor } = await open().check();
    const invoices = Array.from({ length: 501 }, () => played.makeInvoice(5));
    const last = played.pay(invoices.at(-1)?.invoice ?? '');
    expect(hashOf(await firstOf(open(), cursor))).toEqual([last.paymentHash]);
  });

  test('a long list comes page by page, and its cursor with the last one', async () => {
    const { played, open } = await stage('lnd');
    const { cursor } = await open().check();
    const invoices = Array.from({ length: 501 }, () => played.makeInvoice(5));
    const [last, first] = [invoices.at(-1), invoices[0]].map((each) =>
      played.pay(each?.invoice ?? ''),
    );
    const next = follow(open().settlements(cursor, endless()));
    const pages = [await next(), await next()];
    expect(pages.map(hashOf)).toEqual([[first?.paymentHash], [last?.paymentHash]]);
    expect(pages.map((page) => page.cursor)).toEqual([cursor, '2.1']);
  });

  test('an error repeats no macaroon that the node encodes from its bytes', async () => {
    const { played, open } = await stage('lnd');
    const bytes = Buffer.from(played.credential, 'hex');
    for (const form of [bytes.toString('base64'), bytes.toString('base64url')]) {
      played.fault = () => ({ status: 500, body: JSON.stringify({ message: `bad: ${form}.` }) });
      await expect(open().createInvoice(request)).rejects.toThrow(
        /^the node answered 500: bad: ….$/,
      );
    }
  });

  test('a list that goes on for ever ends', async () => {
    const { played, open } = await stage('lnd');
    const { cursor } = await open().check();
    const page = { invoices: Array(500).fill({ state: 'OPEN' }), last_index_offset: '1' };
    played.fault = () => ({ body: JSON.stringify(page) });
    expect(hashOf(await firstOf(open(), cursor))).toEqual([]);
    expect(played.requests.filter(({ path }) => path === '/v1/invoices').length).toBeLessThan(5);
  });

  test('what was settled before the check does not come, and later lists repeat nothing', async () => {
    const { world, played, open } = await stage('lnd');
    const before = played.makeInvoice(5);
    played.pay(before.invoice);
    const { cursor } = await open().check();
    expect(cursor).toBe('1.2');
    const next = follow(open().settlements(cursor, endless()));
    expect(hashOf(await next())).toEqual([]);
    const after = played.makeInvoice(5);
    const awaited = advancing(world, next());
    await world.until(() => isStreaming(played), 'the stream');
    played.pay(after.invoice);
    expect(hashOf(await awaited)).toEqual([after.paymentHash]);
    expect(hashOf(await firstOf(open(), '2.0'))).toEqual([]);
  });

  test.each([
    { code: 2, message: 'payment hash must be 32 bytes' },
    { code: 12, message: 'permission denied' },
  ])('a payment that fails by another error ($code, $message) is not denied', async (answer) => {
    const { played, open } = await stage('lnd');
    played.fault = ({ path }) =>
      path.endsWith('/transactions') ? { status: 500, body: JSON.stringify(answer) } : undefined;
    await expect(open().check()).rejects.toThrow('does not deny POST /v1/channels/transactions');
  });

  test('an error within the stream is the reason of its end', async () => {
    const { played, open } = await stage('lnd');
    const { cursor } = await open().check();
    const body = '{"error":{"code":2,"message":"permission denied"}}\n';
    played.fault = ({ path }) => (path.endsWith('/subscribe') ? { body } : undefined);
    const next = follow(open().settlements(cursor, endless()));
    await next();
    await expect(next()).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('phoenixd alone', () => {
  test('a clock that was set back hides no payment', async () => {
    const { world, played, open } = await stage('phoenixd');
    const { cursor } = await open().check();
    const [first, second] = [played.makeInvoice(5), played.makeInvoice(6)];
    played.pay(first.invoice);
    const before = await follow(open().settlements(cursor, endless()))();
    world.jumpWallClock(-30 * 60_000);
    played.pay(second.invoice);
    const after = await follow(open().settlements(before.cursor, endless()))();
    expect(hashes([after]).has(second.paymentHash)).toBe(true);
  });

  /** A node with so many payments, each a millisecond after the one before. */
  function withPayments(played: PlayedNode, at: number, count: number) {
    const payments = Array.from({ length: count }, (_, each) => ({
      paymentHash: `${each}`,
      receivedSat: 1,
      fees: 0,
      completedAt: at + each,
    }));
    const list = [...payments].reverse();
    played.fault = ({ query }) => {
      const offset = Number(query.get('offset'));
      return { body: JSON.stringify(list.slice(offset, offset + 20)) };
    };
    return list;
  }

  test('a long list comes page by page, and its cursor with the last one', async () => {
    const { world, played, open } = await stage('phoenixd');
    const { cursor } = await open().check();
    withPayments(played, world.now(), 45);
    const next = follow(open().settlements(cursor, endless()));
    const before = played.requests.length;
    const pages = [await next()];
    expect(played.requests.length - before).toBe(1);
    pages.push(await next(), await next());
    expect(pages.map(({ settled }) => settled.length)).toEqual([20, 20, 5]);
    expect(pages.map((page) => page.cursor)).toEqual([cursor, cursor, `${world.now() + 44}`]);
  });

  test('the newest thousand payments are known, and no more', async () => {
    const { world, played, open } = await stage('phoenixd');
    const { cursor } = await open().check();
    const list = withPayments(played, world.now(), 1_001);
    const next = follow(open().settlements(cursor, endless()));
    for (let pages = 0; pages < 51; pages += 1) await next();
    const answer = (...payments: object[]) => {
      played.fault = () => ({ body: JSON.stringify(payments) });
    };
    answer(list[999] ?? {}, { ...list[0], paymentHash: 'new' });
    expect((await advancing(world, next())).settled).toMatchObject([{ paymentHash: 'new' }]);
    answer(list[1_000] ?? {});
    expect((await advancing(world, next())).settled).toMatchObject([{ paymentHash: '0' }]);
  });

  // The customer paid whole satoshis. What the node received is shown without its fraction.
  test.each([
    [1_000, 0],
    [400, 600_000],
    [399, 600_400],
    [0, 999_001],
  ])('%i sat and %i msat that phoenixd took for a channel were paid', async (receivedSat, fees) => {
    const { played, open } = await stage('phoenixd');
    const { cursor } = await open().check();
    const paid = played.pay(played.makeInvoice(1_000).invoice);
    const { paymentHash, preimage, settledAt: completedAt } = paid;
    const payment = { paymentHash, preimage, completedAt, receivedSat, fees };
    played.fault = () => ({ body: JSON.stringify([payment]) });
    const { settled } = await follow(open().settlements(cursor, endless()))();
    expect(settled).toMatchObject([{ paymentHash, valueSat: 1_000 }]);
  });
});

describe('the proxy', () => {
  test('a node of this machine is reached without it', async () => {
    const { world, played } = await stage('lnd');
    const { url, credential } = played;
    const proxy = { host: '127.0.0.1', port: 1 };
    const node = openNode(world, { kind: 'lnd', url, credential }, { network: 'regtest', proxy });
    await node.createInvoice(request);
    expect(played.invoices).toHaveLength(1);
  });
});

describe('TLS', () => {
  const [first, second] = [makeCertificate(), makeCertificate()];

  test('a certificate that does not validate is pinned at the check', async () => {
    const { open } = await stage('lnd', { tls: first });
    const { certificate } = await open().check();
    expect(certificate).toEqual({ kind: 'pinned', sha256: first.sha256 });
    await open({ certificate }).createInvoice(request);
  });

  test('another one is refused, before the credential is sent', async () => {
    const { open, played } = await stage('lnd', { tls: second });
    const certificate = { kind: 'pinned', sha256: first.sha256 } as const;
    const made = open({ certificate }).createInvoice(request);
    await expect(made).rejects.toMatchObject({ code: 'forbidden' });
    await expect(made).rejects.toThrow(
      `the node cannot be trusted: its certificate has the SHA-256 ${second.sha256}, pinned is ${first.sha256}`,
    );
    expect(played.requests).toEqual([]);
  });

  test('one that validated must always validate', async () => {
    const { open, played } = await stage('lnd', { tls: first });
    const made = open({ certificate: { kind: 'valid' } }).createInvoice(request);
    await expect(made).rejects.toThrow(
      'the node cannot be trusted: its certificate validated before',
    );
    expect(played.requests).toEqual([]);
  });

  test('plain HTTP at a port of TLS, and the other way round, are clear', async () => {
    const { played, open } = await stage('lnd', { tls: first });
    const url = played.url.replace('https', 'http');
    await expect(open({ url }).createInvoice(request)).rejects.toThrow(
      'the node cannot be reached',
    );
    const plain = await stage('lnd');
    const secure = plain.played.url.replace('http', 'https');
    await expect(plain.open({ url: secure }).createInvoice(request)).rejects.toThrow(
      'the node cannot be reached: it does not speak TLS on this port',
    );
  });
});

describe('onion', () => {
  const url = 'http://2gzyxa5ihm7nsggfxnu52rck2vv4rvmdlkiu3zzui5du4xyclen53wid.onion:8080';

  test('an onion service needs the proxy', async () => {
    const { open } = await stage('lnd');
    await expect(open({ url }).createInvoice(request)).rejects.toThrow(
      'is reached only through Tor: start serve with --proxy',
    );
  });
});

/** Whether a stream of an LND is open. */
const isStreaming = ({ requests }: PlayedNode): boolean =>
  requests.at(-1)?.path === '/v1/invoices/subscribe';

const has = (elements: readonly Settlements[], wanted: ReadonlySet<string>): boolean =>
  [...wanted].every((hash) => hashes(elements).has(hash));

const hashes = (elements: readonly Settlements[]): Set<string> =>
  new Set(elements.flatMap(({ settled }) => settled.map(({ paymentHash }) => paymentHash)));
