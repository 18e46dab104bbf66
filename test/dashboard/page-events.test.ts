// The event stream that the script of a page listens to.

import { afterEach, expect, test } from 'vitest';
import { addressToScript } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { listenTo } from '../support/event-stream.ts';
import { signedIn, type Visitor } from '../support/visitor.ts';

afterEach(closeApps);

const path = '/dashboard/live';

const listen = (app: TestApp, { cookie }: Visitor) => listenTo(app, path, { Cookie: cookie });

test('reports each payment that a commit changed, without the changed fields', async () => {
  const app = await openApp();
  await untilReady(app);
  const { response, heard, close } = await listen(app, await signedIn(app));
  expect(response.headers.get('Content-Type')).toBe('text/event-stream');
  app.pay(await app.newAddress(), 20_000);
  await app.settle();
  await app.world.until(() => heard.text.includes('changed'), 'the news');
  expect(heard.text).toBe(': beat\n\ndata: changed\n\n');
  await close();
});

test('reports a block without a payment, because each payment is one block deeper', async () => {
  const app = await openApp();
  await untilReady(app);
  const { heard, close } = await listen(app, await signedIn(app));
  app.chain.mine();
  await app.settle();
  await app.world.until(() => heard.text.includes('changed'), 'the news');
  expect(heard.text).toBe(': beat\n\ndata: changed\n\n');
  await close();
});

test('ends with its session, and when paygate stops', async () => {
  const app = await openApp();
  await untilReady(app);
  const visitor = await signedIn(app);
  const { heard } = await listen(app, visitor);
  await visitor.submit('/dashboard/sign-out', 'sign-out');
  app.pay(await app.newAddress(), 20_000);
  await app.settle();
  await app.world.until(() => heard.over, 'its end');
  expect(heard.text).not.toContain('changed');
  const other = await listen(app, await signedIn(app));
  await app.stop();
  await app.world.until(() => other.heard.over, 'its end');
});

test('is open for thirty pages at once, and for the next one when one is closed', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const open = [];
  for (let count = 0; count < 30; count += 1) open.push(await listen(app, visitor));
  expect((await visitor.get(path)).status).toBe(429);
  await open[0]?.close();
  await app.world.turn();
  const next = await listen(app, visitor);
  expect(next.response.status).toBe(200);
});

test('prolongs no session, however often it is reopened', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  for (let passed = 0; passed < 30; passed += 5) {
    const { response, close } = await listen(app, visitor);
    expect(response.status).toBe(200);
    await close();
    app.world.jumpWallClock(5 * 60_000);
  }
  expect((await visitor.get('/dashboard')).status).toBe(303);
});

test('reports a burst of payments in one or two events, and continues', async () => {
  const app = await openApp();
  await untilReady(app);
  const { heard, close } = await listen(app, await signedIn(app));
  const scripts = [];
  for (let count = 0; count < 40; count += 1) {
    scripts.push(addressToScript(await app.newAddress(), networks.regtest));
  }
  for (let count = 0; count < 8; count += 1) {
    app.chain.pay(scripts.map((script) => ({ script, valueSat: 20_000 })));
  }
  await app.settle();
  app.chain.mine();
  await app.settle();
  await app.world.until(() => heard.text.includes('changed'), 'the news');
  expect(heard.over).toBe(false);
  expect(heard.text.match(/changed/g)?.length).toBeLessThan(40);
  await close();
});

/** Without a socket in between, whose buffers would read for it. */
async function openUnread(app: TestApp) {
  const { cookie } = await signedIn(app);
  const host = `127.0.0.1:${app.port}`;
  const request = new Request(`http://${host}${path}`, { headers: { Cookie: cookie, Host: host } });
  const incoming = { socket: { remoteAddress: '127.0.0.1' } };
  const { body } = await app.running.fetch(request, { incoming });
  if (body === null) throw new Error('there is no stream');
  const reader = body.getReader();
  const next = async () => {
    const { value } = await reader.read();
    return value && Buffer.from(value).toString();
  };
  return { next, close: () => reader.cancel() };
}

test('reports all changes since the last read in one event, at the next read', async () => {
  const app = await openApp();
  await untilReady(app);
  const { next, close } = await openUnread(app);
  for (let count = 0; count < 3; count += 1) {
    app.chain.mine();
    await app.settle();
  }
  expect([await next(), await next()]).toEqual([': beat\n\n', 'data: changed\n\n']);
  // Nothing is left of it: the next line is the beat.
  const line = next();
  await app.world.advance(25_000);
  expect(await line).toBe(': beat\n\n');
  await close();
});

test('ends at the second unread event', async () => {
  const app = await openApp();
  await untilReady(app);
  const { next } = await openUnread(app);
  await app.world.advance(25_000);
  expect([await next(), await next()]).toEqual([': beat\n\n', undefined]);
});
