// Faults of the simulated Electrum server, as data. A fault applies to all requests or to those
// that a predicate selects. chain-view.ts falsifies the data, simulated-session.ts the sending.

import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import type { SimulatedBlock } from '../chain/simulated-block.ts';

/** A false claim that paygate's proofs must detect. */
export type ServerLie =
  /** get_merkle: a merkle branch with a different root. */
  | 'merkle'
  /** transaction.get: the bytes of another transaction. */
  | 'transaction'
  /** scripthash.subscribe: a status that matches no history. */
  | 'status'
  /** server.features: the genesis of another network. */
  | 'genesis'
  /** Histories: a transaction that does not exist, in the tip block. */
  | 'invented-transaction'
  /** Histories: mined transactions one block too high (or too low, at the tip). */
  | 'wrong-height'
  /** Headers: without proof of work. */
  | 'header-work'
  /** Headers: with proof of work, for a target that the network does not allow. */
  | 'header-bits'
  /** Headers: with proof of work, on an unknown block. */
  | 'header-link';

/** Invalid bytes in place of a response. */
export type Garbage =
  | 'nonsense'
  | 'over-long'
  | 'invalid-utf8'
  | 'nul'
  | 'deep-json'
  | 'unknown-id'
  | 'wrong-types';

type FaultKind =
  /** Never responds. */
  | { readonly kind: 'hang' }
  /** Computes the response at once and sends it later, when it may be stale. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Responds with an error, as a busy server does. */
  | { readonly kind: 'error'; readonly code: number; readonly message: string }
  /** Sends the first half of the response, then closes. */
  | { readonly kind: 'closeMidLine' }
  | { readonly kind: 'garbage'; readonly as: Garbage }
  | {
      readonly kind: 'lie';
      readonly about: ServerLie;
      /** For lies about headers: the first height, by default the tip. */
      readonly fromHeight?: number;
    }
  | {
      readonly kind: 'omit';
      /** Omitted from all histories. */
      readonly txids?: readonly Txid[];
      /** Scripts with an empty history. */
      readonly scripthashes?: readonly Scripthash[];
      /** Whether transaction.get and get_merkle deny the txids too. */
      readonly deny?: boolean;
    }
  /** Serves the chain without its last blocks; their transactions are unconfirmed there. */
  | { readonly kind: 'lag'; readonly blocks: number }
  /** Serves a competing block (`SimulatedChain.rival`) as its tip, until the next block. */
  | { readonly kind: 'rival'; readonly block: SimulatedBlock }
  /** Sends no notifications, but responses. */
  | { readonly kind: 'stopNotifications' }
  /** Resets all new connections, whatever the scope. Open connections stay. */
  | { readonly kind: 'refuse' };

interface FaultScope {
  /** Selects requests, and notifications by their method; by default all. */
  readonly when?: (method: string, params: readonly unknown[]) => boolean;
  /** Number of requests until it ends; by default unlimited. Notifications do not count. */
  readonly times?: number;
}

export type Fault = FaultKind & FaultScope;

export class Faults {
  readonly #inForce = new Map<object, { readonly fault: Fault; left: number }>();

  /** @returns ends this fault */
  inject(fault: Fault): () => void {
    const key = {};
    this.#inForce.set(key, { fault, left: fault.times ?? Number.POSITIVE_INFINITY });
    return () => this.#inForce.delete(key);
  }

  clear(): void {
    this.#inForce.clear();
  }

  get hasAny(): boolean {
    return this.#inForce.size > 0;
  }

  /** Faults that apply to a request, which counts for their `times`. */
  forRequest(method: string, params: readonly unknown[]): Fault[] {
    const concerned = this.#matching(method, params);
    for (const [key, entry] of concerned) {
      entry.left -= 1;
      if (entry.left <= 0) this.#inForce.delete(key);
    }
    return concerned.map(([, { fault }]) => fault);
  }

  forNotification(method: string, params: readonly unknown[]): Fault[] {
    return this.#matching(method, params).map(([, { fault }]) => fault);
  }

  has(kind: Fault['kind']): boolean {
    return [...this.#inForce.values()].some(({ fault }) => fault.kind === kind);
  }

  #matching(method: string, params: readonly unknown[]) {
    return [...this.#inForce].filter(([, { fault }]) => fault.when?.(method, params) ?? true);
  }
}

export const faultOf = <K extends Fault['kind']>(
  faults: readonly Fault[],
  kind: K,
): Extract<Fault, { kind: K }> | undefined =>
  faults.find((fault): fault is Extract<Fault, { kind: K }> => fault.kind === kind);

/** Longer than any response that paygate accepts (9 MB). */
const overLongBytes = 10_000_000;
const deepLevels = 100_000;

export function garbageLine(as: Garbage, id: unknown): Uint8Array {
  const answer = (result: string, to = JSON.stringify(id)) =>
    Buffer.from(`{"jsonrpc":"2.0","id":${to},"result":${result}}\n`);
  switch (as) {
    case 'nonsense':
      return Buffer.from('HTTP/1.1 400 Bad Request\n');
    case 'over-long':
      return answer(`"${'a'.repeat(overLongBytes)}"`);
    case 'invalid-utf8':
      return Buffer.concat([
        Buffer.from('{"result":"'),
        Buffer.of(0xff, 0xc0),
        Buffer.from('"}\n'),
      ]);
    case 'nul':
      return answer('"\0"');
    case 'deep-json':
      return answer('['.repeat(deepLevels) + ']'.repeat(deepLevels));
    case 'unknown-id':
      return answer('null', '987654321');
    case 'wrong-types':
      return answer('{"hex":7,"height":"x","headers":{},"tx_hash":[null,-1]}');
  }
}
