// Connections that callbacks go over. One that brought a callback to its shop is kept for a moment, for the next
// one to the same place: a block brings many at once, and a connection costs ten times a request. Whether its
// address is still one that may be dialled is for each attempt to find out anew. Never used by two at once.

import type { Dispatcher } from 'undici';
import type { HttpTarget, World } from '../world/world.ts';

/** What an attempt has to say to a connection that it opens, and hears of it. */
export type Hooks = Required<Pick<HttpTarget, 'resolver' | 'onConnected' | 'onReady'>>;

export type Place = Pick<HttpTarget, 'origin' | 'ca' | 'connectTimeoutMs' | 'proxy'>;

export interface Kept {
  /** A new one, which dials with the first request. */
  open(place: Place, hooks: Hooks): Line;
  /** Whether there is any to a place. */
  has(place: Place): boolean;
  /** Takes one to an address that the caller may dial; undefined when there is none. */
  take(place: Place, hooks: Hooks, mayDial: (address: string) => boolean): Line | undefined;
  /** Gives back one that is at rest. */
  keep(place: Place, line: Line): void;
}

/** How long a connection is kept in nobody's use; most servers wait 5 s and more. */
const idleMs = 2_000;
/** At all places together. */
const mostKept = 256;

/** A connection. */
export class Line {
  readonly client: Dispatcher;
  /** Of the other end, once it is connected. */
  address: string | null = null;
  /** Whether it has brought a callback before. */
  isKept = false;
  /** Of the attempt in whose use it is. */
  hooks: Hooks;

  constructor(world: Pick<World, 'http'>, place: Place, hooks: Hooks) {
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

export function createKept(world: Pick<World, 'http'>): Kept {
  const idle = new Map<string, Line[]>();
  let count = 0;

  function remove(name: string, line: Line): void {
    const lines = idle.get(name) ?? [];
    const place = lines.indexOf(line);
    if (place === -1) return;
    lines.splice(place, 1);
    if (lines.length === 0) idle.delete(name);
    count -= 1;
  }

  return {
    open: (place, hooks) => new Line(world, place, hooks),
    has: (place) => idle.has(nameOf(place)),
    take(place, hooks, mayDial) {
      const name = nameOf(place);
      // The one that was used last: it is the least likely to be closed just now.
      const line = idle.get(name)?.findLast(({ address }) => address !== null && mayDial(address));
      if (line === undefined) return undefined;
      remove(name, line);
      line.isKept = true;
      line.hooks = hooks;
      return line;
    },
    keep(place, line) {
      const name = nameOf(place);
      if (count >= mostKept) return void line.client.destroy();
      const lines = idle.get(name) ?? [];
      idle.set(name, lines);
      lines.push(line);
      count += 1;
      if (!line.isKept) line.client.on('disconnect', () => remove(name, line));
    },
  };
}

const nameOf = ({ origin, ca = '' }: Place): string => `${origin} ${ca}`;
