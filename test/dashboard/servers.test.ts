// Decisions of the operator about a server take effect at once: over real TLS, on a running
// paygate.

import { connect, type Socket } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { parseServerAddress } from '../../src/electrum/server-address.ts';
import { type Certificate, makeCertificate } from '../electrum/certificates.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { signedIn } from '../support/visitor.ts';

const fronts: Front[] = [];
afterEach(async () => {
  await closeApps();
  for (const front of fronts.splice(0)) front.close();
});

const page = '/dashboard/servers';
const secondMs = 1_000;
const minuteMs = 60_000;

/** A TLS server in front of the simulated server, which has no TLS itself. */
class Front {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  /** Port of the simulated server, once it listens. */
  readonly #behind: Promise<number>;
  tellPort: (port: number) => void = () => {};

  constructor(certificate: Certificate) {
    fronts.push(this);
    this.#behind = new Promise((tell) => {
      this.tellPort = tell;
    });
    this.#server = createServer(certificate, (socket) => void this.#join(socket));
    this.#server.on('tlsClientError', () => {});
  }

  async #join(socket: Socket): Promise<void> {
    const behind = connect(await this.#behind, '127.0.0.1');
    for (const each of [socket, behind]) {
      this.#sockets.add(each);
      each
        .on('error', () => {})
        .on('close', () => {
          socket.destroy();
          behind.destroy();
        });
    }
    socket.pipe(behind).pipe(socket);
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return `ssl://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  /** For new connections; existing ones are closed. */
  show(certificate: Certificate): void {
    this.#server.setSecureContext(certificate);
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

interface Stage {
  readonly app: TestApp;
  readonly front: Front;
  readonly label: string;
  /** Pinned at the first connection. */
  readonly first: Certificate;
  /** Presented now, and refused. */
  readonly fresh: Certificate;
}

/**
 * A paygate whose only server has just presented a certificate that differs from the pinned one.
 */
async function withChangedCertificate(): Promise<Stage> {
  const [first, fresh] = [makeCertificate(), makeCertificate()];
  const front = new Front(first);
  const label = await front.listen();
  const app = await openApp({ config: { electrum: [parseServerAddress(label)] } });
  front.tellPort(Number(app.labels[0]?.split(':').at(-1)));
  await untilReady(app);
  expect(server(app)).toMatchObject({ certificate: 'pinned', pin: first.sha256 });
  front.show(fresh);
  await app.world.until(() => app.running.health().electrum.server === null, 'the cut');
  await app.world.advance(2 * minuteMs);
  await app.world.until(() => server(app)?.certificate_shown === fresh.sha256, 'the refusal');
  expect(server(app)).toMatchObject({ certificate_refused: true, pin: first.sha256 });
  return { app, front, label, first, fresh };
}

const server = (app: TestApp) => app.running.health().electrum.servers[0];

/**
 * A connection attempt in progress may still fail under the previous decision. The clock moves by
 * less than the server has to answer: an attempt on a real socket would else end in time-outs.
 */
async function retriedUntil(app: TestApp, condition: () => boolean): Promise<void> {
  for (let passed = 0; passed < 10 * minuteMs && !condition(); passed += 5 * secondMs) {
    await app.world.advance(5 * secondMs);
    const isDone = () => condition() || server(app)?.state === 'waiting';
    await app.world.until(isDone, 'the try');
  }
  expect(condition()).toBe(true);
}

async function expectPaid({ app, fresh }: Stage): Promise<void> {
  expect(server(app)).toMatchObject({ state: 'live', pin: fresh.sha256 });
  expect(server(app)).not.toHaveProperty('certificate_refused');
  const address = await app.newAddress();
  app.pay(address, 20_000);
  await app.settle();
  expect(app.statuses(address)).toEqual(['0']);
}

describe('a changed certificate', () => {
  test('that is accepted in the dashboard makes the next connection succeed, at once', async () => {
    const stage = await withChangedCertificate();
    const { app, label, first, fresh } = stage;
    const visitor = await signedIn(app);
    for (const path of [page, '/dashboard']) {
      const { text } = await visitor.get(path);
      for (const { sha256 } of [first, fresh]) expect(text).toContain(sha256);
    }
    const { text } = await visitor.get(page);
    expect(text).toContain('Accept the certificate presented now');
    expect(text).toContain(`name="sha256" value="${fresh.sha256}"`);
    const { sha256 } = fresh;
    expect((await visitor.submit(page, 'accept', { server: label, sha256 })).status).toBe(303);
    // The clock does not move.
    await untilReady(app);
    await expectPaid(stage);
    expect((await visitor.get(page)).text).not.toContain('Accept the certificate');
    const audit = (await visitor.get('/dashboard/settings/audit')).text;
    expect(audit).toContain('server.accept');
    expect(audit).toContain(sha256);
  });

  test.each(['dashboard', 'command'])(
    'P-171 that was accepted by %s is the only one: a third one is refused',
    async (by) => {
      const { app, front, label, fresh } = await withChangedCertificate();
      const visitor = await signedIn(app);
      const third = makeCertificate();
      // Between loading the page and deciding.
      front.show(third);
      const { sha256 } = fresh;
      if (by === 'command') {
        await runCli(['servers', 'accept', label, sha256, '--db', app.path]);
      } else {
        expect((await visitor.submit(page, 'accept', { server: label, sha256 })).status).toBe(303);
      }
      await retriedUntil(app, () => server(app)?.certificate_shown === third.sha256);
      expect(server(app)).toMatchObject({ certificate_refused: true, pin: fresh.sha256 });
      expect(app.running.health().electrum.server).toBeNull();
      const { text } = await visitor.get(page);
      expect(text).toContain(`name="sha256" value="${third.sha256}"`);
      // The accepted certificate needs no further decision.
      front.show(fresh);
      await retriedUntil(app, () => server(app)?.state === 'live');
      expect(server(app)).toMatchObject({ state: 'live', pin: fresh.sha256 });
    },
  );

  test('that is accepted by command needs no restart', async () => {
    const stage = await withChangedCertificate();
    const { app, label, fresh } = stage;
    const told = `paygate servers accept ${label} ${fresh.sha256}`;
    expect(app.running.health().warnings.join()).toContain(told);
    const { stdout } = await runCli(['servers', 'accept', label, fresh.sha256, '--db', app.path]);
    expect(stdout).toContain(
      `${label} must now present the certificate with the SHA-256 ${fresh.sha256}`,
    );
    await app.world.advance(1_000);
    await untilReady(app);
    await expectPaid(stage);
  });

  test('that was removed by command is pinned again', async () => {
    const stage = await withChangedCertificate();
    const { app, label } = stage;
    const { stdout } = await runCli(['servers', 'forget', label, '--db', app.path]);
    expect(stdout).toContain('a running paygate treats it as a new server');
    await app.world.advance(1_000);
    await untilReady(app);
    await expectPaid(stage);
  });

  test.each([
    ['no fingerprint', { sha256: 'none' }, 400],
    ['a server that nothing is known of', { server: 'ssl://other.example:1' }, 404],
  ])('is not accepted with %s', async (_, wrong, status) => {
    const { app, label, first, fresh } = await withChangedCertificate();
    const visitor = await signedIn(app);
    const fields = { server: label, sha256: fresh.sha256, ...wrong };
    expect((await visitor.submit(page, 'accept', fields)).status).toBe(status);
    const args = [fields.server, fields.sha256, '--db', app.path];
    expect((await runCli(['servers', 'accept', ...args])).code).not.toBe(0);
    expect(server(app)).toMatchObject({ certificate_refused: true, pin: first.sha256 });
  });

  test('of a server whose pin is an option is accepted only there', async () => {
    const [named, shown] = [makeCertificate(), makeCertificate()];
    const front = new Front(shown);
    const label = await front.listen();
    const app = await openApp({
      config: { electrum: [parseServerAddress(`${label}?pin=${named.sha256}`)] },
    });
    await app.world.until(() => server(app)?.certificate_refused === true, 'the refusal');
    expect(server(app)).not.toHaveProperty('certificate_shown');
    const visitor = await signedIn(app);
    const { text } = await visitor.get(page);
    expect(text).toContain('another certificate');
    expect(text).not.toContain('Accept the certificate');
    expect(app.running.health().warnings.join()).toContain('name the new one in --electrum');
  });

  test('is not accepted while the clock of the machine is wrong', async () => {
    const { app, label, fresh } = await withChangedCertificate();
    app.world.jumpWallClock(-3 * 60 * minuteMs);
    const visitor = await signedIn(app);
    const { sha256 } = fresh;
    const { status, text } = await visitor.submit(page, 'accept', { server: label, sha256 });
    expect(status).toBe(409);
    expect(text).toContain('No certificate is accepted: the clock of this machine is wrong');
    expect((await visitor.get('/dashboard')).text).toContain('data-alarm="clock-wrong"');
    expect(server(app)).toMatchObject({ certificate_refused: true });
  });

  test('that is not accepted stays refused', async () => {
    const { app } = await withChangedCertificate();
    await app.world.advance(10 * minuteMs);
    expect(server(app)).toMatchObject({ certificate_refused: true });
    expect(app.running.health().electrum.server).toBeNull();
  });
});

describe('a ban', () => {
  /** Two servers; the first was banned shortly before a restart. */
  async function withBan() {
    const app = await openApp({ servers: 2 });
    await untilReady(app);
    await app.stop();
    const [label = ''] = app.labels;
    const ban = { until: app.world.now() + 3_600_000, reason: 'its branch was false' };
    await app.withStore(({ servers }) => servers.setBan(label, ban, app.world.now()));
    await app.start();
    await untilReady(app);
    expect(server(app)).toMatchObject({ state: 'banned', ban_reason: 'its branch was false' });
    return { app, label, isLive: () => server(app)?.state === 'live' };
  }

  test('is lifted in the dashboard, at once and once', async () => {
    const { app, label, isLive } = await withBan();
    const visitor = await signedIn(app);
    expect((await visitor.get(page)).text).toContain('Lift the ban');
    expect((await visitor.submit(page, 'lift-ban', { server: label })).status).toBe(303);
    await app.world.until(isLive, 'the connection');
    expect(server(app)).not.toHaveProperty('banned_until');
    expect((await visitor.get(page)).text).not.toContain('Lift the ban');
    const form = new URLSearchParams({
      ...{ token: visitor.formToken, do: 'lift-ban', server: label },
    });
    await visitor.get('/dashboard/settings/account');
    form.set('token', visitor.formToken);
    expect((await visitor.post(page, String(form))).status).toBe(404);
  });

  test('is lifted by command without a restart', async () => {
    const { app, label, isLive } = await withBan();
    await runCli(['servers', 'forget', label, '--db', app.path]);
    await app.world.advance(1_000);
    await app.world.until(isLive, 'the connection');
  });
});
