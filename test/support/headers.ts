// Headers made by hand for the tests of the chain, with proof of work at the easiest targets. A
// chain in memory applies the results of connectHeaders.

import { type Header, parseHeader, workOfBits } from '../../src/bitcoin/header.ts';
import { hashBytes } from '../../src/bitcoin/ids.ts';
import { type Network, networks } from '../../src/bitcoin/network.ts';
import {
  type ChainHeader,
  type ChainView,
  connectHeaders,
  type HeaderConnection,
} from '../../src/domain/payment/chain.ts';
import { solveHeader } from '../../src/sandbox/chain/simulated-block.ts';

export const easyBits = 0x207fffff;
/** 256 times the work of an easy one. */
export const hardBits = 0x1f7fffff;
export const startTime = 1_700_000_000;
/** Default time between two blocks. */
const stepSeconds = 600;

let salt = 0;

export interface HeaderOptions {
  readonly time?: number;
  readonly bits?: number;
}

/** A header that follows another one, unlike every other; its work is done. */
export function child(parent: Header, { time, bits }: HeaderOptions = {}): Header {
  const raw = new Uint8Array(80);
  const view = new DataView(raw.buffer);
  view.setUint32(0, 0x20000000, true);
  raw.set(hashBytes(parent.hash), 4);
  view.setUint32(36, ++salt, true);
  view.setUint32(68, time ?? parent.time + stepSeconds, true);
  view.setUint32(72, bits ?? parent.bits, true);
  return parseHeader(solveHeader(raw));
}

/** So many headers on top of another one, which is not among them. */
export function branch(parent: Header, count: number, options: HeaderOptions = {}): Header[] {
  const grown: Header[] = [];
  for (let tip = parent; grown.length < count; grown.push(tip)) tip = child(tip, options);
  return grown;
}

/** The first header of a chain, which nothing verifies. */
export const firstHeader = (options: HeaderOptions = {}): Header =>
  child(parseHeader(networks.regtest.genesisHeader), { time: startTime, ...options });

/** Regtest under another difficulty rule, and without a checkpoint. */
export function ruledBy(retarget: Network['retarget'], powLimitBits = easyBits): Network {
  const { checkpoint: _, ...regtest } = networks.regtest;
  return { ...regtest, retarget, powLimitBits };
}

export interface StoredChain {
  readonly view: ChainView;
  tip(): ChainHeader;
  hashes(): string[];
  /** Connects, and takes in what came of it. */
  feed(headers: readonly Header[]): HeaderConnection;
}

/** Holds headers as the store does. They follow one another and are taken as given. */
export function storeHeaders(
  network: Network,
  given: readonly Header[],
  firstHeight = 0,
): StoredChain {
  const all = new Map<string, ChainHeader>();
  let best: ChainHeader[] = [];
  let total = 0n;
  for (const [offset, header] of given.entries()) {
    total += workOfBits(header.bits);
    best.push({ header, height: firstHeight + offset, work: total });
  }
  for (const each of best) all.set(each.header.hash, each);

  function tip(): ChainHeader {
    const last = best.at(-1);
    if (last === undefined) throw new Error('a chain needs a first header');
    return last;
  }
  const view: ChainView = {
    network,
    get tip() {
      return tip();
    },
    byHash: (hash) => all.get(hash),
    bestAt: (height) => best.find((each) => each.height === height),
    bestTimes: (height, count) =>
      best
        .filter((each) => each.height <= height)
        .map(({ header }) => header.time)
        .toReversed()
        .slice(0, count),
  };

  function feed(headers: readonly Header[]): HeaderConnection {
    const result = connectHeaders(view, headers);
    if (!('added' in result)) return result;
    for (const each of result.added) all.set(each.header.hash, each);
    if (result.kind === 'best') {
      const joining: ChainHeader[] = [];
      let next = result.added.at(-1);
      while (next !== undefined && next.height > result.forkHeight) {
        joining.unshift(next);
        next = all.get(next.header.previous);
      }
      best = [...best.filter(({ height }) => height <= result.forkHeight), ...joining];
    }
    return result;
  }
  return { view, tip, hashes: () => best.map(({ header }) => header.hash), feed };
}
