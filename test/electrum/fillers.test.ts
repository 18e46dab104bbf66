import { describe, expect, it } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import type { SessionOptions } from '../../src/electrum/session.ts';
import { type Connected, first, hashes, headerHex, open } from './open-session.ts';
import { electrumX, type Peer, type Request, type Script } from './scripted-server.ts';

const txid = 'ab'.repeat(32) as Txid;
const headers = 'blockchain.block.headers';
const history = 'blockchain.scripthash.get_history';
const subscribe = 'blockchain.scripthash.subscribe';
const transaction = 'blockchain.transaction.get';

interface Padded extends Connected {
  /** Answers the oldest filler that is open. */
  readonly answerFiller: () => Promise<void>;
}

async function openPadded(script: Script = {}, options: SessionOptions = {}): Promise<Padded> {
  const connected = await open({ ...electrumX, ...script }, { options });
  const { peer, world } = connected;
  let answered = 0;
  const answerFiller = async (): Promise<void> => {
    await world.until(() => peer.asked(headers).length > answered, 'a filler');
    const list = Array.from({ length: 8 }, () => headerHex);
    peer.answer(peer.asked(headers)[answered++], { count: 8, headers: list, max: 2016 });
    await world.turn();
  };
  return { ...connected, answerFiller };
}

const methodsOf = (peer: Peer): string[] => peer.requests.slice(2).map(({ method }) => method);

describe('a filler', () => {
  it('goes out behind small requests to ElectrumX, in the same write', async () => {
    const { session, peer, world } = await openPadded();
    const writes = peer.writes;
    void session.history(first).catch(() => {});
    void session.transaction(txid).catch(() => {});
    await world.until(() => peer.asked(headers).length === 1);
    await world.turn();
    expect(methodsOf(peer)).toEqual([history, 'blockchain.transaction.get', headers]);
    expect(peer.writes - writes).toBe(1);
    expect(session.fillersSent).toBe(1);
  });

  it('asks for the newest headers once the tip is known', async () => {
    const { session, peer, world, answerFiller } = await openPadded({
      'blockchain.headers.subscribe': (to, request) =>
        to.answer(request, { height: 800_000, hex: headerHex }),
    });
    await session.subscribeHeaders();
    await answerFiller();
    void session.history(first).catch(() => {});
    await world.until(() => peer.asked(headers).length === 2);
    expect(peer.asked(headers).map(({ params }) => params)).toEqual([
      [0, 8],
      [799_992, 8],
    ]);
  });

  it('is not sent to other software, nor when turned off', async () => {
    for (const { session, peer, world } of [
      await open({}),
      await openPadded({}, { fillers: 'never' }),
    ]) {
      void session.history(first).catch(() => {});
      await world.until(() => peer.asked(history).length === 1);
      await world.advance(5_000);
      expect(peer.asked(headers)).toEqual([]);
    }
  });

  it('is not sent behind a large response', async () => {
    const { session, peer, world } = await openPadded();
    void session.history(first).catch(() => {});
    void session.headers(0, 7).catch(() => {});
    await world.until(() => peer.asked(headers).length === 1);
    await world.turn();
    expect(session.fillersSent).toBe(0);
    void session.headers(0, 6).catch(() => {});
    await world.until(() => peer.asked(headers).length === 3);
    expect(session.fillersSent).toBe(1);
  });

  it('is not sent when nothing is awaited', async () => {
    const { session, peer, world, answerFiller } = await openPadded({
      [history]: (to, request) => to.answer(request, []),
    });
    await session.history(first);
    await answerFiller();
    await world.advance(10_000);
    expect(session.fillersSent).toBe(1);
    expect(peer.asked(headers)).toHaveLength(1);
  });

  it('is one at a time; requests sent meanwhile get their own at once', async () => {
    const { session, peer, world, answerFiller } = await openPadded();
    void session.history(first).catch(() => {});
    await world.until(() => peer.asked(headers).length === 1);
    void session.transaction(txid).catch(() => {});
    await world.until(() => methodsOf(peer).length === 3);
    await world.turn();
    expect(session.fillersSent).toBe(1);
    await answerFiller();
    expect(methodsOf(peer)).toEqual([history, headers, 'blockchain.transaction.get', headers]);
  });

  it('is followed by more, at growing distances, while a response is awaited', async () => {
    const { session, peer, world, answerFiller } = await openPadded();
    const answer = session.transaction(txid);
    for (const waitMs of [1, 1, 1, 1, 2, 2, 5, 10, 20, 40, 80, 160, 320]) {
      await answerFiller();
      const sent = session.fillersSent;
      await world.advance(waitMs - 1);
      expect(session.fillersSent).toBe(sent);
      await world.advance(1);
      expect(session.fillersSent).toBe(sent + 1);
    }
    await answerFiller();
    await world.advance(5_000);
    expect(session.fillersSent).toBe(14);
    peer.answer(peer.asked('blockchain.transaction.get')[0], '00');
    expect(await answer).toEqual(Uint8Array.of(0));
  });

  it('is followed as soon as before while a large response is awaited', async () => {
    const { session, peer, world } = await openPadded();
    void session.transaction(txid).catch(() => {});
    await world.until(() => peer.asked(headers).length === 1);
    const list = Array.from({ length: 8 }, () => headerHex);
    peer.answer(peer.asked(headers)[0], { count: 8, headers: list, max: 2016 });
    await world.turn();
    void session.headers(0, 7).catch(() => {});
    await world.until(() => peer.asked(headers).length === 2);
    await world.advance(1);
    expect(session.fillersSent).toBe(2);
  });

  it('is not followed by more after the response', async () => {
    const { session, peer, world, answerFiller } = await openPadded();
    const answer = session.history(first);
    await answerFiller();
    peer.answer(peer.asked(history)[0], []);
    await answer;
    await world.advance(10_000);
    expect(session.fillersSent).toBe(1);
  });

  it('counts as one of the ten requests in flight', async () => {
    const { session, peer, world, answerFiller } = await openPadded();
    for (const each of hashes) void session.subscribe(each).catch(() => {});
    await world.until(() => peer.asked(headers).length === 1);
    await world.turn();
    expect(peer.asked(subscribe)).toHaveLength(9);
    peer.answer(peer.asked(subscribe)[0], null);
    await world.until(() => peer.asked(subscribe).length === 10);
    await answerFiller();
    expect(peer.asked(headers)).toHaveLength(2);
    expect(peer.asked(subscribe)).toHaveLength(10);
  });

  it('that is refused is the last', async () => {
    const { session, peer, world } = await openPadded({
      [headers]: (to, request) => to.refuse(request, -101, 'excessive resource usage'),
    });
    for (const each of hashes.slice(0, 3)) {
      void session.history(each).catch(() => {});
      await world.until(() => peer.asked(history).length > 0);
      await world.turn();
    }
    expect(session.fillersSent).toBe(1);
    expect(session.closed).toBe(false);
  });
});

describe('a filler that is answered late', () => {
  it('is followed by others again', async () => {
    const { session, peer, world, answerFiller } = await openPadded({
      [history]: (to, request) => to.answer(request, []),
    });
    await session.history(first);
    await world.until(() => peer.asked(headers).length === 1, 'the filler');
    await world.advance(15_000);
    await session.history(first);
    expect(session.fillersSent).toBe(1);
    await answerFiller();
    await session.history(first);
    expect(session.fillersSent).toBe(2);
    expect(session.closed).toBe(false);
  });
});

describe('a fresh transaction', () => {
  const fresh = { fresh: true };

  it('is requested verbosely, which makes a response that needs no filler', async () => {
    const { session, peer, world } = await openPadded();
    const asked = session.transaction(txid, fresh);
    await world.until(() => peer.asked(transaction).length === 1);
    await world.advance(9);
    expect(peer.asked(transaction)[0]?.params).toEqual([txid, true]);
    peer.answer(peer.asked(transaction)[0], { txid, hex: '0102', vin: [], vout: [] });
    expect(await asked).toEqual(Uint8Array.of(1, 2));
    await world.advance(1_000);
    expect(session.fillersSent).toBe(0);
  });

  it('in flight is followed by fillers, because the server may delay it', async () => {
    const { session, peer, world, answerFiller } = await openPadded();
    void session.transaction(txid, fresh).catch(() => {});
    await world.until(() => peer.asked(transaction).length === 1);
    for (const waitMs of [10, 20, 40]) {
      await world.advance(waitMs - 1);
      const sent = session.fillersSent;
      await world.advance(1);
      expect(session.fillersSent).toBe(sent + 1);
      await answerFiller();
    }
  });

  it.each<[string, (to: Peer, request: Request) => void]>([
    ['is refused', (to, request) => to.refuse(request, 1, 'response too large')],
    ['says nothing', (to, request) => to.answer(request, { txid })],
  ])('is asked for alone from then on where the other way %s', async (_, describe) => {
    const { session, peer } = await openPadded({
      [transaction]: (to, request) =>
        request.params.length > 1 ? describe(to, request) : to.answer(request, '03'),
    });
    for (const asked of [2, 3]) {
      expect(await session.transaction(txid, fresh)).toEqual(Uint8Array.of(3));
      expect(peer.asked(transaction)).toHaveLength(asked);
    }
  });

  it('that the server does not have is requested once', async () => {
    const { session, peer } = await openPadded({
      [transaction]: (to, request) => to.refuse(request, 2, 'No such mempool transaction'),
    });
    await expect(session.transaction(txid, fresh)).rejects.toThrow('No such mempool');
    expect(peer.asked(transaction)).toHaveLength(1);
  });

  it('is requested without a filler from other software, beside others, and when it is not fresh', async () => {
    const alone: Script = { [transaction]: (to, request) => to.answer(request, '04') };
    const other = await open(alone);
    await other.session.transaction(txid, fresh);
    const padded = await openPadded(alone);
    await padded.session.transaction(txid);
    void padded.session.history(first).catch(() => {});
    await padded.session.transaction(txid, fresh);
    const asked = [other, padded].flatMap(({ peer }) => peer.asked(transaction));
    expect(asked.map(({ params }) => params)).toEqual([[txid], [txid], [txid]]);
  });
});
