// Chooses the connection to close when the limit of connections is reached. The /48 prefix with the
// most connections loses one, from its /64 prefix with the most. A client with a whole IPv6 network
// counts once.

import { networkPrefix48, networkPrefix64 } from './client-address.ts';

export interface ClientPrefixes {
  readonly prefix64: string;
  readonly prefix48: string;
}

export const clientPrefixesOf = (address: string): ClientPrefixes => ({
  prefix64: networkPrefix64(address),
  prefix48: networkPrefix48(address),
});

type ClientConnections<Connection> = readonly (readonly [Connection, ClientPrefixes])[];

/**
 * The newest connection of the network prefix that has the most.
 * @param connections oldest first
 */
export function connectionToClose<Connection>(
  connections: ReadonlyMap<Connection, ClientPrefixes>,
): Connection | undefined {
  const ofLine = largest([...connections], (prefixes) => prefixes.prefix48);
  return largest(ofLine, (prefixes) => prefixes.prefix64).at(-1)?.[0];
}

/** The connections of the owner with the most; of several, the owner of the newest one. */
function largest<Connection>(
  connections: ClientConnections<Connection>,
  ownerOf: (prefixes: ClientPrefixes) => string,
): ClientConnections<Connection> {
  const owned = Map.groupBy(connections, ([, prefixes]) => ownerOf(prefixes));
  const most = Math.max(...[...owned.values()].map((own) => own.length));
  const newest = connections.findLast(
    ([, prefixes]) => owned.get(ownerOf(prefixes))?.length === most,
  );
  return newest === undefined ? [] : (owned.get(ownerOf(newest[1])) ?? []);
}
