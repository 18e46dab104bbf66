// Chooses the connection to close when connections, or what they need, reach a limit. The /48
// prefix with the most loses one, from its /64 prefix with the most. A client with a whole IPv6
// network counts once.

import { networkPrefix48, networkPrefix64 } from './client-address.ts';

export interface ClientPrefixes {
  readonly prefix64: string;
  readonly prefix48: string;
}

export const clientPrefixesOf = (address: string): ClientPrefixes => ({
  prefix64: networkPrefix64(address),
  prefix48: networkPrefix48(address),
});

/**
 * The connection with the greatest weight of the network prefix that has the most; of several, the
 * newest.
 * @param connections oldest first
 * @param weightOf what is counted; by default the connections themselves
 */
export function connectionToClose<Connection extends ClientPrefixes>(
  connections: readonly Connection[],
  weightOf: (connection: Connection) => number = () => 1,
): Connection | undefined {
  const ofNetwork = heaviest(connections, ({ prefix48 }) => prefix48, weightOf);
  const ofClient = heaviest(ofNetwork, ({ prefix64 }) => prefix64, weightOf);
  return heaviest(ofClient, (each) => each, weightOf)[0];
}

function heaviest<Connection>(
  connections: readonly Connection[],
  ownerOf: (connection: Connection) => unknown,
  weightOf: (connection: Connection) => number,
): readonly Connection[] {
  const owned = Map.groupBy(connections, ownerOf);
  const weights = new Map(
    [...owned].map(([owner, own]) => [owner, own.reduce((sum, each) => sum + weightOf(each), 0)]),
  );
  const most = Math.max(...weights.values());
  const newest = connections.findLast((each) => weights.get(ownerOf(each)) === most);
  return newest === undefined ? [] : (owned.get(ownerOf(newest)) ?? []);
}
