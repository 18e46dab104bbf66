// Reuse of connections to shops. After a callback, a connection stays open for a moment. The next
// callback to the same destination uses it, because a connection costs ten times a request. Each
// attempt checks anew whether it may dial the address of the connection. Two attempts never use
// one connection at the same time.

import type { Dispatcher } from 'undici';
import type { HttpTarget, World } from '../world/world.ts';

/** What an attempt gives to its connection: the resolver, and listeners of its progress. */
export type ConnectionHooks = Required<Pick<HttpTarget, 'resolver' | 'onConnected' | 'onReady'>>;

export type Destination = Pick<HttpTarget, 'origin' | 'ca' | 'connectTimeoutMs' | 'proxy'>;

export type CallbackConnections = ReturnType<typeof createCallbackConnections>;

/** An idle connection is closed after this time. Most servers wait 5 s and more. */
/** See docs/decisions/013. */
const idleMs = 2_000;
/** Idle connections to all destinations. */
const maxIdle = 256;

export class CallbackConnection {
  readonly client: Dispatcher;
  /** The IP address of the server, once connected. */
  address: string | null = null;
  isReused = false;
  /** The hooks of the attempt that uses it. */
  hooks: ConnectionHooks;

  constructor(world: Pick<World, 'http'>, destination: Destination, hooks: ConnectionHooks) {
    this.hooks = hooks;
    this.client = world.http({
      ...destination,
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

export function createCallbackConnections(world: Pick<World, 'http'>) {
  const idle = new Map<string, CallbackConnection[]>();
  let count = 0;

  function remove(key: string, connection: CallbackConnection): void {
    const connections = idle.get(key) ?? [];
    const index = connections.indexOf(connection);
    if (index === -1) return;
    connections.splice(index, 1);
    if (connections.length === 0) idle.delete(key);
    count -= 1;
  }

  return {
    /** A new connection. It dials with its first request. */
    open: (destination: Destination, hooks: ConnectionHooks): CallbackConnection =>
      new CallbackConnection(world, destination, hooks),
    hasIdle: (destination: Destination): boolean => idle.has(keyOf(destination)),
    /** Takes an idle connection to an address that the caller may dial; undefined without one. */
    takeIdle(
      destination: Destination,
      hooks: ConnectionHooks,
      mayDial: (address: string) => boolean,
    ): CallbackConnection | undefined {
      const key = keyOf(destination);
      // The most recently used connection is the least likely to be closed by the server now.
      const connection = idle
        .get(key)
        ?.findLast(({ address }) => address !== null && mayDial(address));
      if (connection === undefined) return undefined;
      remove(key, connection);
      connection.isReused = true;
      connection.hooks = hooks;
      return connection;
    },
    putBack(destination: Destination, connection: CallbackConnection): void {
      const key = keyOf(destination);
      if (count >= maxIdle) return void connection.client.destroy();
      const connections = idle.get(key) ?? [];
      idle.set(key, connections);
      connections.push(connection);
      count += 1;
      if (!connection.isReused) {
        connection.client.on('disconnect', () => remove(key, connection));
      }
    },
  };
}

const keyOf = ({ origin, ca = '' }: Destination): string => `${origin} ${ca}`;
