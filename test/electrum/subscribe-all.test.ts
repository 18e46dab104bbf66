// Many subscriptions at once: each is reported as it is answered, and none holds up the others.

import { expect, it } from 'vitest';
import type { Scripthash } from '../../src/bitcoin/ids.ts';
import type { Status } from '../../src/electrum/wire.ts';
import type { PaygateError } from '../../src/lib/errors.ts';
import { type Connected, first, hashes, open, second, start, statusB } from './open-session.ts';
import type { Peer, Request, Script } from './scripted-server.ts';

const method = 'blockchain.scripthash.subscribe';
const history = 'blockchain.scripthash.get_history';
const [third] = hashes.slice(2) as [Scripthash];
const many = (count: number): Scripthash[] =>
  Array.from({ length: count }, (_, index) => index.toString(16).padStart(64, '0') as Scripthash);

/** Each script has itself as its status. */
const echo = (peer: Peer, request: Request) => peer.answer(request, request.params[0]);
const echoes: Script = { [method]: echo };

/** The result of each, in their order. */
async function subscribeAll({ session }: Connected, scripthashes: readonly Scripthash[]) {
  const results = new Map<Scripthash, Status | PaygateError>();
  await session.subscribeAll(scripthashes, { bulk: true }, (scripthash, status) => {
    results.set(scripthash, status);
  });
  return scripthashes.map((each) => results.get(each));
}

it.each([true, false])('each is answered, own server: %s', async (own) => {
  const connected = await open({}, { server: await start(echoes, { own }) });
  expect(await subscribeAll(connected, many(120))).toEqual(many(120));
  expect(connected.peer.asked(method)).toHaveLength(120);
});

it('they leave part of the in-flight limit to others', async () => {
  const server = await start(
    { [history]: (peer, request) => peer.answer(request, []) },
    { own: true },
  );
  const { session, world, peer } = await open({}, { server });
  const lost = session.subscribeAll(many(500), { bulk: true }, () => {}).catch(String);
  expect(session.bulkWaiting).toBe(500);
  await world.until(() => peer.asked(method).length === 98);
  expect(await Promise.all([session.history(first), session.history(second)])).toEqual([[], []]);
  expect([peer.asked(method).length, session.bulkWaiting]).toEqual([98, 402]);
  session.close('enough');
  expect(await lost).toContain('enough');
});

it('each refusal concerns one subscription', async () => {
  const connected = await open({
    [method]: (peer, request) =>
      request.params[0] === second ? peer.refuse(request, 1, 'too long') : echo(peer, request),
  });
  expect(await subscribeAll(connected, [first, second, third])).toEqual([
    first,
    expect.objectContaining({ serverCode: 1 }),
    third,
  ]);
});

it('a notification before its response is the newer status', async () => {
  const connected = await open({
    [method]: (peer, request) => {
      if (request.params[0] === second) peer.notify(method, second, statusB);
      echo(peer, request);
    },
  });
  expect(await subscribeAll(connected, [first, second])).toEqual([first, statusB]);
  expect(connected.events).toEqual([['status', second, statusB]]);
});

it('each is reported when it is answered, independent of the others', async () => {
  const { session, world, peer } = await open({}, { server: await start({}, { own: true }) });
  const reported: Scripthash[] = [];
  const lost = session.subscribeAll(many(90), { bulk: true }, (each) => reported.push(each));
  lost.catch(() => {});
  await world.until(() => peer.asked(method).length === 90);
  for (const request of peer.asked(method).slice(0, 50)) echo(peer, request);
  await world.until(() => reported.length === 50);
  expect(reported).toEqual(many(50));
  session.close('enough');
  await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
});
