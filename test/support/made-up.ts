// Invented transactions without cost: they spend unknown outputs, and no node has them.

import { sha256x2 } from '@scure/btc-signer/utils.js';
import { displayHex, type Txid } from '../../src/bitcoin/ids.ts';
import type { IssuedAddress } from '../../src/store/wallets/address-row.ts';
import type { Liar } from './liar.ts';

export const getHistory = 'blockchain.scripthash.get_history';
export const getTransaction = 'blockchain.transaction.get';

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const size = (count: number): Buffer => {
  if (count < 0xfd) return Buffer.of(count);
  if (count <= 0xffff) return Buffer.of(0xfd, count & 0xff, count >> 8);
  return Buffer.concat([Buffer.of(0xfe), uint32(count)]);
};

/** Spends the output of nothing at a place, with a script of so many bytes. */
const input = (place: number, scriptBytes: number): Buffer =>
  Buffer.concat([
    ...[Buffer.alloc(32, 7), uint32(place), size(scriptBytes)],
    ...[Buffer.alloc(scriptBytes), uint32(0xffffffff)],
  ]);

/** Transaction with `count` outputs of value 0 and an empty script. */
export const emptyOutputs = (number: number, count: number): Buffer =>
  Buffer.concat([
    ...[uint32(2), Buffer.of(1), Buffer.alloc(32, 7), uint32(number), Buffer.of(0), uint32(0)],
    ...[size(count), Buffer.alloc(9 * count), uint32(0)],
  ]);

/** Pays one satoshi to a script, and is as long as its input's own script makes it. */
export const payingTo = (script: Uint8Array, number: number, scriptBytes: number): Buffer =>
  Buffer.concat([
    ...[uint32(2), Buffer.of(1), input(number, scriptBytes), Buffer.of(1)],
    ...[Buffer.of(1, 0, 0, 0, 0, 0, 0, 0, script.length), script, uint32(0)],
  ]);

/** Spends these outputs of nothing; another number is another transaction. */
export const spending = (places: readonly number[], number: number): Buffer =>
  Buffer.concat([
    ...[uint32(2), size(places.length), ...places.map((place) => input(place, 0)), Buffer.of(1)],
    ...[Buffer.of(1, 0, 0, 0, 0, 0, 0, 0, 0), uint32(number)],
  ]);

export const idOf = (raw: Buffer): Txid => displayHex<Txid>(sha256x2(raw));

/** Has a server name these, in no block, beside what is true, and show them. */
export function tellOf(liar: Liar, { scripthash }: IssuedAddress, raws: readonly Buffer[]): void {
  const made = new Map(raws.map((raw) => [idOf(raw), raw.toString('hex')]));
  const items = [...made.keys()].map((tx_hash) => ({ tx_hash, height: 0, fee: 1 }));
  liar.lie = ({ method, params: [of = ''] }, message) => {
    if (method === getHistory && of === scripthash) {
      return { ...message, result: [...(message.result as object[]), ...items] };
    }
    const raw = method === getTransaction ? made.get(of as Txid) : undefined;
    return raw === undefined ? message : { id: message.id ?? 0, result: raw };
  };
}
