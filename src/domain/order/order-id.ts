// Ids of orders, links and events: a prefix and 128 bits in base58. Orders and links are public by
// their id, so its bits are random. The bits of an event are a hash of its facts. A restored copy
// gives no other event an old id.

import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';

export type IdPrefix = 'ord' | 'lnk' | 'evt' | 'ntf';

/** How many random bytes `idOf` takes. */
export const idBytes = 16;

/** The digits of the largest id: 58^21 < 2^128 < 58^22. */
const idLength = 22;

/** An id such as `ord_3yQ8tZr6WmB1nK5vXc2dLp`. Each has 22 characters behind its prefix. */
export function idOf(prefix: IdPrefix, bytes: Uint8Array): string {
  if (bytes.length !== idBytes) throw new Error(`an id has ${idBytes} bytes, not ${bytes.length}`);
  return `${prefix}_${base58.encode(bytes).padStart(idLength, '1')}`;
}

export const isId = (prefix: IdPrefix, text: string): boolean =>
  text.startsWith(`${prefix}_`) && /^[a-z]{3}_[1-9A-HJ-NP-Za-km-z]{22}$/.test(text);

/**
 * The id of an event.
 * @param facts what the event is about; other facts have another id
 */
export const eventIdFor = (facts: readonly (string | number)[]): string => idFor('evt', facts);

export const notificationIdFor = (facts: readonly (string | number)[]): string =>
  idFor('ntf', facts);

function idFor(prefix: IdPrefix, facts: readonly (string | number)[]): string {
  const digest = sha256(utf8ToBytes(JSON.stringify(facts)));
  return idOf(prefix, digest.subarray(0, idBytes));
}
