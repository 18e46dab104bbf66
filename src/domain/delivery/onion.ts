// Addresses of Tor's onion services. Source: rend-spec-v3, section 6 (encoding onion addresses).

import { sha3_256 } from '@noble/hashes/sha3.js';
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { base32nopad } from '@scure/base';

const keyBytes = 32;
const version = 3;

/** Whether a name ends in `.onion`. No resolver may be asked for it (RFC 7686). */
export const isOnion = (hostname: string): boolean => /(^|\.)onion\.?$/i.test(hostname);

/** Why a `.onion` name is invalid; undefined if it is valid. A service may have subdomains. */
export function onionError(hostname: string): string | undefined {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  const address = name.split('.').at(-2) ?? '';
  if (/^[a-z2-7]{16}$/.test(address)) {
    return `${name} is an onion address of version 2, which Tor has not reached since 2021: use the one of version 3, with 56 characters`;
  }
  if (!/^[a-z2-7]{56}$/.test(address)) {
    return `${name} is no onion address: before .onion stand 56 characters, a to z and 2 to 7`;
  }
  const bytes = base32nopad.decode(address.toUpperCase());
  const key = bytes.subarray(0, keyBytes);
  const versionByte = Uint8Array.of(version);
  const digest = sha3_256(concatBytes(utf8ToBytes('.onion checksum'), key, versionByte));
  const isSound = bytes[34] === version && bytes[32] === digest[0] && bytes[33] === digest[1];
  return isSound ? undefined : `${name} is mistyped: its checksum is wrong`;
}

export const onionNeedsProxy = (hostname: string): string =>
  `${hostname} is reached only through Tor: start serve with --proxy socks5://127.0.0.1:9050`;
