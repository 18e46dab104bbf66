// The cookie of a payer: which order their browser made by a link. It is signed, because the id of
// an order is in its URL. Readers of that URL may see the order, and not change it.

import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { base64url } from '@scure/base';
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { Tx } from '../store/db/writer.ts';
import type { Records } from '../store/open-records.ts';
import type { World } from '../world/world.ts';

type State = Pick<Records, 'state'>;

const secretBytes = 32;
/** A keyed hash is cut to so many bytes. */
const hashBytes = 18;
/** Unpaid orders stay in the gap of a wallet for weeks. */
const maxAgeSeconds = 30 * 86_400;

/** Makes the secret before the first hash. */
export function makePayerSecret(
  { state: { payerSecret } }: State,
  { randomBytes }: Pick<World, 'randomBytes'>,
  tx: Tx,
): void {
  if (payerSecret.read() === '') payerSecret.write(tx, base64url.encode(randomBytes(secretBytes)));
}

/** A keyed hash, so that no row has the network of a customer. */
export const payerNetworkOf = ({ state }: State, network: string): string =>
  hashOf(state, `network ${network}`);

const hashOf = ({ payerSecret }: State['state'], text: string): string =>
  base64url.encode(
    hmac(sha256, utf8ToBytes(payerSecret.read()), utf8ToBytes(text)).slice(0, hashBytes),
  );

const cookieName = (linkId: string): string => `paygate-${linkId}`;

/** The id of the order that the browser of a request made by a link. */
export function orderOfCookie(
  { state }: State,
  context: Context,
  linkId: string,
): string | undefined {
  const [orderId = '', signature] = (getCookie(context, cookieName(linkId)) ?? '').split('.');
  // The secret is empty before any order of a link.
  if (state.payerSecret.read() === '') return undefined;
  return signature === hashOf(state, `order ${orderId}`) ? orderId : undefined;
}

interface MadeOrder {
  readonly linkId: string;
  readonly orderId: string;
  /** The browser reached us by HTTPS. */
  readonly secure: boolean;
}

/** Notes in the browser which order it made. The cookie goes to the pages of links alone. */
export function setOrderCookie(
  { state }: State,
  context: Context,
  { linkId, orderId, secure }: MadeOrder,
): void {
  setCookie(context, cookieName(linkId), `${orderId}.${hashOf(state, `order ${orderId}`)}`, {
    httpOnly: true,
    sameSite: 'Lax',
    secure,
    maxAge: maxAgeSeconds,
    // The folder of the page, wherever a proxy has it.
    path: '',
  });
}
