// What the doctor asks by HTTP, of servers and shops that are well and that are not, over real
// sockets.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createSender } from '../../src/delivery/sender.ts';
import { runChecks } from '../../src/doctor/doctor-check.ts';
import { webChecks } from '../../src/doctor/web-checks.ts';
import { makeAuthority } from '../support/authority.ts';
import { runProcess } from '../support/cli.ts';
import { cleanUp, tempFolder, whenOver } from '../support/files.ts';
import { type ReceiverOptions, startReceiver } from '../support/receiver.ts';
import { openTestStore, type TestRecords } from '../support/store.ts';
import { createTestWorld, type TestWorld } from '../support/world.ts';

afterEach(cleanUp);

const hourMs = 3_600_000;

type Finding = { check: string; state: string; text: string };

async function receiver(options: ReceiverOptions = {}) {
  const started = await startReceiver(options);
  whenOver(() => started.close());
  return started;
}

describe('by HTTP', () => {
  const host = 'localhost';
  let authority: ReturnType<typeof makeAuthority>;
  beforeAll(() => {
    authority = makeAuthority();
    return () => authority.remove();
  });

  async function findings(parts: {
    publicUrl?: string;
    host?: string;
    port?: number;
    records?: TestRecords;
    world?: TestWorld;
    https?: boolean;
  }) {
    const { world = createTestWorld(), publicUrl, port = 2, records, https = false } = parts;
    const listen = { host: parts.host ?? '127.0.0.1', port };
    const senderBeside = (listeners: readonly (typeof listen)[]) =>
      createSender(world, { version: '0.1', listeners: () => listeners });
    const senders = { sender: senderBeside([]), shopSender: senderBeside([listen]) };
    const network = 'regtest';
    const checks = webChecks({ world, ...senders, listen, https, publicUrl, network, records });
    const found = await runChecks(world, checks);
    return Object.fromEntries(found.map(({ check, ...finding }) => [check, finding]));
  }

  const healthy = { status: 200, body: '{"version":"0.1.0","network":"regtest"}' } as const;

  it('a public URL with an untrusted certificate, or of another network', async () => {
    const tls = await receiver({ tls: true });
    const publicUrl = `https://localhost:${tls.port}`;
    expect((await findings({ publicUrl }))['public URL']).toMatchObject({
      state: 'fail',
      text: `GET ${publicUrl}/healthz: localhost:${tls.port} could not be trusted: its certificate is self-signed`,
    });
    const body = '{"version":"0.1.0","network":"mainnet"}';
    const other = await receiver({ answer: () => ({ status: 200, body }) });
    const found = await findings({ publicUrl: other.origin });
    expect(found['public URL']?.text).toContain('a paygate of another network answers');
    expect(other.requests[0]?.url).toBe('/healthz');
    expect((await findings({}))['public URL']).toMatchObject({ state: 'skip' });
  });

  it('a public URL with a valid certificate, and its days left', async () => {
    const inDays = (days: number) =>
      new Date(Date.now() + days * 24 * hourMs)
        .toISOString()
        .replace(/[-:T]|\..*/g, '')
        .concat('Z');
    const ca = join(tempFolder(), 'ca.pem');
    writeFileSync(ca, authority.certificate);
    const path = join(tempFolder(), 'none.db');
    for (const [days, state] of [
      [90, 'ok'],
      [7, 'warn'],
    ] as const) {
      const tls = authority.issue(host, inDays(-1), inDays(days));
      const shop = await receiver({ tls, host: 'localhost', answer: () => healthy });
      const url = ['--public-url', `https://localhost:${shop.port}`];
      const args = ['doctor', '--json', '--db', path, '--network', 'regtest', ...url];
      const nowhere = ['--electrum', 'tcp://127.0.0.1:1'];
      const env = { NODE_EXTRA_CA_CERTS: ca };
      const { checks } = JSON.parse((await runProcess([...args, ...nowhere], env)).stdout);
      const found = checks.find(({ check }: Finding) => check === 'public URL');
      expect(found.state).toBe(state);
      expect(found.text).toMatch(new RegExp(`its certificate ends in ${days - 1} days$`));
    }
  });

  it('the name of --domain, which is the default public URL', async () => {
    const path = join(tempFolder(), 'none.db');
    const args = ['doctor', '--json', '--db', path, '--electrum', 'tcp://127.0.0.1:1'];
    const publicUrl = async (...more: string[]): Promise<string> => {
      const { checks } = JSON.parse((await runProcess([...args, ...more], {})).stdout);
      return checks.find(({ check }: Finding) => check === 'public URL').text;
    };
    expect(await publicUrl('--domain', 'pay.invalid')).toContain(
      'GET https://pay.invalid/healthz: pay.invalid could not be resolved',
    );
    const other = ['--public-url', 'https://shop.invalid'];
    expect(await publicUrl('--domain', 'pay.invalid', ...other)).toContain(
      'GET https://shop.invalid/healthz: ',
    );
  });

  it('a serve that is not ready, with its reasons', async () => {
    const body = '{"ready":false,"reasons":["the disk is almost full\\u001b[2J"]}';
    const unready = await receiver({ answer: () => ({ status: 503, body }) });
    const found = await findings({ port: unready.port });
    expect(found.serve).toMatchObject({ state: 'fail' });
    expect(found.serve?.text).toMatch(/\/readyz: the disk is almost full \[2J$/);
  });

  it.each(['*', '0.0.0.0'])('a serve that is not ready and listens at %s', async (host) => {
    const answer = () => ({ status: 503, body: '{"ready":false,"reasons":["no"]}' }) as const;
    const unready = await receiver({ answer });
    const found = await findings({ host, port: unready.port });
    expect(found.serve).toMatchObject({ state: 'fail' });
    expect(found.serve?.text).toMatch(/\/readyz: no$/);
  });

  it('a serve that is ready, one that speaks HTTPS, and something else at its port', async () => {
    const ready = await receiver({ answer: () => ({ status: 200, body: '{"ready":true}' }) });
    expect((await findings({ port: ready.port })).serve).toEqual({
      state: 'ok',
      text: `${ready.origin}/readyz is ready`,
    });
    expect((await findings({ port: ready.port, https: true })).serve).toMatchObject({
      state: 'skip',
    });
    expect(ready.requests).toHaveLength(1);
    const other = await receiver({ answer: () => ({ status: 200, body: '<html>' }) });
    expect((await findings({ port: other.port })).serve).toEqual({
      state: 'fail',
      text: `${other.origin}/readyz: the answer is 200`,
    });
  });

  it('a shop without a Callback URL, and one with a certificate of its own authority', async () => {
    const records = await openTestStore();
    await records.addWallet();
    const tls = authority.issue(host, '20200101000000Z', '20990101000000Z');
    const shop = await receiver({ tls, host });
    const url = `https://localhost:${shop.port}/cb`;
    await records.addStore({ callbackUrl: '' });
    expect(Object.keys(await findings({ records }))).toEqual(['serve', 'public URL']);
    const { id } = await records.addStore({ callbackUrl: url, allowPrivateCallback: true });
    expect((await findings({ records })).callback).toMatchObject({
      state: 'fail',
      text: expect.stringContaining('could not be trusted'),
    });
    const callbackCa = authority.certificate;
    await records.write((tx) => records.catalog.changeStore(tx, id, { callbackCa }));
    expect((await findings({ records })).callback).toMatchObject({ state: 'ok' });
  });

  it('the host of a webhook, beside the Callback URL or instead of it', async () => {
    const records = await openTestStore();
    await records.addWallet();
    const shop = await receiver({ answer: () => ({ status: 405 }) });
    const webhookUrl = `${shop.origin}/hook?secret=s3cr3t`;
    const flags = { allowPrivateCallback: true, allowHttpCallback: true };
    await records.addStore({ callbackUrl: '', webhookUrl, ...flags });
    const found = await findings({ records });
    expect(found.callback).toBeUndefined();
    expect(found.webhook).toEqual({
      state: 'ok',
      text: `store 1: HEAD ${shop.origin}/ was answered with 405 by 127.0.0.1`,
    });
    expect(shop.requests.map(({ url }) => url)).toEqual(['/']);
  });

  it('a Callback URL that leads to paygate itself', async () => {
    const records = await openTestStore();
    await records.addWallet();
    const paygate = await receiver({ answer: () => ({ status: 404 }) });
    const callbackUrl = `${paygate.origin}/paid`;
    await records.addStore({ callbackUrl, allowPrivateCallback: true });
    expect((await findings({ records, port: paygate.port })).callback).toEqual({
      state: 'fail',
      text: `store 1: HEAD ${paygate.origin}/: 127.0.0.1 is paygate itself`,
    });
    // `serve` has asked it, and no callback would.
    expect(paygate.requests.map(({ url }) => url)).toEqual(['/readyz']);
    expect((await findings({ records })).callback).toMatchObject({ state: 'ok' });
  });

  it('a shop that does not answer, whose name does not exist, that is private', async () => {
    const records = await openTestStore();
    await records.addWallet();
    const callee = async (callbackUrl: string, flags = true) => {
      const changes = { callbackUrl, allowPrivateCallback: flags, allowHttpCallback: flags };
      await records.write((tx) => {
        for (const { id } of records.catalog.stores())
          records.catalog.archiveStore(tx, 0, id, true);
      });
      await records.addStore(changes);
      return (await findings({ records })).callback;
    };
    const shop = await receiver({ answer: () => ({ status: 404 }) });
    const url = `${shop.origin}/cb?secret=s3cr3t`;
    expect(await callee(url)).toMatchObject({ state: 'ok' });
    expect(await callee(url, false)).toMatchObject({ state: 'fail' });
    const gone = await callee('http://127.0.0.1:1/cb?secret=s3cr3t');
    expect(gone?.text).toContain('could not be reached: it refuses connections');
    const unknown = await callee('https://shop.invalid/cb?secret=s3cr3t');
    expect(unknown?.text).toContain('shop.invalid could not be resolved');
    expect(JSON.stringify([gone, unknown])).not.toContain('s3cr3t');
  });
});
