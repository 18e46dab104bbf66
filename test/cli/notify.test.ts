// `paygate notify` as a person types it, and the doctor's check of the mail server.

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { makeAuthority } from '../support/authority.ts';
import { runCli, runProcess } from '../support/cli.ts';
import { cleanUp, whenOver } from '../support/files.ts';
import { type MailServerOptions, startMailServer } from '../support/mail-server.ts';
import { startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';

afterEach(cleanUp);

const password = 's3cret pa55word';

async function open(options: MailServerOptions = {}) {
  const mail = await startMailServer(options);
  whenOver(() => mail.close());
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore();
  const notify = async (args: string, input = '') => {
    const words = ['notify', ...args.split(' '), '--db', records.path];
    return input === '' ? runCli(words) : runProcess(words, {}, input);
  };
  const json = async (args: string) => JSON.parse((await notify(`${args} --json`)).stdout);
  return { mail, records, notify, json };
}

test('sets the mail server and recipients, shows no password, and sends a test', async () => {
  const { mail, records, notify, json } = await open({ password });
  const server = `mail --server localhost --port ${mail.port} --security none --user shop`;
  const set = await notify(`${server} --from paygate@shop.example --password-file -`, password);
  expect([set.code, set.stderr]).toEqual([0, '']);
  expect(records.state.mailServer.read()?.password).toBe(password);
  await notify('set --to owner@shop.example,b@shop.example --kinds order.paid,findings');
  const shown = await json('show');
  expect(shown).toMatchObject({
    store_id: null,
    mail: { server: 'localhost', port: mail.port, security: 'none', user: 'shop', own_ca: false },
    recipients: ['owner@shop.example', 'b@shop.example'],
    kinds: ['order.paid', 'findings'],
    webhook_url: null,
    waiting: 0,
    failed: [],
  });
  expect((await notify('show')).stdout).not.toContain(password);
  const tested = await json('test');
  expect(tested).toEqual([
    { to: 'owner@shop.example', reason: null },
    { to: 'b@shop.example', reason: null },
  ]);
  expect(mail.mails).toHaveLength(2);
  expect(JSON.stringify(records.audit.list(9))).not.toContain(password);
  await mail.close();
  const failed = await notify('test');
  expect(failed.code).toBe(1);
  expect(failed.stdout).toMatch(/owner@shop\.example +cannot connect to localhost/);
});

test('a store has recipients and a webhook of its own', async () => {
  const { notify, json } = await open();
  const set = await notify('set --store 1 --webhook-url https://ntfy.example/topic');
  expect(set.code).toBe(0);
  expect(await json('show --store 1')).toMatchObject({
    ...{ store_id: 1, webhook_url: 'https://ntfy.example/topic' },
    webhook_secret: expect.stringMatching(/^whsec_/),
    kinds: expect.not.arrayContaining(['findings']),
  });
  await notify('set --store 1 --no-webhook-url --to me@shop.example');
  const answer = await json('show --store 1');
  expect(answer).toMatchObject({ webhook_url: null, recipients: ['me@shop.example'] });
  expect((await notify('show --store 7')).code).toBe(1);
});

test('a test goes to no address at which a server with the same environment listens', async () => {
  const { records, notify } = await open();
  const shop = await startReceiver();
  whenOver(() => shop.close());
  await notify(`set --webhook-url ${shop.origin}/topic --allow-private-callback`);
  const place = `127.0.0.1:${shop.port}`;
  for (const own of [
    { PAYGATE_LISTEN: place },
    { PAYGATE_METRICS_LISTEN: place },
    { PAYGATE_DOMAIN: 'pay.example.com', PAYGATE_LISTEN_HTTP: place },
  ]) {
    const refused = await runCli(['notify', 'test', '--db', records.path], own);
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('paygate itself')]);
  }
  expect(shop.requests).toEqual([]);
  expect((await notify('test')).code).toBe(0);
  expect(shop.requests).toHaveLength(1);
});

test.each([
  ['mail --from a@b.example', '--server'],
  ['mail --server smtp.example.com', '--from'],
  ['mail --server smtp.example.com --from nobody', 'mail address'],
  ['mail --server smtp.example.com --from a@b.example --security none', 'this machine'],
  ['mail --server smtp.example.com --from a@b.example --user me', 'password'],
  ['set --to me', 'mail address'],
  ['set --kinds order.paid,everything', 'everything'],
  ['set --webhook-url http://10.0.0.1/', 'private'],
])('%s is refused with code 2', async (args, text) => {
  const { notify } = await open();
  const { code, stderr } = await notify(args);
  expect(code).toBe(2);
  expect(stderr).toContain(text);
});

test('the doctor connects and signs in, and sends no mail', async () => {
  const authority = makeAuthority();
  whenOver(async () => authority.remove());
  const certificate = authority.issue('localhost', '20200101000000Z', '20400101000000Z');
  const { mail, records, notify } = await open({ certificate, password });
  const folder = dirname(records.path);
  const files = { ca: join(folder, 'ca.pem'), password: join(folder, 'password') };
  writeFileSync(files.ca, authority.certificate);
  writeFileSync(files.password, `${password}\n`);
  const server = `mail --server localhost --port ${mail.port} --security starttls --user shop`;
  const rest = `--from paygate@shop.example --password-file ${files.password} --ca ${files.ca}`;
  expect((await notify(`${server} ${rest}`)).code).toBe(0);
  const check = async () => {
    const args = ['doctor', '--db', records.path, '--electrum', 'tcp://127.0.0.1:1', '--json'];
    const { stdout } = await runProcess(args);
    const { checks } = JSON.parse(stdout) as { checks: { check: string; state: string }[] };
    return checks.find((each) => each.check === 'mail');
  };
  expect(await check()).toEqual({
    ...{ check: 'mail', state: 'ok' },
    text: `mail server localhost:${mail.port} answers by STARTTLS, and accepts the password of shop`,
  });
  writeFileSync(files.password, 'wrong\n');
  await notify(`mail --password-file ${files.password}`);
  expect(await check()).toMatchObject({
    state: 'fail',
    text: expect.stringMatching(/refused the user or the password/),
  });
  await notify('mail --no-ca');
  expect(await check()).toMatchObject({
    state: 'fail',
    text: expect.stringMatching(/certificate/),
  });
  expect(mail.mails).toEqual([]);
});
