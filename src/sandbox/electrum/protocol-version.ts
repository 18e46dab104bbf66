// Electrum protocol versions and their negotiation.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-methods.html#server-version

/** "1.4" or "1.4.2": numbers between dots. */
export type ProtocolVersion = string;

const parts = (version: ProtocolVersion): number[] => version.split('.').map(Number);

/** Negative, zero or positive as the first is older, equal or newer; "1.4" equals "1.4.0". */
function compareVersions(a: ProtocolVersion, b: ProtocolVersion): number {
  const [left, right] = [parts(a), parts(b)];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export const isAtLeast = (version: ProtocolVersion, other: ProtocolVersion): boolean =>
  compareVersions(version, other) >= 0;

const isVersion = (value: unknown): value is ProtocolVersion =>
  typeof value === 'string' && /^\d+(\.\d+)+$/.test(value);

/** Version range of a client's second argument of server.version; undefined if invalid. */
function clientRange(argument: unknown): readonly [ProtocolVersion, ProtocolVersion] | undefined {
  const [min, max] = Array.isArray(argument) ? argument : [argument, argument];
  return isVersion(min) && isVersion(max) ? [min, max] : undefined;
}

/**
 * The highest version that both support, or undefined when there is none.
 *
 * @param server the oldest and the newest version of the server.
 * @param client second argument of server.version: a version or an array of two.
 */
export function negotiate(
  server: readonly [ProtocolVersion, ProtocolVersion],
  client: unknown,
): ProtocolVersion | undefined {
  const range = clientRange(client);
  if (range === undefined) return undefined;
  const highest = compareVersions(range[1], server[1]) < 0 ? range[1] : server[1];
  return isAtLeast(highest, range[0]) && isAtLeast(highest, server[0]) ? highest : undefined;
}
