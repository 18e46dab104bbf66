// `paygate callbacks …` and what of `paygate store …` concerns callbacks, beside an open file.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { addressToScript } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { secretOverlapMs, signatureHeaders } from '../../src/delivery/signature.ts';
import { testTxid } from '../../src/delivery/test-callback.ts';
import { eventId } from '../../src/domain/delivery/callback.ts';
import type { AttemptOutcome } from '../../src/domain/delivery/retry.ts';
import type { NewCallback } from '../../src/store/delivery/outbox.ts';
import { settings } from '../../src/store/schema/schema.ts';
import { type Owed, openOwed, webhookSecret, withStatus } from '../delivery/owed.ts';
import { makeCertificate } from '../electrum/certificates.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp } from '../support/files.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../support/receiver.ts';

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await cleanUp();
});

const now = Date.now();
const hour = 3_600_000;

function open(): Owed {
  const owed = openOwed();
  closing.push(owed.close);
  return owed;
}

async function receiver(options?: ReceiverOptions): Promise<Receiver> {
  const shop = await startReceiver(options);
  closing.push(shop.close);
  return shop;
}

const ok = () => ({ status: 200, body: 'ok' });

const run = (owed: Owed, command: string, env?: Record<string, string>) =>
  runCli([...command.split(' '), '--db', owed.path], env);

/** Its answer as JSON; it must end with this code and complain of nothing. */
// biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what the test looks at.
async function ask(owed: Owed, command: string, expected = 0): Promise<any> {
  const { code, stdout, stderr } = await run(owed, `${command} --json`);
  expect({ code, stderr }).toEqual({ code: expected, stderr: '' });
  return JSON.parse(stdout);
}

/** Records an attempt of the callback that was enqueued so many-th. */
const attempt = (
  owed: Owed,
  id: number,
  outcome: AttemptOutcome,
  at?: number,
  doubted: string | null = 'error',
) =>
  owed.database.write((tx) => {
    const made = { startedAt: now, durationMs: 12, outcome, httpStatus: 200, reason: 'no way' };
    const seen = { address: '192.0.2.7', phases: { connect: 1.5, response: 10 }, body: 'sorry' };
    const doubt = outcome === 'delivered' ? doubted : null;
    const reason = outcome === 'delivered' ? null : made.reason;
    const { storeId, step, nextAttemptAt, confirmAt } = owed.outbox.callback(id);
    const dueAt = confirmAt ?? nextAttemptAt;
    const claimed = { id, storeId, receiverId: storeId, step, dueAt };
    owed.outbox.record(tx, now, claimed, { ...made, ...seen, reason, doubt }, { step: 1, at });
  });

const rowsOf = (owed: Owed) =>
  owed.outbox
    .list({ limit: 100 })
    .reverse()
    .map(({ state, step }) => `${state} ${step}`);

describe('callbacks list', () => {
  it('filters by store, state and age, page by page', async () => {
    const owed = open();
    const [one, two] = [owed.addStore(), owed.addStore()];
    await owed.enqueue(now - 5 * hour, owed.addPayment(one));
    await owed.enqueue(now - hour, owed.addPayment(one), owed.addPayment(two));
    await attempt(owed, 2, 'status');
    const ids = async (filter: string) =>
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      (await ask(owed, `callbacks list${filter}`)).map(({ id }: any) => id);
    expect(await ids('')).toEqual([3, 2, 1]);
    expect(await ids(` --store ${one}`)).toEqual([2, 1]);
    expect(await ids(' --state exhausted')).toEqual([2]);
    expect(await ids(' --newer-than 2h')).toEqual([3, 2]);
    expect(await ids(' --older-than 2h')).toEqual([1]);
    expect(await ids(' --older-than 30m --newer-than 2h --state owed')).toEqual([3]);
    expect(await ids(' --before 3 --limit 1')).toEqual([2]);
    expect((await run(owed, 'callbacks list --newer-than soon')).code).toBe(2);
    const text = async (filter: string) => (await run(owed, `callbacks list${filter}`)).stdout;
    expect(await text(' --limit 2')).toContain('There are more: --before 2 shows the next page.');
    expect(await text(' --limit 3')).not.toContain('There are more');
  });
});

describe('callbacks show', () => {
  it('shows every attempt, and the URL only on request', async () => {
    const owed = open();
    const callbackUrl = 'https://shop.example/cb?secret=s3cr3t';
    await owed.enqueue(now, owed.addPayment(owed.addStore({ callbackUrl })));
    await attempt(owed, 1, 'timeout', now + hour);
    await attempt(owed, 1, 'delivered');
    const shown = await ask(owed, 'callbacks show 1');
    expect(shown).toMatchObject({ id: 1, state: 'delivered', attempts: 2, last_doubt: 'error' });
    expect(shown.url).toMatch(/^https:\/\/shop\.example\/cb\?…&status=0&addr=/);
    expect(shown.log).toEqual([
      {
        ...{ at: now / 1000, outcome: 'timeout', http_status: 200, reason: 'no way', doubt: null },
        ...{ address: '192.0.2.7', duration_ms: 12, body: 'sorry' },
        phases_ms: { connect: 1.5, response: 10 },
      },
      expect.objectContaining({ outcome: 'delivered', doubt: 'error' }),
    ]);
    const { stdout } = await run(owed, 'callbacks show 1');
    expect(stdout).not.toContain('s3cr3t');
    expect(stdout).toContain('12 ms (connect 1.5, response 10)');
    expect(stdout).toContain('delivered, but the answer says "error"');
    expect(stdout).toMatch(/advice +see why the shop refuses/);
    expect((await run(owed, 'callbacks show 1 --secrets')).stdout).toContain('secret=s3cr3t&');
    expect(await run(owed, 'callbacks show 2')).toMatchObject({
      ...{ code: 1, stderr: 'paygate: there is no callback 2\n' },
    });
  });
});

describe('callbacks resend', () => {
  it('makes a callback pending again, with the same event id', async () => {
    const owed = open();
    const callback = owed.addPayment(owed.addStore());
    await owed.enqueue(now, callback);
    for (const outcome of ['status', 'delivered'] as const) {
      await attempt(owed, 1, outcome);
      expect(await ask(owed, 'callbacks resend 1')).toMatchObject({ id: 1, state: 'owed' });
      expect(owed.outbox.list({ limit: 9 })).toMatchObject([
        { state: 'owed', step: 0, settledAt: null, eventId: eventId(callback) },
      ]);
    }
    expect(owed.outbox.callback(1).attemptCount).toBe(2);
  });

  it('refuses a superseded callback, naming the newest, and a stopped store', async () => {
    const owed = open();
    const callback = owed.addPayment(owed.addStore());
    const stopped = owed.addPayment(owed.addStore({ callbacksStopped: true }));
    await owed.enqueue(now, callback, withStatus(callback, 1), stopped);
    const outcome = await run(owed, 'callbacks resend 1');
    expect(outcome).toMatchObject({ code: 1, stderr: expect.stringContaining('resend 2') });
    expect((await run(owed, 'callbacks resend 3')).stderr).toContain('were stopped');
    expect(rowsOf(owed)).toEqual(['superseded 0', 'owed 0', 'owed 0']);
  });

  it('resends the failed callbacks of one store in bulk, up to an age', async () => {
    const owed = open();
    const [one, two] = [owed.addStore(), owed.addStore()];
    const each: [NewCallback, number][] = [
      [owed.addPayment(one), now - 9 * hour],
      [owed.addPayment(one), now],
      [owed.addPayment(one), now],
      [owed.addPayment(one), now],
      [owed.addPayment(two), now],
    ];
    for (const [callback, at] of each) await owed.enqueue(at, callback);
    await attempt(owed, 1, 'status');
    await attempt(owed, 2, 'status');
    await attempt(owed, 3, 'status', now + hour);
    await attempt(owed, 5, 'status');
    expect(await ask(owed, `callbacks resend-failed --store ${one} --newer-than 2h`)).toEqual({
      resent: 2,
    });
    expect(rowsOf(owed)).toEqual(['exhausted 1', 'owed 0', 'owed 0', 'owed 0', 'exhausted 1']);
    expect(await ask(owed, `callbacks resend-failed --store ${one}`)).toEqual({ resent: 1 });
    const again = await run(owed, `callbacks resend-failed --store ${one}`);
    expect(again).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No callback has failed'),
    });
    expect((await run(owed, 'callbacks resend-failed --store 9')).stderr).toContain('no store 9');
  });
});

describe('callbacks whose last response is doubtful', () => {
  async function doubtful() {
    const owed = open();
    const [one, two] = [owed.addStore(), owed.addStore()];
    const payments = [one, one, one, one, two].map((storeId) => owed.addPayment(storeId));
    await owed.enqueue(now - 9 * hour, ...payments.slice(0, 1));
    await owed.enqueue(now, ...payments.slice(1));
    for (const id of [1, 2, 3, 5]) await attempt(owed, id, 'delivered', now + hour);
    return { owed, one, second: payments[1] as NewCallback };
  }
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const idsOf = (rows: any) => rows.map(({ id }: any) => id);

  it('P-64 are listed, with the time of the next attempt', async () => {
    const { owed, one } = await doubtful();
    const listed = await ask(owed, `callbacks list --doubtful --store ${one}`);
    expect(idsOf(listed)).toEqual([3, 2, 1]);
    expect(listed[0]).toMatchObject({
      ...{ state: 'delivered', last_doubt: 'error', next_attempt_at: null },
      confirm_at: Math.floor((now + hour) / 1000),
    });
    const { stdout } = await run(owed, 'callbacks list --doubtful');
    expect(stdout).toMatch(/delivered, but the answer says "error"; sent again 20\d\d-/);
    expect((await run(owed, 'callbacks show 1')).stdout).toContain('sent again');
    // A failure in between takes no doubt away, an answer without one does.
    await attempt(owed, 2, 'status', now + hour);
    await attempt(owed, 3, 'delivered', undefined, null);
    expect(idsOf(await ask(owed, `callbacks list --doubtful --store ${one}`))).toEqual([2, 1]);
  });

  it('P-64 are resent in bulk, for one store up to an age, but never if superseded', async () => {
    const { owed, one, second } = await doubtful();
    await owed.enqueue(now, withStatus(second, 1));
    const resend = `callbacks resend-failed --doubtful --store ${one}`;
    expect(await ask(owed, `${resend} --newer-than 2h`)).toEqual({ resent: 1 });
    const states = ['delivered 1', 'delivered 1', 'owed 0', 'owed 0', 'delivered 1', 'owed 0'];
    expect(rowsOf(owed)).toEqual(states);
    expect(await ask(owed, resend)).toEqual({ resent: 1 });
    const none = await run(owed, resend);
    expect(none.stdout).toContain('No callback has a doubtful last answer.');
    expect((await run(owed, 'callbacks resend-failed --doubtful --store 9')).stderr).toContain(
      'no store 9',
    );
  });

  it('are not resent by the other bulk command', async () => {
    const { owed, one } = await doubtful();
    expect(await ask(owed, `callbacks resend-failed --store ${one}`)).toEqual({ resent: 0 });
  });
});

describe('callbacks test', () => {
  it.each([
    ['Error: Blockonomics order not found', 'unknown-order', 'the secret and URL are right'],
    ['Order not found', 'unknown-order', 'the plugin knows no such order'],
    ['Error: secret does not match', 'wrong-secret', 'wrong secret'],
    [
      '<b>Unknown</b>: Creation of dynamic property Proxy::$a is deprecated in <b>/a</b> on line <b>1</b>Invalid secret',
      'wrong-secret',
      'wrong secret',
    ],
    ['', 'empty', 'empty: did the URL lose its secret?'],
    ['<!DOCTYPE html><title>Home</title>', 'web-page', 'not the plugin: permalinks?'],
    ['Module Not Activated', 'refused', 'the shop refused it'],
    ['OK', 'accepted', 'the shop accepted it'],
  ])('P-66 explains the response of a plugin family: %j is %s', async (body, verdict, words) => {
    const owed = open();
    const shop = await receiver({ answer: () => ({ status: 200, body }) });
    owed.addStore({ callbackUrl: `${shop.origin}/?wc-api=Gateway` });
    const accepts = ['unknown-order', 'accepted'].includes(verdict);
    const code = accepts ? 0 : 1;
    const shown = await ask(owed, 'callbacks test --store 1', code);
    expect(shown).toMatchObject({ outcome: 'delivered', http_status: 200, verdict, accepts });
    expect(shown.meaning).toContain(words);
    const { stdout, code: plain } = await run(owed, 'callbacks test --store 1');
    expect([plain, stdout]).toEqual([code, expect.stringContaining(words)]);
    // Only one that the shop would accept counts as a test that was made.
    const names = owed.database.orm.select().from(settings).all();
    expect(names.some(({ name }) => name === 'callback_tested_at')).toBe(accepts);
  });

  it('P-66 accepts the page of Easy Digital Downloads, and names what it cannot tell apart', async () => {
    const owed = open();
    const body = '<!DOCTYPE html><html><title>My shop</title>';
    const shop = await receiver({ answer: () => ({ status: 200, body }) });
    owed.addStore({ callbackUrl: `${shop.origin}/?edd-listener=blockonomics&secret=s3cr3t` });
    const shown = await ask(owed, 'callbacks test --store 1');
    expect(shown).toMatchObject({ verdict: 'web-page', accepts: true, doubt: null });
    expect(shown.meaning).toContain('a shop without it');
  });

  it('sends a marked, signed callback for an address of no wallet, and shows the exchange', async () => {
    const owed = open();
    const shop = await receiver({ answer: () => ({ status: 200, body: 'wrong secret s3cr3t' }) });
    owed.addStore({ callbackUrl: `${shop.origin}/cb?secret=s3cr3t` });
    const test = () => ask(owed, 'callbacks test --store 1 --status 2 --value 777', 1);
    const shown = await test();
    const [request] = shop.requests;
    const query = request?.url.split('?')[1] ?? '';
    const told = new URLSearchParams(query);
    expect(query).toBe(
      `secret=s3cr3t&status=2&addr=${told.get('addr')}&value=777&txid=${testTxid}`,
    );
    expect(addressToScript(told.get('addr') ?? '', networks.mainnet)).toHaveLength(22);
    const { 'webhook-id': id = '', 'webhook-timestamp': timestamp } = request?.headers ?? {};
    expect(id).toMatch(/^msg_test_/);
    const signed = { eventId: id, timestamp: Number(timestamp), payload: query };
    expect(request?.headers).toMatchObject({ ...signatureHeaders(signed, [webhookSecret]) });
    expect(shown).toMatchObject({
      ...{ outcome: 'delivered', http_status: 200, doubt: 'wrong secret …', address: '127.0.0.1' },
      ...{ body: 'wrong secret …', headers: { 'webhook-id': id } },
    });
    expect(JSON.stringify(shown)).not.toContain('s3cr3t');
    // Another address each time, and nothing is left behind.
    expect((await test()).url).not.toBe(shown.url);
    expect(owed.outbox.list({ limit: 1 })).toEqual([]);
    const { stdout } = await run(owed, 'callbacks test --store 1 --secrets');
    expect(stdout).toContain(`GET ${shop.origin}/cb?secret=s3cr3t&status=0&addr=`);
    expect(stdout).toContain('delivered, but the answer says "wrong secret …"');
  });

  it('sends two more cases to a receiver: rbf, and a gone payment', async () => {
    const owed = open();
    const shop = await receiver({ answer: ok });
    owed.addStore({ callbackUrl: `${shop.origin}/cb` });
    await ask(owed, 'callbacks test --store 1 --rbf');
    await ask(owed, 'callbacks test --store 1 --status -1');
    const told = shop.requests.map(({ url }) => new URLSearchParams(url.split('?')[1]));
    expect(told.map((each) => [each.get('status'), each.get('rbf')])).toEqual([
      ['0', '1'],
      ['-1', null],
    ]);
    // No callback says so: what is in a block is not replaced.
    const refused = await run(owed, 'callbacks test --store 1 --status 1 --rbf');
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--rbf') });
    expect(shop.requests).toHaveLength(2);
  });

  it('explains the response of WordPress without the plugin', async () => {
    const owed = open();
    const shop = await receiver({ answer: () => ({ status: 400, body: '-1' }) });
    owed.addStore({ callbackUrl: shop.origin });
    const outcome = await run(owed, 'callbacks test --store 1');
    expect(outcome).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('is the plugin on?'),
    });
    const json = await run(owed, 'callbacks test --store 1 --json');
    expect(JSON.parse(json.stdout)).toMatchObject({ http_status: 400, verdict: 'not-delivered' });
  });

  it('names the reason why a shop was not reached, and exits with 1', async () => {
    const owed = open();
    const shop = await receiver({ answer: () => ({ status: 404 }) });
    owed.addStore({ callbackUrl: shop.origin });
    const outcome = await run(owed, 'callbacks test --store 1');
    expect(outcome).toMatchObject({ code: 1, stdout: expect.stringContaining('answered 404') });
    const json = await run(owed, 'callbacks test --store 1 --json');
    expect(JSON.parse(json.stdout)).toMatchObject({ outcome: 'status', verdict: 'not-delivered' });
    const own = { PAYGATE_LISTEN: `127.0.0.1:${shop.port}` };
    const refused = await run(owed, 'callbacks test --store 1', own);
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('paygate itself') });
    expect(shop.requests).toHaveLength(2);
  });
});

describe('store', () => {
  it('list hides the secrets of callback URLs', async () => {
    const owed = open();
    owed.addStore({ callbackUrl: 'https://shop.example/cb?secret=s3cr3t' });
    const { stdout } = await run(owed, 'store list');
    expect(stdout).toContain('https://shop.example/cb?…');
    expect(stdout).not.toContain('s3cr3t');
  });

  it('rotate-secret lets both secrets sign for 7 days', async () => {
    const owed = open();
    const shop = await receiver({ answer: ok });
    owed.addStore({ callbackUrl: shop.origin });
    const { webhook_secret: fresh, old_secret_ends_at: endsAt } = await ask(
      owed,
      'store rotate-secret 1',
    );
    expect(Math.abs(endsAt * 1000 - now - secretOverlapMs)).toBeLessThan(hour);
    await ask(owed, 'callbacks test --store 1');
    const { url = '', headers } = shop.requests[0] ?? {};
    const { 'webhook-id': id = '', 'webhook-timestamp': timestamp } = headers ?? {};
    const signed = { eventId: id, timestamp: Number(timestamp), payload: url.split('?')[1] ?? '' };
    expect(headers).toMatchObject({ ...signatureHeaders(signed, [fresh, webhookSecret]) });
    expect((await run(owed, 'store show 1')).stdout).toContain(`${webhookSecret} until `);
  });

  it('set --callback-ca trusts an authority of the store’s own', async () => {
    const owed = open();
    const certificate = makeCertificate();
    const shop = await receiver({ tls: certificate, answer: ok });
    owed.addStore({ callbackUrl: shop.origin });
    const folder = mkdtempSync(join(tmpdir(), 'paygate-ca-'));
    closing.push(() => rmSync(folder, { recursive: true }));
    const file = (text: string) => {
      writeFileSync(join(folder, 'ca.pem'), text);
      return join(folder, 'ca.pem');
    };
    const test = async () => (await run(owed, 'callbacks test --store 1')).code;
    expect(await test()).toBe(1);
    for (const [text, fault] of [
      ['nothing', 'contains no PEM certificate'],
      [certificate.cert + certificate.key, 'contains a private key'],
      [
        '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
        'contains a damaged certificate',
      ],
    ] as const) {
      const outcome = await run(owed, `store set 1 --callback-ca ${file(text)}`);
      expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining(fault) });
    }
    const set = await ask(owed, `store set 1 --callback-ca ${file(`a note\n${certificate.cert}`)}`);
    expect(set).toMatchObject({ own_callback_ca: true });
    expect(await test()).toBe(0);
    await ask(owed, 'store set 1 --no-callback-ca');
    expect(await test()).toBe(1);
  });

  it('has a minimum and an rbf setting, which are shown', async () => {
    const owed = open();
    owed.addStore();
    const before = await ask(owed, 'store set 1 --name Shop');
    expect(before).toMatchObject({ minimum: null, rbf_parameter: true });
    const set = await ask(owed, 'store set 1 --minimum 1000 --no-rbf-parameter');
    expect(set).toMatchObject({ minimum: 1000, rbf_parameter: false });
    const { stdout } = await run(owed, 'store show 1');
    expect(stdout).toMatch(/minimum +1000 sat/);
    expect(stdout).toMatch(/rbf parameter +omitted/);
    expect(await ask(owed, 'store set 1 --name Other')).toMatchObject({ minimum: 1000 });
    const unset = await ask(owed, 'store set 1 --no-minimum --rbf-parameter');
    expect(unset).toMatchObject({ minimum: null, rbf_parameter: true });
    for (const minimum of ['0', '-1', '1.5', 'abc', '2100000000000001']) {
      expect((await run(owed, `store set 1 --minimum=${minimum}`)).code).toBe(2);
    }
  });
});
