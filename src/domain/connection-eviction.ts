// Who makes room where all places for connections are taken. Pure. First by line, then by household: a stranger
// who has a whole network of IPv6 counts once, however many households are in it.

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
 * The newest connection of who has most, and so the newcomer's, where no other has more.
 * @param connections oldest first
 */
export function connectionToClose<Connection>(
  connections: ReadonlyMap<Connection, ClientPrefixes>,
): Connection | undefined {
  const ofLine = largest([...connections], (prefixes) => prefixes.prefix48);
  return largest(ofLine, (prefixes) => prefixes.prefix64).at(-1)?.[0];
}

/** The connections of who has most of them; of several, of whom the newest is. */
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
