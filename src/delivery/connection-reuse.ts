// Connections that callbacks go over. One that brought a callback to its shop is kept for a moment, for the next
// one to the same place: a block brings many at once, and a connection costs ten times a request. Whether its
// address is still one that may be dialled is for each attempt to find out anew. Never used by two at once.

import type { Dispatcher } from 'undici';
import type { HttpTarget, World } from '../world/world.ts';

/** What an attempt has to say to a connection that it opens, and hears of it. */
export type ConnectionHooks = Required<Pick<HttpTarget, 'resolver' | 'onConnected' | 'onReady'>>;

export type Destination = Pick<HttpTarget, 'origin' | 'ca' | 'connectTimeoutMs' | 'proxy'>;

export interface CallbackConnections {
  /** A new one, which dials with the first request. */
  open(place: Destination, hooks: ConnectionHooks): CallbackConnection;
  /** Whether there is any to a place. */
  hasIdle(place: Destination): boolean;
  /** Takes one to an address that the caller may dial; undefined when there is none. */
  takeIdle(
    place: Destination,
    hooks: ConnectionHooks,
    mayDial: (address: string) => boolean,
  ): CallbackConnection | undefined;
  /** Gives back one that is at rest. */
  putBack(place: Destination, line: CallbackConnection): void;
}

/** How long a connection is kept in nobody's use; most servers wait 5 s and more. */
const idleMs = 2_000;
/** At all places together. */
const maxIdle = 256;

/** A connection. */
export class CallbackConnection {
  readonly client: Dispatcher;
  /** Of the other end, once it is connected. */
  address: string | null = null;
  /** Whether it has brought a callback before. */
  isReused = false;
  /** Of the attempt in whose use it is. */
  hooks: ConnectionHooks;

  constructor(world: Pick<World, 'http'>, place: Destination, hooks: ConnectionHooks) {
    this.hooks = hooks;
    this.client = world.http({
      ...place,
      idleMs,
      isLenient: true,
      resolver: (name) => this.hooks.resolver(name),
      onConnected: (address) => {
        this.address = address;
        this.hooks.onConnected(address);
      },
      onReady: () => this.hooks.onReady(),
    });
  }
}

export function createCallbackConnections(world: Pick<World, 'http'>): CallbackConnections {
  const idle = new Map<string, CallbackConnection[]>();
  let count = 0;

  function remove(name: string, line: CallbackConnection): void {
    const lines = idle.get(name) ?? [];
    const place = lines.indexOf(line);
    if (place === -1) return;
    lines.splice(place, 1);
    if (lines.length === 0) idle.delete(name);
    count -= 1;
  }

  return {
    open: (place, hooks) => new CallbackConnection(world, place, hooks),
    hasIdle: (place) => idle.has(keyOf(place)),
    takeIdle(place, hooks, mayDial) {
      const name = keyOf(place);
      // The one that was used last: it is the least likely to be closed just now.
      const line = idle.get(name)?.findLast(({ address }) => address !== null && mayDial(address));
      if (line === undefined) return undefined;
      remove(name, line);
      line.isReused = true;
      line.hooks = hooks;
      return line;
    },
    putBack(place, line) {
      const name = keyOf(place);
      if (count >= maxIdle) return void line.client.destroy();
      const lines = idle.get(name) ?? [];
      idle.set(name, lines);
      lines.push(line);
      count += 1;
      if (!line.isReused) line.client.on('disconnect', () => remove(name, line));
    },
  };
}

const keyOf = ({ origin, ca = '' }: Destination): string => `${origin} ${ca}`;
