// Reads what a merchant enters for a node. An error never quotes it, because it may hold a secret.

import { isOnion, onionError } from '../domain/delivery/onion.ts';
import type { NodeKind, NodeSettings } from '../domain/store/lightning-node.ts';
import { withoutInvisible } from '../domain/text/pasted-text.ts';
import { trimUrl } from '../domain/text/url-text.ts';
import { isOwnHost } from '../electrum/server-address.ts';
import { throwInvalid } from '../lib/errors.ts';

const maxCredentialLength = 4096;

/**
 * Plain HTTP is for this machine, a private network and Tor alone.
 * @throws PaygateError invalid, saying what to write instead
 */
export function parseNodeSettings(kind: NodeKind, url: string, credential: string): NodeSettings {
  const plain = withoutInvisible(credential);
  if (plain.length === 0 || plain.length > maxCredentialLength) {
    throwInvalid(`the ${kind === 'lnd' ? 'macaroon' : 'password'} is missing or too long`);
  }
  return {
    kind,
    url: parseNodeUrl(kind, trimUrl(url)),
    credential: kind === 'lnd' ? macaroonHex(plain) : plain,
  };
}

function parseNodeUrl(kind: NodeKind, text: string): string {
  const example = kind === 'lnd' ? 'https://umbrel.local:8080' : 'http://127.0.0.1:9740';
  const url = URL.canParse(text) ? new URL(text) : throwInvalid(`write the URL as ${example}`);
  const { protocol, hostname, username, password, pathname, search, hash, origin } = url;
  if (username + password !== '') throwInvalid('the URL of a node has no user and no password');
  const isHttp = protocol === 'http:' || protocol === 'https:';
  if (!isHttp || pathname + search + hash !== '/') throwInvalid(`write the URL as ${example}`);
  const error = isOnion(hostname) ? onionError(hostname) : undefined;
  if (error !== undefined) throwInvalid(error);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (protocol === 'http:' && !isOwnHost(host) && !isOnion(hostname)) {
    throwInvalid('write https://, because anybody on the way reads what plain HTTP carries');
  }
  return origin;
}

/** A macaroon in hex or base64, as programs show it. */
function macaroonHex(text: string): string {
  if (/^([0-9a-f]{2})+$/i.test(text)) return text.toLowerCase();
  if (/^[\w+/-]+=*$/.test(text)) return Buffer.from(text, 'base64').toString('hex');
  return throwInvalid('the macaroon is neither hex nor base64: show it with xxd -ps -c 1000 FILE');
}
