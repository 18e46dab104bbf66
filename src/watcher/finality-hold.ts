// Holds back every promotion to 2 while the servers disagree. The reasons: another branch for half
// an hour, a heavier branch that is too deep to follow, a lie of the only server. The file has the
// hold. The ledger reads it in the transaction that would promote, so a restart changes nothing.

import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import { type Doubt, formatDoubtOfServer } from '../domain/payment/server-standing.ts';
import type { Session } from '../electrum/session.ts';
import type { Tx } from '../store/db/writer.ts';
import type { HoldReason } from '../store/file/file-state.ts';
import type { Records } from '../store/open-records.ts';
import type { World } from '../world/world.ts';

/** A live server, and how its tip stands to our best chain. */
export interface AssessedServer {
  readonly session: Session;
  /** `unknown` until the tip's header is verified. */
  readonly standing: Doubt | 'level' | 'unknown';
}

export interface FinalityHoldParts {
  readonly world: World;
  readonly records: Records;
  /** Labels of the configured servers: a server that left the list no longer holds payments. */
  readonly servers: readonly string[];
}

/**
 * How long another branch counts as a race of miners, and the last tip of a lost server counts. See
 * docs/decisions/005.
 */
const graceMs = 30 * 60_000;

interface Dispute {
  readonly since: number;
  seenAt: number;
  text: string;
  /** The end of a branch that is too deep to follow. */
  deepTip: BlockHash | undefined;
}

export class FinalityHold {
  readonly #parts: FinalityHoldParts;
  readonly #disputes = new Map<string, Dispute>();
  #liar: string | undefined;
  /** The reasons in the file, or being written; undefined after a failed write. */
  #stored: readonly HoldReason[] | undefined;

  constructor(parts: FinalityHoldParts) {
    this.#parts = parts;
    const now = parts.world.monotonic();
    const stored = parts.records.state.hold.read();
    this.#stored = stored;
    for (const { kind, server, text, deepTip } of stored) {
      if (!parts.servers.includes(server)) continue;
      if (kind === 'lie') this.#liar = server;
      else this.#disputes.set(server, { since: now - graceMs, seenAt: now, text, deepTip });
    }
  }

  /**
   * Updates the hold from the tips of the live servers.
   * @param isLiarRedeemed ends a hold for a lie
   * @returns how many callbacks were enqueued
   */
  update(live: readonly AssessedServer[], isLiarRedeemed: boolean): Promise<number> {
    const now = this.#parts.world.monotonic();
    for (const each of live) this.#note(each, now);
    for (const [label, dispute] of this.#disputes) {
      const isOver = dispute.deepTip
        ? !this.#outweighsUs(dispute.deepTip)
        : now - dispute.seenAt >= graceMs;
      if (isOver) this.#disputes.delete(label);
    }
    if (isLiarRedeemed) this.#liar = undefined;
    return this.#store();
  }

  /** The only reachable server lied. See docs/decisions/008. */
  lied(label: string): Promise<number> {
    this.#liar = label;
    return this.#store();
  }

  /** Why no payment is promoted; empty without a hold. */
  reasons(): readonly HoldReason[] {
    const now = this.#parts.world.monotonic();
    const disputes = [...this.#disputes]
      .filter(([, { since, deepTip }]) => deepTip !== undefined || now - since >= graceMs)
      .map(([server, { text, deepTip }]) => ({ kind: 'branch' as const, server, text, deepTip }));
    if (this.#liar === undefined) return disputes;
    const text = 'the only server that can be reached has lied';
    return [...disputes, { kind: 'lie', server: this.#liar, text }];
  }

  #note({ session, standing }: AssessedServer, now: number): void {
    const { label } = session.server;
    if (standing === 'unknown') return;
    const known = this.#disputes.get(label);
    const isBranch = typeof standing !== 'string' && 'depth' in standing;
    if (!isBranch) {
      // A server on its way to a branch that outweighs ours keeps its dispute until it is level
      // with us.
      if (known?.deepTip === undefined || standing === 'level') this.#disputes.delete(label);
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
    const { headers } = this.#parts.records;
    return (headers.byHash(hash)?.work ?? 0n) > (headers.tip()?.work ?? 0n);
  }

  /** Stores changed reasons; the end of a hold promotes in the same commit. */
  async #store(): Promise<number> {
    const { records, world } = this.#parts;
    const reasons = this.reasons();
    const before = this.#stored;
    if (JSON.stringify(before) === JSON.stringify(reasons)) return 0;
    this.#stored = reasons;
    if (before?.length === 0) {
      const inWords = reasons.map(({ server, text }) => `${server}: ${text}`);
      world.log.error('nothing is promoted to 2', { reasons: inWords });
    } else if (reasons.length === 0) world.log.info('payments are promoted to 2 again');
    try {
      // With a reason, nothing is promoted: the ledger reads it in the same commit.
      return await promote({ records, world }, (tx) => records.state.hold.write(tx, reasons));
    } catch (error) {
      // The next update writes it again: no hold outlasts its cause, and none is lost.
      this.#stored = undefined;
      throw error;
    }
  }
}

/** Payments decided in one commit: some 20 ms of work. */
const maxDecidedAtOnce = 200;

/**
 * Promotes payments that have enough confirmations to 2, and settles old ones. Splits the thousands
 * of a block into several commits, so that other writes do not wait. A start finds what a crash
 * left.
 * @param first runs first in the first commit
 * @returns how many callbacks were enqueued
 */
export async function promote(
  { records, world }: { readonly records: Records; readonly world: World },
  first: (tx: Tx) => void = () => {},
): Promise<number> {
  const { database, ledger } = records;
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
