// Several requests in one message: when a server is asked so, and what becomes of one that does not take it.

import { describe, expect, it } from 'vitest';
import type { Scripthash } from '../../src/bitcoin/ids.ts';
import { Batches } from '../../src/electrum/batches.ts';
import type { ServerError } from '../../src/electrum/framing.ts';
import type { Status } from '../../src/electrum/wire.ts';
import type { PaygateError } from '../../src/lib/errors.ts';
import {
  type Connected,
  first,
  hashes,
  open,
  second,
  start,
  statusA,
  statusB,
} from './open-session.ts';
import type { Peer, Request, Script } from './scripted-server.ts';

const method = 'blockchain.scripthash.subscribe';
const many = (count: number): Scripthash[] =>
  Array.from({ length: count }, (_, index) => index.toString(16).padStart(64, '0') as Scripthash);
const [third] = hashes.slice(2) as [Scripthash];

/** Each script has itself as its status. */
const echo = ({ id, params: [scripthash] }: Request) => ({ id, result: scripthash });
const singly: Script = { [method]: (peer, request) => peer.send(echo(request)) };
const answer = (peer: Peer, requests: readonly Request[]): void =>
  peer.send(requests.map(echo).toReversed());

/** An own server, and how it takes a batch. */
async function openOwn(
  onBatch: (peer: Peer, requests: readonly Request[]) => void,
  setting: Parameters<typeof open>[1] = {},
): Promise<Connected> {
  return open({}, { ...setting, server: await start(singly, { own: true, onBatch }) });
}

const mass = { bulk: true, light: true };

/** What is told of each, in their order. */
async function subscribeAll({ session }: Connected, scripthashes: readonly Scripthash[]) {
  const told = new Map<Scripthash, Status | PaygateError>();
  await session.subscribeAll(scripthashes, mass, (scripthash, status) => {
    told.set(scripthash, status);
  });
  return scripthashes.map((each) => told.get(each));
}

/** Of a server that has taken one. */
async function provenBatches(): Promise<Batches> {
  const batches = new Batches();
  await subscribeAll(await openOwn(answer, { batches }), many(2));
  return batches;
}

const sizes = ({ peer }: Connected): number[] => peer.batches.map(({ length }) => length);
const single = ({ peer }: Connected): number => peer.asked(method).length;

describe('many subscriptions', () => {
  it('go to an own server fifty in a message, once it has answered the first such', async () => {
    const connected = await openOwn(answer);
    expect(await subscribeAll(connected, many(120))).toEqual(many(120));
    expect([sizes(connected), single(connected)]).toEqual([[50, 50, 20], 0]);
    expect(await subscribeAll(connected, many(120))).toEqual(many(120));
    expect([sizes(connected), single(connected)]).toEqual([[50, 50, 20, 50, 50, 20], 0]);
    const [requests] = connected.peer.batches;
    expect(requests?.[1]).toEqual({ ...{ jsonrpc: '2.0', method }, id: 4, params: [many(2)[1]] });
  });

  it('wait until it is known how such are answered', async () => {
    let isSilent = true;
    const connected = await openOwn((peer, requests) => {
      if (!isSilent) answer(peer, requests);
    });
    const { session, world, peer } = connected;
    const told = subscribeAll(connected, many(120));
    await world.until(() => sizes(connected).length > 0);
    for (let turns = 0; turns < 20; turns += 1) await world.turn();
    expect([sizes(connected), single(connected), session.bulkWaiting]).toEqual([[50], 0, 70]);
    isSilent = false;
    answer(peer, peer.batches[0] ?? []);
    expect(await told).toEqual(many(120));
    expect([sizes(connected), single(connected), session.bulkWaiting]).toEqual([
      [50, 50, 20],
      0,
      0,
    ]);
  });

  it('go one by one to a server of somebody else', async () => {
    const connected = await open(singly);
    expect(await subscribeAll(connected, many(120))).toEqual(many(120));
    expect([sizes(connected), single(connected)]).toEqual([[], 120]);
  });

  it('never take more places than are set', async () => {
    const connected = await openOwn(answer, { options: { ownMaxInFlight: 7 } });
    for (let round = 0; round < 2; round += 1) await subscribeAll(connected, many(12));
    expect(Math.max(...sizes(connected))).toBe(5);
    const narrow = await openOwn(answer, { options: { ownMaxInFlight: 3 } });
    expect(await subscribeAll(narrow, many(4))).toEqual(many(4));
    expect([sizes(narrow), single(narrow)]).toEqual([[], 4]);
  });

  it('leave places to others, and are no more at once than a server answers fast', async () => {
    const batches = await provenBatches();
    const connected = await openOwn(() => {}, { batches });
    const { session, world, peer } = connected;
    const lost = subscribeAll(connected, many(500)).catch((error: unknown) => error);
    expect(session.bulkWaiting).toBe(500);
    await world.until(() => sizes(connected).length > 0);
    const others = Promise.all([session.subscribe(first), session.subscribe(second)]);
    expect(await others).toEqual([first, second]);
    expect([sizes(connected), session.bulkWaiting]).toEqual([[50], 450]);
    answer(peer, peer.batches[0] ?? []);
    await world.until(() => sizes(connected).length === 2);
    answer(peer, peer.batches[1] ?? []);
    // The window was answered fast, and is four times as wide: 392.
    await world.until(() => sizes(connected).length === 9);
    expect(session.bulkWaiting).toBe(50);
    session.close('enough');
    expect(await lost).toMatchObject({ code: 'unavailable' });
  });

  it('widen the window for themselves alone', async () => {
    const connected = await openOwn(answer, { batches: await provenBatches() });
    const { session, world, peer } = connected;
    const history = 'blockchain.scripthash.get_history';
    for (let round = 0; round < 8; round += 1) await subscribeAll(connected, many(2_000));
    const lost = many(1_000).map((each) => session.history(each).catch(() => 'lost'));
    await world.until(() => peer.asked(history).length > 0);
    expect(await subscribeAll(connected, many(500))).toEqual(many(500));
    expect(peer.asked(history)).toHaveLength(100);
    session.close('enough');
    expect(new Set(await Promise.all(lost))).toEqual(new Set(['lost']));
  });

  it('are refused each for itself', async () => {
    const connected = await openOwn((peer, requests) => {
      const error = { code: 1, message: 'too long' };
      peer.send(requests.map((each, at) => (at === 1 ? { id: each.id, error } : echo(each))));
    });
    const refused: Partial<ServerError> = { serverCode: 1 };
    expect(await subscribeAll(connected, [first, second, third])).toEqual([
      first,
      expect.objectContaining(refused),
      third,
    ]);
  });

  it('are overtaken by a notification, which is the newer word', async () => {
    const connected = await openOwn((peer, requests) => {
      peer.notify(method, second, statusB);
      answer(peer, requests);
    });
    expect(await subscribeAll(connected, [first, second])).toEqual([first, statusB]);
    connected.peer.notify(method, first, statusA);
    await connected.world.until(() => connected.told.length === 2);
    expect(connected.told).toEqual([
      ['status', second, statusB],
      ['status', first, statusA],
    ]);
  });
});

describe('a server that does not take them', () => {
  it.each<[string, (peer: Peer, requests: readonly Request[]) => void]>([
    ['says no to it', (peer) => peer.send({ id: null, error: { code: -32600, message: 'no' } })],
    ['says no without any id', (peer) => peer.send({ error: 'unknown request' })],
    ['says no to its first request', (peer, [one]) => peer.refuse(one, -32600, 'no')],
    [
      'says no to each of its requests',
      (peer, all) => peer.send(all.map(({ id }) => ({ id, error: { code: 1, message: 'no' } }))),
    ],
  ])('and %s is asked one by one from then on', async (_, refuse) => {
    const connected = await openOwn(refuse);
    expect(await subscribeAll(connected, many(60))).toEqual(many(60));
    expect(await subscribeAll(connected, many(60))).toEqual(many(60));
    expect([sizes(connected), single(connected)]).toEqual([[50], 120]);
  });

  it('and says no to one while it works on those before is understood', async () => {
    const batches = await provenBatches();
    const held: (() => void)[] = [];
    // As Fulcrum does, which limits what is under way of one address.
    const connected = await openOwn(
      (peer, requests) => {
        if (held.length < 2) held.push(() => answer(peer, requests));
        else peer.send({ id: null, error: { code: -101, message: 'Batch limit exceeded' } });
      },
      { batches, options: { ownMaxInFlight: 202 } },
    );
    const { world, peer } = connected;
    const told = subscribeAll(connected, many(500));
    await world.until(() => peer.batches.length === 4);
    for (const each of held) each();
    expect(await told).toEqual(many(500));
    expect([sizes(connected), single(connected)]).toEqual([[50, 50, 50, 50], 400]);
    expect([connected.told, batches.begin()]).toEqual([[], false]);
  });

  it('and says no before it ends the session is asked one by one in the next', async () => {
    const batches = await provenBatches();
    const connected = await openOwn((peer) => peer.sendRaw('{"error":"no"}\nnonsense\n'), {
      batches,
    });
    const lost = subscribeAll(connected, many(20));
    await expect(lost).rejects.toMatchObject({ code: 'unavailable', name: 'PaygateError' });
    expect([connected.told.length, batches.begin()]).toEqual([1, false]);
  });

  it('and says no to what it was not sent ends the session', async () => {
    const connected = await openOwn((peer) => peer.sendRaw('{"error":"no"}\n{"error":"no"}\n'));
    await expect(subscribeAll(connected, many(20))).rejects.toMatchObject({ code: 'unavailable' });
    expect(connected.told).toEqual([['close', expect.stringContaining('as its id')]]);
  });

  it.each([4, 10, 52, 100])('and says nothing loses the session, window %i', async (window) => {
    const [batches, options] = [new Batches(), { ownMaxInFlight: window }];
    const connected = await openOwn(() => {}, { batches, options });
    const { world, peer } = connected;
    const told = subscribeAll(connected, many(120)).catch((error: unknown) => error);
    await world.until(() => peer.batches.length > 0);
    await world.advance(10_000);
    expect(await told).toMatchObject({ code: 'unavailable' });
    expect(connected.told).toEqual([['close', expect.stringContaining('in one message')]]);
    const next = await openOwn(() => {}, { batches, options });
    expect(await subscribeAll(next, many(120))).toEqual(many(120));
    expect([sizes(next), single(next)]).toEqual([[], 120]);
  });

  it('and ends the session is asked one by one in the next', async () => {
    const batches = new Batches();
    const connected = await openOwn((peer) => peer.socket.end(), { batches });
    const lost = subscribeAll(connected, many(20));
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
    const next = await openOwn(() => {}, { batches });
    expect(await subscribeAll(next, many(20))).toEqual(many(20));
    expect([sizes(next), single(next)]).toEqual([[], 20]);
  });

  it('any more, after it took one, is asked one by one from the third lost session on', async () => {
    const batches = await provenBatches();
    for (const [generation, isAsked] of [true, true, true, false].entries()) {
      const setting = { batches, generation };
      const connected = await openOwn((peer) => peer.socket.end(), setting);
      const lost = subscribeAll(connected, many(200)).then(
        () => false,
        () => true,
      );
      expect(await lost).toBe(isAsked);
      expect(sizes(connected).length > 0).toBe(isAsked);
    }
  });
});

describe('a batch', () => {
  it('goes out one by one where what is overdue leaves too few places', async () => {
    const batches = await provenBatches();
    const silent = hashes.at(-1) as Scripthash;
    const server = await start(
      {
        [method]: (peer, request) => {
          if (request.params[0] !== silent) peer.send(echo(request));
        },
      },
      { own: true, onBatch: answer },
    );
    const connected = await open({}, { server, batches, options: { ownMaxInFlight: 10 } });
    const { session, world } = connected;
    const heavy = session.subscribe(silent, { bulk: true }).catch((error: unknown) => error);
    await world.until(() => single(connected) === 1);
    const told = subscribeAll(connected, many(20));
    await world.turn();
    await world.advance(10_000);
    expect(await heavy).toMatchObject({ code: 'unavailable' });
    expect(await told).toEqual(many(20));
  });

  it('is heard when it is answered, whatever becomes of others', async () => {
    const batches = await provenBatches();
    const connected = await openOwn(() => {}, { batches });
    const { session, world, peer } = connected;
    const heard: Scripthash[] = [];
    const lost = session.subscribeAll(many(90), mass, (scripthash) => heard.push(scripthash));
    lost.catch(() => {});
    await world.until(() => peer.batches.length > 0);
    answer(peer, peer.batches[0] ?? []);
    await world.until(() => heard.length > 0);
    expect(heard).toEqual(many(50));
    session.close('enough');
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('the session ends with a reason on', () => {
  it.each<[string, (peer: Peer, requests: readonly Request[]) => void, RegExp]>([
    ['one answer to several', (peer, [one]) => peer.answer(one, null), /something else/],
    [
      'too few',
      (peer, [one, two]) => peer.send([one, two].map((each) => each && echo(each))),
      /else/,
    ],
    [
      'one twice',
      (peer, [one, , two]) => peer.send([one, two, two].map((each) => each && echo(each))),
      /else/,
    ],
    [
      'one to nothing',
      (peer, [one, two]) =>
        peer.send(
          [one, two, { id: 99, params: [statusA] }].map((each) => each && echo(each as Request)),
        ),
      /else/,
    ],
    ['none to the first', (peer, requests) => answer(peer, requests.slice(1)), /not made/],
    [
      'a status of the wrong type',
      (peer, requests) => peer.send(requests.map(({ id }) => ({ id, result: 1 }))),
      /status/,
    ],
  ])('%s', async (_, misbehave, reason) => {
    const connected = await openOwn(misbehave);
    const lost = subscribeAll(connected, [first, second, third]);
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' });
    expect(connected.told).toEqual([['close', expect.stringMatching(reason)]]);
  });
});
