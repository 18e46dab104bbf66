// Who makes room where all places for connections are taken. Pure. First by line, then by household: a stranger
// who has a whole network of IPv6 counts once, however many households are in it.

import { householdOf, lineOf } from './client-address.ts';

export interface Origin {
  readonly household: string;
  readonly line: string;
}

export const originOf = (address: string): Origin => ({
  household: householdOf(address),
  line: lineOf(address),
});

type Places<Connection> = readonly (readonly [Connection, Origin])[];

/**
 * The newest connection of who has most, and so the newcomer's, where no other has more.
 * @param crowd oldest first
 */
export function leaverOf<Connection>(
  crowd: ReadonlyMap<Connection, Origin>,
): Connection | undefined {
  const ofLine = largest([...crowd], (origin) => origin.line);
  return largest(ofLine, (origin) => origin.household).at(-1)?.[0];
}

/** The connections of who has most of them; of several, of whom the newest is. */
function largest<Connection>(
  places: Places<Connection>,
  whoseOf: (origin: Origin) => string,
): Places<Connection> {
  const owned = Map.groupBy(places, ([, origin]) => whoseOf(origin));
  const most = Math.max(...[...owned.values()].map((own) => own.length));
  const newest = places.findLast(([, origin]) => owned.get(whoseOf(origin))?.length === most);
  return newest === undefined ? [] : (owned.get(whoseOf(newest[1])) ?? []);
}
