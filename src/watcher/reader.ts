// Answers what the database does not have: whole histories of scripts and wallets, single
// transactions, times of blocks. Nothing is proven here except transactions, which hash to their
// ids. Heights of payments come from the watcher. Everything is bounded, and payments go first.

import { LRUCache } from 'lru-cache';
import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash, Scripthash, Txid } from '../bitcoin/ids.ts';
import { type DerivedAddress, deriveAddress, type WalletKey } from '../bitcoin/keychain.ts';
import type { Transaction } from '../bitcoin/transaction.ts';
import {
  type BalanceChange,
  balanceChangesOf,
  type ScriptTransaction,
} from '../domain/payment/balance-change.ts';
import { type HistoryItem, type StatusHash, statusHash } from '../domain/payment/script-history.ts';
import { lookahead, scanGap } from '../domain/store/allocation.ts';
import type { Pool } from '../electrum/pool.ts';
import { isUnknownTransaction, ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { chunks } from '../lib/chunk.ts';
import { PaygateError } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { Records } from '../store/open-records.ts';
import type { AddressPlace } from '../store/wallets/address-row.ts';
import { withFallback } from './proof/other-servers.ts';
import { cacheTransactions, ServerLie } from './proof/proofs.ts';
import type { ServerChoice } from './server-choice.ts';
import type { WorkQueue } from './work-queue.ts';

export interface ChainReaderParts {
  readonly records: Records;
  readonly pool: Pick<Pool, 'ban'>;
  readonly servers: Pick<ServerChoice, 'caughtUp' | 'other'>;
  readonly queue: Pick<WorkQueue, 'isPending'>;
}

export type WatchedScript = Pick<DerivedAddress, 'address' | 'script' | 'scripthash'>;

export interface ScriptMovements {
  readonly address: string;
  readonly movements: readonly BalanceChange[];
}

interface CachedMovements {
  readonly status: StatusHash | null;
  readonly movements: readonly BalanceChange[];
  /**
   * Our tip at the time of the request. A script that is not watched is asked for once a block: see
   * docs/decisions/019.
   */
  readonly tip: BlockHash | undefined;
}

const bulk = { bulk: true };
/** Items of one history that are fetched at once. */
const itemsAtOnce = 25;
/** Transactions of one script; no address for payments has more. */
const maxItems = 5_000;
/**
 * Outputs that all transactions of one script spend: a server may invent thousands of large ones.
 */
const maxSpentOutputs = 300_000;
const maxIndex = 20_000;
/** A derivation holds the event loop for up to 1.3 ms. */
const maxDerivedAtOnce = 5;
/** Scripts that are read at once where their derivations are cached. */
const maxReadAtOnce = 50;
/** Max weight: scripts and their movements together, because one script may have thousands. */
const maxCachedMovements = 300_000;
/** Branches of wallets. */
const maxCachedDerivations = 20;
const maxCachedTimes = 10_000;

/** Every method throws PaygateError unavailable while no server answers. */
export class ChainReader {
  readonly #parts: ChainReaderParts;
  readonly #fetch = cacheTransactions();
  readonly #scripts = new LRUCache<Scripthash, CachedMovements>({
    maxSize: maxCachedMovements,
    sizeCalculation: ({ movements }) => 1 + movements.length,
  });
  readonly #derived = new LRUCache<string, (WatchedScript | undefined)[]>({
    max: maxCachedDerivations,
  });
  readonly #times = new LRUCache<number, number>({ max: maxCachedTimes });

  constructor(parts: ChainReaderParts) {
    this.#parts = parts;
  }

  transaction(txid: Txid): Promise<Transaction> {
    return this.#ask(async (session) => (await this.#fetch(session, txid)).parsed);
  }

  /** Undefined for a transaction that the servers do not have. */
  find(txid: Txid): Promise<Transaction | undefined> {
    return this.#ask(async (session) => {
      try {
        const ask = (by: Session) => this.#fetch(by, txid);
        return (await withFallback(session, this.#parts.servers, ask)).parsed;
      } catch (error) {
        if (error instanceof ServerError && isUnknownTransaction(error)) return undefined;
        throw error;
      }
    });
  }

  movements(script: WatchedScript): Promise<ScriptMovements> {
    return this.#ask(async (session) => {
      return { address: script.address, movements: await this.#movementsOf(session, script) };
    });
  }

  /**
   * Movements of both branches, up to the gap limit beyond the last used index, or beyond
   * `nextIndex`. Their heights are not proven: docs/decisions/020.
   */
  walletMovements(key: WalletKey, nextIndex: number): Promise<readonly ScriptMovements[]> {
    return this.#ask(async (session) => [
      ...(await this.#walk(session, key, 0, nextIndex)),
      ...(await this.#walk(session, key, 1, 0)),
    ]);
  }

  /** Unix seconds, as the block's header has it. */
  async timeOf(height: number): Promise<number> {
    const known =
      this.#parts.records.headers.bestAt(height)?.header.time ?? this.#times.get(height);
    if (known !== undefined) return known;
    return this.#ask(async (session) => {
      const [raw] = await session.headers(height, 1);
      if (raw === undefined)
        throw new PaygateError('unavailable', `There is no block ${height} yet`);
      const { time } = parseHeader(raw);
      this.#times.set(height, time);
      return time;
    });
  }

  async #ask<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = this.#parts.servers.caughtUp;
    if (session === undefined) throw noServer();
    try {
      return await work(session);
    } catch (error) {
      if (error instanceof ServerLie) this.#parts.pool.ban(session, error.message);
      // The server's message is for the operator, and the refusal no fault of the API client.
      if (error instanceof ServerError) throw refused(session, error);
      if (error instanceof PaygateError && !session.closed) throw error;
      if (error instanceof ServerLie || session.closed) throw noServer();
      throw error;
    }
  }

  /** The used scripts of a branch. */
  async #walk(
    session: Session,
    key: WalletKey,
    branch: 0 | 1,
    nextIndex: number,
  ): Promise<ScriptMovements[]> {
    const used: ScriptMovements[] = [];
    for (let start = 0, end = nextIndex; start < end + scanGap; ) {
      if (start > maxIndex) throw tooMuch('This wallet has too many addresses to be read');
      const atOnce = this.#isDerived(key, branch, start + maxReadAtOnce)
        ? maxReadAtOnce
        : maxDerivedAtOnce;
      const count = Math.min(atOnce, end + scanGap - start);
      const scripts = Array.from({ length: count }, (_, offset) =>
        this.#derive(key, branch, start + offset),
      );
      const found = await Promise.all(
        scripts.map((script) => (script ? this.#movementsOf(session, script) : [])),
      );
      for (const [offset, movements] of found.entries()) {
        const address = scripts[offset]?.address;
        if (address === undefined || movements.length === 0) continue;
        used.push({ address, movements });
        end = Math.max(end, start + offset + 1);
      }
      start += count;
      // Cached answers need no server, but other work must get its turn.
      await nextTurn();
    }
    return used;
  }

  #isDerived(key: WalletKey, branch: 0 | 1, index: number): boolean {
    return (this.#derived.get(`${key.descriptor} ${branch}`)?.length ?? 0) > index;
  }

  #derive(key: WalletKey, branch: 0 | 1, index: number): WatchedScript | undefined {
    const name = `${key.descriptor} ${branch}`;
    const cached = this.#derived.get(name);
    const known = cached ?? [];
    if (cached === undefined) this.#derived.set(name, known);
    if (!(index in known)) known[index] = deriveAddress(key, branch, index);
    return known[index];
  }

  #movementsOf(session: Session, script: WatchedScript): Promise<readonly BalanceChange[]> {
    return withFallback(session, this.#parts.servers, (by) => this.#movementsBy(by, script));
  }

  async #movementsBy(session: Session, script: WatchedScript): Promise<readonly BalanceChange[]> {
    const { scripthash } = script;
    const { headers } = this.#parts.records;
    const known = this.#scripts.get(scripthash);
    const watched = this.#watched(scripthash);
    const isPending = this.#parts.queue.isPending(scripthash);
    if (watched?.statusHash === null && !isPending) return [];
    if (known !== undefined && watched?.statusHash === known.status && !isPending) {
      return known.movements;
    }
    const tip = headers.tip()?.header.hash;
    if (known !== undefined && watched === undefined && known.tip === tip) return known.movements;
    const history = await session.history(scripthash, bulk);
    const status = statusHash(history);
    if (known?.status === status) {
      this.#scripts.set(scripthash, { ...known, tip });
      return known.movements;
    }
    const movements = await this.#read(session, script, history);
    if (watched === undefined) {
      this.#scripts.set(scripthash, { status, movements, tip });
      return movements;
    }
    const proven = this.#asProven(scripthash, movements, watched.statusHash === status);
    // It is read anew each time until the watcher has recorded the heights.
    if (proven.every(({ height }, at) => height === movements[at]?.height)) {
      this.#scripts.set(scripthash, { status, movements, tip });
    }
    return proven;
  }

  /**
   * Replaces the server's heights by proven ones. Movements that are no payment of ours keep the
   * server's height, except for receipts of a history that the watcher has not recorded.
   */
  #asProven(
    scripthash: Scripthash,
    movements: readonly BalanceChange[],
    isRecorded: boolean,
  ): readonly BalanceChange[] {
    const { headers, receipts } = this.#parts.records;
    return movements.map((movement) => {
      const payment = receipts.byPlace(scripthash, movement.txid);
      if (payment === undefined) {
        return isRecorded || movement.deltaSat <= 0 ? movement : { ...movement, height: null };
      }
      const { height, blockHash } = payment;
      const isIn =
        height !== null && blockHash !== null && headers.isOnBest({ height, hash: blockHash });
      return { ...movement, height: isIn ? height : null };
    });
  }

  /** Our address, if a status is recorded for it; the far look-ahead may not be subscribed yet. */
  #watched(scripthash: Scripthash): AddressPlace | undefined {
    const { addresses, catalog } = this.#parts.records;
    const row = addresses.byScripthash(scripthash);
    if (row?.origin !== 'ahead') return row;
    const { nextIndex, scannedAt } = catalog.wallet(row.walletId);
    return scannedAt !== null && row.derivationIndex < nextIndex + lookahead ? row : undefined;
  }

  async #read(
    session: Session,
    { script }: WatchedScript,
    history: readonly HistoryItem[],
  ): Promise<readonly BalanceChange[]> {
    if (history.length > maxItems) throw tooMuch('This address has too many transactions');
    const parts: ScriptTransaction[] = [];
    let spent = 0;
    for (const items of chunks(history, itemsAtOnce)) {
      const read = await Promise.all(items.map((item) => this.#part(session, script, item)));
      parts.push(...read);
      spent += read.reduce((sum, part) => sum + part.spent.length, 0);
      if (spent > maxSpentOutputs) throw tooMuch('The transactions of this address are too large');
    }
    return balanceChangesOf(parts);
  }

  async #part(session: Session, script: Uint8Array, item: HistoryItem): Promise<ScriptTransaction> {
    const { txid, position } = item;
    const { parsed } = await this.#fetch(session, txid, bulk);
    return {
      txid,
      height: position.kind === 'mined' ? position.height : null,
      received: parsed.outputs.flatMap(({ script: paid, valueSat }, vout) =>
        Buffer.compare(paid, script) === 0 ? [{ vout, valueSat }] : [],
      ),
      spent: parsed.inputs.map(({ txid, vout }) => ({ txid, vout })),
    };
  }
}

const comeBack = (why: string): PaygateError =>
  new PaygateError('unavailable', `${why} now; ask again in a moment`, { retryAfterSeconds: 10 });

const noServer = (): PaygateError => comeBack('No Electrum server answers');
const refused = ({ server }: Session, { request }: ServerError): PaygateError =>
  comeBack(`The Electrum server ${server.label} refuses ${request ?? 'this request'}`);

const tooMuch = (message: string): PaygateError => new PaygateError('invalid', message);
