// What the simulated Electrum server can do wrong, as data. Each fault concerns all requests or
// those that a predicate picks; chain-view.ts falsifies what is served, session.ts how it is sent.

import type { Scripthash, Txid } from '../../bitcoin/ids.ts';
import type { SimulatedBlock } from '../chain/simulated-block.ts';

/** A falsehood that every proof of paygate must see through. */
export type ServerLie =
  /** get_merkle: a branch that leads to another root. */
  | 'merkle'
  /** transaction.get: the bytes of another transaction. */
  | 'transaction'
  /** scripthash.subscribe: a status that no history has. */
  | 'status'
  /** server.features: the genesis of another network. */
  | 'genesis'
  /** Histories: a transaction that does not exist, in the tip block. */
  | 'invented-transaction'
  /** Histories: mined transactions one block too high (or too low, at the tip). */
  | 'wrong-height'
  /** Headers: without proof of work. */
  | 'header-work'
  /** Headers: with proof of work, for another target than the network asks. */
  | 'header-bits'
  /** Headers: with proof of work, on a block that nobody knows. */
  | 'header-link';

/** A line that no server should send, in place of an answer. */
export type Garbage =
  | 'nonsense'
  | 'over-long'
  | 'invalid-utf8'
  | 'nul'
  | 'deep-json'
  | 'unknown-id'
  | 'wrong-types';

type FaultKind =
  /** Never answers. */
  | { readonly kind: 'hang' }
  /** Computes the answer at once and sends it later: it may be stale then. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Answers with an error, as a server that is busy or does not want to. */
  | { readonly kind: 'error'; readonly code: number; readonly message: string }
  /** Sends the first half of the answer, then closes. */
  | { readonly kind: 'closeMidLine' }
  | { readonly kind: 'garbage'; readonly as: Garbage }
  | {
      readonly kind: 'lie';
      readonly about: ServerLie;
      /** For the lies about headers: from this height on; the tip alone unless given. */
      readonly fromHeight?: number;
    }
  | {
      readonly kind: 'omit';
      /** Left out of all histories. */
      readonly txids?: readonly Txid[];
      /** Have no history at all. */
      readonly scripthashes?: readonly Scripthash[];
      /** Whether transaction.get and get_merkle know nothing of the txids either. */
      readonly deny?: boolean;
    }
  /** Serves the chain without its last blocks; their transactions are unconfirmed there. */
  | { readonly kind: 'lag'; readonly blocks: number }
  /** Has another block where the tip is, until the next one: a race of two miners. `SimulatedChain.rival` makes one. */
  | { readonly kind: 'rival'; readonly block: SimulatedBlock }
  /** Notifies of nothing; answers go on. */
  | { readonly kind: 'stopNotifications' }
  /** Resets all new connections, whatever the scope; those that are open go on. */
  | { readonly kind: 'refuse' };

interface FaultScope {
  /** Which requests it concerns, and notifications under their method; all unless given. */
  readonly when?: (method: string, params: readonly unknown[]) => boolean;
  /** It is over after so many requests; never unless given. Notifications are not counted. */
  readonly times?: number;
}

export type Fault = FaultKind & FaultScope;

/** The faults in force. */
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

  /** Faults that concern a request, which counts for their `times`. */
  forRequest(method: string, params: readonly unknown[]): Fault[] {
    const concerned = this.#matching(method, params);
    for (const [key, entry] of concerned) {
      entry.left -= 1;
      if (entry.left <= 0) this.#inForce.delete(key);
    }
    return concerned.map(([, { fault }]) => fault);
  }

  /** Faults that concern a notification. */
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

/** Longer than any line that paygate reads (9 MB). */
const overLongBytes = 10_000_000;
const deepLevels = 100_000;

/** The bytes of a garbage line, its newline included. */
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
