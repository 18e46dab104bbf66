// Derives addresses ahead of each wallet's counter and has them subscribed, so that issuing one
// finds it ready and watched. A wallet that issues much gets a longer look-ahead, derived in quiet
// times. Runs the maintenance of all wallets one at a time; wallet-scan.ts scans them.

import type { Scripthash } from '../../bitcoin/ids.ts';
import { deriveAddress } from '../../bitcoin/keychain.ts';
import { lookahead, lookaheadOf, maxAhead } from '../../domain/store/allocation.ts';
import type { Session } from '../../electrum/session.ts';
import type { BackgroundTasks } from '../../lib/background-tasks.ts';
import { reasonOf } from '../../lib/errors.ts';
import { nextTurn } from '../../lib/next-turn.ts';
import type { Records } from '../../store/open-records.ts';
import { external } from '../../store/wallets/address-row.ts';
import type { DerivedIndex } from '../../store/wallets/addresses.ts';
import type { Cancel, World } from '../../world/world.ts';
import type { CurrentSubscriptions } from '../address-subscriptions.ts';
import type { ServerChoice } from '../server-choice.ts';
import type { AddressUseParts } from './address-use.ts';
import {
  type IndexUse,
  recheckUsedIndexes,
  scanWallet,
  skipToFloor,
  type WalletParts,
} from './wallet-scan.ts';

/** Addresses stored in one commit. */
const maxDerivedAtOnce = 50;

/**
 * Skips and derives ahead; with a session, scans wallets that were not scanned yet.
 * @throws the first failure, after all other wallets
 */
async function maintainWallets(parts: WalletParts, session: Session | undefined): Promise<void> {
  // This comes first, because a scan may take long.
  for (const wallet of parts.records.catalog.wallets()) await skipToFloor(parts, wallet);
  const failures: unknown[] = [];
  for (const wallet of parts.records.catalog.wallets()) {
    if (parts.isStopped()) return;
    try {
      if (wallet.scannedAt === null && session !== undefined)
        await scanWallet(parts, session, wallet);
      await topUp(parts, wallet.id);
      if (session !== undefined) await recheckUsedIndexes(parts, session, wallet.id);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** @param goesOn whether it is still quiet: no shop asks for an address, and no other work waits */
async function extendLookaheads(parts: WalletParts, goesOn: () => boolean): Promise<void> {
  for (const { id } of parts.records.catalog.wallets()) await extendLookahead(parts, id, goesOn);
}

/**
 * The part that must always be there: no index is issued before a server was asked whether it is
 * used.
 */
async function topUp(parts: WalletParts, walletId: number): Promise<void> {
  const { records, subscriptions, watchedUntil } = parts;
  const { scannedAt, nextIndex } = records.catalog.wallet(walletId);
  if (scannedAt === null) return;
  const derivedUntil = records.addresses.derivedUntil(walletId);
  // Addresses that were there before are subscribed with the session.
  const from = watchedUntil.get(walletId) ?? Math.min(derivedUntil, nextIndex + maxAhead);
  if (derivedUntil < nextIndex + lookahead) {
    await deriveAhead(records, walletId, nextIndex + maxAhead);
  }
  const until = Math.min(nextIndex + maxAhead, records.addresses.derivedUntil(walletId));
  watchedUntil.set(walletId, until);
  // The subscription limit may have left some of them out until now.
  await subscriptions.add(records.addresses.ahead(walletId, from, until));
}

/** Extends the look-ahead of a wallet once half of it is used up. */
async function extendLookahead(
  { records, subscriptions }: WalletParts,
  walletId: number,
  goesOn: () => boolean,
): Promise<void> {
  const { catalog, addresses } = records;
  const { scannedAt, nextIndex } = catalog.wallet(walletId);
  const issued = nextIndex - addresses.countLeftOut(walletId);
  const length = lookaheadOf(issued, catalog.wallets().length);
  let until = addresses.derivedUntil(walletId);
  if (scannedAt === null || until >= nextIndex + length / 2) return;
  while (until < nextIndex + length && goesOn()) {
    const from = addresses.derivedUntil(walletId);
    until = Math.min(until + maxDerivedAtOnce, nextIndex + length);
    await deriveAhead(records, walletId, until, goesOn);
    await subscriptions.addLookahead(addresses.ahead(walletId, from, until));
  }
}

/**
 * Derives outside of any transaction, one index a turn of the event loop, and stores all in one
 * commit. Ends early when requests have derived what they need themselves.
 */
async function deriveAhead(
  { addresses, catalog, database }: Records,
  walletId: number,
  until: number,
  goesOn: () => boolean = () => true,
): Promise<void> {
  const key = catalog.walletKey(walletId);
  const derived: DerivedIndex[] = [];
  const from = addresses.derivedUntil(walletId);
  const isWanted = () => goesOn() && addresses.derivedUntil(walletId) === from;
  for (let index = from; index < until && isWanted(); index += 1) {
    const found = deriveAddress(key, external, index);
    if (found !== undefined) derived.push({ ...found, index });
    await nextTurn();
  }
  await database.write((tx) => addresses.keepAhead(tx, walletId, derived));
}

export interface WalletMaintenanceParts extends AddressUseParts {
  readonly world: World;
  readonly records: Records;
  readonly tasks: BackgroundTasks;
  readonly servers: ServerChoice;
  readonly subscriptions: CurrentSubscriptions;
}

/** When a scan begins again after a server did not answer. */
const retryMs = 60_000;

export class WalletMaintenance {
  readonly #parts: WalletMaintenanceParts;
  readonly #newAddresses: NewAddresses;
  readonly #watchedUntil = new Map<number, number>();
  readonly #scanned = new Map<number, Map<number, IndexUse>>();
  #isUnderWay = false;
  #isAgainDue = false;
  #isStopped = false;
  #fault: string | undefined;
  /** Cancels the maintenance that comes a little later. */
  #cancel: Cancel | undefined;
  /** Set after a failure: until then, no scan begins. */
  #cancelRetry: Cancel | undefined;

  constructor(parts: WalletMaintenanceParts) {
    this.#parts = parts;
    const { world, tasks, subscriptions } = parts;
    this.#newAddresses = new NewAddresses({
      world,
      subscribe: (these) => tasks.run(() => subscriptions.add(these)),
    });
  }

  /** Maintenance comes a little later: a shop that asks for many addresses is answered first. */
  issued(scripthash: Scripthash): void {
    this.#newAddresses.add(scripthash);
    this.#later();
  }

  /** Why the last maintenance failed; undefined when it succeeded. */
  fault(): string | undefined {
    return this.#fault;
  }

  #later(): void {
    this.#cancel ??= this.#parts.world.after(quietMs, () => this.#begin());
  }

  stop(): void {
    this.#isStopped = true;
    this.#newAddresses.stop();
    this.#cancel?.();
    this.#cancelRetry?.();
  }

  now(): void {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#begin();
  }

  #begin(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isAgainDue = true;
    if (this.#isUnderWay || this.#isStopped) return;
    this.#isUnderWay = true;
    this.#parts.tasks.run(async () => {
      try {
        while (this.#isAgainDue) {
          this.#isAgainDue = false;
          await this.#once();
        }
      } finally {
        this.#isUnderWay = false;
      }
    });
  }

  async #once(): Promise<void> {
    const { servers } = this.#parts;
    const session = this.#cancelRetry === undefined ? servers.caughtUp : undefined;
    const isStopped = () => this.#isStopped;
    const isQuiet = () => this.#newAddresses.isQuiet();
    const state = { watchedUntil: this.#watchedUntil, scanned: this.#scanned };
    const parts = { ...this.#parts, ...state, isStopped };
    await this.#orRetry(async () => {
      await maintainWallets(parts, session);
      if (session !== undefined) this.#fault = undefined;
    });
    if (!isQuiet()) this.#later();
    const goesOn = () =>
      isQuiet() && !servers.isComparingWithOwn && !this.#isAgainDue && !isStopped();
    await this.#orRetry(() => extendLookaheads(parts, goesOn));
  }

  async #orRetry(work: () => Promise<void>): Promise<void> {
    const { world } = this.#parts;
    try {
      await work();
    } catch (error) {
      this.#fault = reasonOf(error);
      world.log.warn('wallet maintenance failed', { reason: this.#fault });
      this.#cancelRetry ??= world.after(retryMs, () => this.now());
    }
  }
}

export interface NewAddressesParts {
  readonly world: World;
  readonly subscribe: (scripthashes: readonly Scripthash[]) => void;
}

/** So many addresses in a row are subscribed at once. */
const maxAtOnce = 50;

/** It is quiet when no shop has asked for so long. */
const quietMs = 100;

/** No address is subscribed later, however many are issued. */
const maxWaitMs = 1_000;

/**
 * When issued addresses are subscribed: at once, or after a long row of requests. A payment that is
 * faster than its subscription comes with the answer.
 */
export class NewAddresses {
  readonly #parts: NewAddressesParts;
  #waiting: Scripthash[] = [];
  /** When the first of those that wait was issued, monotonic. */
  #firstAt = 0;
  /** When the last address was issued, or the start; monotonic. */
  #lastAt: number;
  #inRow = 0;
  #cancel: Cancel = () => {};

  constructor(parts: NewAddressesParts) {
    this.#parts = parts;
    this.#lastAt = parts.world.monotonic();
  }

  isQuiet(): boolean {
    return this.#parts.world.monotonic() - this.#lastAt >= quietMs;
  }

  add(scripthash: Scripthash): void {
    this.#inRow = this.isQuiet() ? 1 : this.#inRow + 1;
    this.#lastAt = this.#parts.world.monotonic();
    if (this.#waiting.length > 0) this.#waiting.push(scripthash);
    else if (this.#inRow > maxAtOnce) this.#delay(scripthash);
    else this.#parts.subscribe([scripthash]);
  }

  stop(): void {
    this.#cancel();
  }

  #delay(first: Scripthash): void {
    this.#firstAt = this.#lastAt;
    this.#waiting = [first];
    this.#later();
  }

  #later(): void {
    this.#cancel = this.#parts.world.after(quietMs, () => this.#subscribeIfQuiet());
  }

  #subscribeIfQuiet(): void {
    const waitedMs = this.#parts.world.monotonic() - this.#firstAt;
    if (!this.isQuiet() && waitedMs < maxWaitMs) {
      this.#later();
      return;
    }
    const issued = this.#waiting;
    this.#waiting = [];
    this.#parts.subscribe(issued);
  }
}
