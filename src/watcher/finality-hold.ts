// Whether payments may be promoted to 2, and why not: a server whose valid headers leave our chain more
// than two blocks back for half an hour; a heavier branch too deep to follow; the only server there is
// has just lied. The file says whether it is so (the ledger reads it in the very transaction that would
// promote), so a restart in the middle of it changes nothing. What ends, catches up in one commit.

import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import { type Doubt, formatDoubtOfServer } from '../domain/server-standing.ts';
import type { Session } from '../electrum/session.ts';
import type { Tx } from '../store/db/writer.ts';
import type { Store } from '../store/open-store.ts';
import { type HoldReason, readHold, writeHold } from '../store/records/hold-record.ts';
import type { World } from '../world/world.ts';

/** A live server, and what its tip says. */
export interface AssessedServer {
  readonly session: Session;
  /** `unknown` until the tip's header is verified. */
  readonly standing: Doubt | 'sound' | 'unknown';
}

export interface FinalityHoldParts {
  readonly world: World;
  readonly store: Store;
  /** Labels of the configured servers: a server that was taken off the list holds nothing. */
  readonly servers: readonly string[];
}

/** How long a branch beside ours is taken for a race, and the last word of a server that is gone. */
const graceMs = 30 * 60_000;

interface Dispute {
  readonly since: number;
  seenAt: number;
  /** In words. */
  text: string;
  /** The end of a branch that is too deep to follow. */
  deepTip: BlockHash | undefined;
}

export class FinalityHold {
  readonly #parts: FinalityHoldParts;
  readonly #disputes = new Map<string, Dispute>();
  #liar: string | undefined;
  /** As it stands in the file, or is about to; undefined when that could not be written. */
  #kept: readonly HoldReason[] | undefined;

  constructor(parts: FinalityHoldParts) {
    this.#parts = parts;
    const now = parts.world.monotonic();
    const kept = readHold(parts.store.catalog);
    this.#kept = kept;
    for (const { kind, server, text, deepTip } of kept) {
      if (!parts.servers.includes(server)) continue;
      if (kind === 'lie') this.#liar = server;
      else this.#disputes.set(server, { since: now - graceMs, seenAt: now, text, deepTip });
    }
  }

  /**
   * Looks at what the live servers' tips say.
   * @param isLiarRedeemed whether what is in use is beyond the doubt of a lie
   * @returns how many callbacks were enqueued by the end of a hold
   */
  update(live: readonly AssessedServer[], isLiarRedeemed: boolean): Promise<number> {
    const now = this.#parts.world.monotonic();
    for (const each of live) this.#hear(each, now);
    for (const [label, dispute] of this.#disputes) {
      const isOver = dispute.deepTip
        ? !this.#outweighsUs(dispute.deepTip)
        : now - dispute.seenAt >= graceMs;
      if (isOver) this.#disputes.delete(label);
    }
    if (isLiarRedeemed) this.#liar = undefined;
    return this.#keep();
  }

  /** The only server that can be reached lied. */
  lied(label: string): Promise<number> {
    this.#liar = label;
    return this.#keep();
  }

  /** Why nothing is promoted; empty when all is well. */
  reasons(): readonly HoldReason[] {
    const now = this.#parts.world.monotonic();
    const disputes = [...this.#disputes]
      .filter(([, { since, deepTip }]) => deepTip !== undefined || now - since >= graceMs)
      .map(([server, { text, deepTip }]) => ({ kind: 'branch' as const, server, text, deepTip }));
    if (this.#liar === undefined) return disputes;
    const text = 'the only server that can be reached has lied';
    return [...disputes, { kind: 'lie', server: this.#liar, text }];
  }

  #hear({ session, standing }: AssessedServer, now: number): void {
    const { label } = session.server;
    if (standing === 'unknown') return;
    const known = this.#disputes.get(label);
    const isBranch = typeof standing !== 'string' && 'depth' in standing;
    if (!isBranch) {
      // Below a branch that outweighs ours, on its way there: that is over when it is abreast.
      if (known?.deepTip === undefined || standing === 'sound') this.#disputes.delete(label);
      return;
    }
    const deep = standing.kind === 'deep' ? session.tip : undefined;
    this.#disputes.set(label, {
      since: known?.since ?? now,
      seenAt: now,
      text: formatDoubtOfServer(standing),
      deepTip: deep && parseHeader(deep.raw).hash,
    });
  }

  #outweighsUs(hash: BlockHash): boolean {
    const { headers } = this.#parts.store;
    return (headers.byHash(hash)?.work ?? 0n) > (headers.tip()?.work ?? 0n);
  }

  /** Writes down what changed; what was held back is promoted with it. */
  async #keep(): Promise<number> {
    const { store, world } = this.#parts;
    const reasons = this.reasons();
    const before = this.#kept;
    if (JSON.stringify(before) === JSON.stringify(reasons)) return 0;
    this.#kept = reasons;
    if (before?.length === 0) {
      const inWords = reasons.map(({ server, text }) => `${server}: ${text}`);
      world.log.error('nothing is promoted to 2', { reasons: inWords });
    } else if (reasons.length === 0) world.log.info('payments are promoted to 2 again');
    try {
      // While there is a reason, nothing is: the ledger reads it in the same commit.
      return await promote({ store, world }, (tx) => writeHold(tx, store.catalog, reasons));
    } catch (error) {
      // The next look writes it again: no hold outlasts its cause, and none is lost.
      this.#kept = undefined;
      throw error;
    }
  }
}

/** Payments in one commit: some 20 ms of work. */
const maxDecidedAtOnce = 200;

/**
 * @param first in the first commit, before all: what moved
 * @returns how many callbacks were enqueued
 */
export async function promote(
  { store, world }: { readonly store: Store; readonly world: World },
  first: (tx: Tx) => void = () => {},
): Promise<number> {
  const { database, ledger } = store;
  let waiting: readonly number[] = [];
  let callbacks = await database.write((tx) => {
    first(tx);
    waiting = ledger.maturing();
    return ledger.promote(tx, world.now(), waiting.slice(0, maxDecidedAtOnce));
  });
  for (let from = maxDecidedAtOnce; from < waiting.length; from += maxDecidedAtOnce) {
    const part = waiting.slice(from, from + maxDecidedAtOnce);
    callbacks += await database.write((tx) => ledger.promote(tx, world.now(), part));
  }
  return callbacks;
}
