// When to send a request whose only use is the size of its answer. ElectrumX (server/transport.py) holds
// its output, after the first 1,024 bytes of a connection, until 1,024 bytes have gathered or 1 s has
// passed since it last sent: one small request after another costs 1 s each. The answer to a filler behind
// them carries theirs along. One that takes the server longer (a transaction comes from bitcoind) stays
// behind, so a few more fillers follow, further and further apart, until the server's own second is over.
// It sends in sizes that are powers of two, and may leave a long answer for the next one: that is followed too.
// Measured against that transport: 1,000 ms a request without, 2-40 ms with. At most one is in flight.

import type { Cancel, World } from '../world/world.ts';

/** The waits before each filler that follows an answered one. */
const followUpMs = [1, 1, 1, 1, 2, 2, 5, 10, 20, 40, 80, 160, 320] as const;

/** Where they begin behind a request with a long answer, which most often needs none. */
const behindLarge = followUpMs.indexOf(10);

export interface Filler {
  /** Tells that requests were put on the wire, all of whose answers may be small. */
  smallSent(): void;
  /** The same, with one answer that is too long to be held back by itself. */
  largeSent(): void;
  /** Tells that the filler in flight was answered. */
  answered(): void;
  stop(): void;
}

/** `send` puts one filler on the wire; `awaiting` says whether any other answer is still out. */
export function createFiller(
  world: Pick<World, 'after'>,
  send: () => void,
  awaiting: () => boolean,
): Filler {
  let inFlight = false;
  /** Requests went out while a filler was in flight, perhaps too late to be carried by it. */
  let owed = false;
  let followUps = 0;
  /** Set while the next one waits. */
  let cancel: Cancel | undefined;

  const stop = (): void => {
    cancel?.();
    cancel = undefined;
  };
  const sendOne = (): void => {
    stop();
    owed = false;
    inFlight = true;
    send();
  };
  const smallSent = (): void => {
    followUps = 0;
    if (inFlight) owed = true;
    else sendOne();
  };
  const followUp = (): void => {
    const waitMs = followUpMs[followUps];
    if (waitMs === undefined) return;
    followUps++;
    cancel = world.after(waitMs, () => {
      cancel = undefined;
      if (awaiting()) sendOne();
    });
  };
  const largeSent = (): void => {
    const isFollowed = inFlight || cancel !== undefined;
    followUps = isFollowed ? Math.min(followUps, behindLarge) : behindLarge;
    if (!isFollowed) followUp();
  };
  const answered = (): void => {
    inFlight = false;
    if (!awaiting()) return;
    if (owed) sendOne();
    else followUp();
  };
  return { smallSent, largeSent, answered, stop };
}
