// When wallets are cared for: one care at a time, and what asks for it meanwhile gets one more; and when what was
// issued is watched. The addresses are derived ahead so that issuing one finds it ready and watched, and, where a wallet issues
// much, a reserve behind them that is derived in quiet times.

import type { Scripthash } from '../bitcoin/ids.ts';
import { deriveAddress } from '../bitcoin/keychain.ts';
import { furthestAhead, lookahead, reserveOf } from '../domain/allocation.ts';
import type { Session } from '../electrum/session.ts';
import type { BackgroundTasks } from '../lib/background-tasks.ts';
import { reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { Store } from '../store/open-store.ts';
import { external } from '../store/records/address-statements.ts';
import type { DerivedIndex } from '../store/records/addresses.ts';
import type { Cancel, World } from '../world/world.ts';
import {
  type AddressUseParts,
  type IndexUse,
  recheckUsedIndexes,
  scanWallet,
  skipToFloor,
  type WalletParts,
} from './wallet-scan.ts';

/** Addresses kept in one commit. */
const maxDerivedAtOnce = 50;

/**
 * Skips and derives ahead, and scans what was not scanned yet (only with a session).
 * @throws what the scan of a wallet failed with, once the others were cared for
 */
export async function maintainWallets(
  parts: WalletParts,
  session: Session | undefined,
): Promise<void> {
  // First, for a scan may take long.
  for (const wallet of parts.store.catalog.wallets()) await skipToFloor(parts, wallet);
  const failures: unknown[] = [];
  for (const wallet of parts.store.catalog.wallets()) {
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

/** @param goesOn whether it is still quiet: nobody asks for an address, and nothing else is to be done */
export async function fillReserves(parts: WalletParts, goesOn: () => boolean): Promise<void> {
  for (const { id } of parts.store.catalog.wallets()) await fillReserve(parts, id, goesOn);
}

/** What must be there whoever asks: no index is to be handed out of which no server was asked whether it was used. */
async function topUp(parts: WalletParts, walletId: number): Promise<void> {
  const { store, watch, watchedUntil } = parts;
  const { scannedAt, nextIndex } = store.catalog.wallet(walletId);
  if (scannedAt === null) return;
  const derivedUntil = store.addresses.derivedUntil(walletId);
  // What was there before us is subscribed with the session.
  const from = watchedUntil.get(walletId) ?? Math.min(derivedUntil, nextIndex + furthestAhead);
  if (derivedUntil < nextIndex + lookahead) {
    await deriveAhead(store, walletId, nextIndex + furthestAhead);
  }
  const until = Math.min(nextIndex + furthestAhead, store.addresses.derivedUntil(walletId));
  watchedUntil.set(walletId, until);
  // Of what lay in reserve as well, for which there may have been no room.
  await watch(store.addresses.ahead(walletId, from, until));
}

/** Once half of it is used up. */
async function fillReserve(
  { store, watchReserve }: WalletParts,
  walletId: number,
  goesOn: () => boolean,
): Promise<void> {
  const { catalog, addresses } = store;
  const { scannedAt, nextIndex } = catalog.wallet(walletId);
  const givenOut = nextIndex - addresses.countLeftOut(walletId);
  const reserve = reserveOf(givenOut, catalog.wallets().length);
  let until = addresses.derivedUntil(walletId);
  if (scannedAt === null || until >= nextIndex + reserve / 2) return;
  while (until < nextIndex + reserve && goesOn()) {
    const from = addresses.derivedUntil(walletId);
    until = Math.min(until + maxDerivedAtOnce, nextIndex + reserve);
    await deriveAhead(store, walletId, until, goesOn);
    await watchReserve(addresses.ahead(walletId, from, until));
  }
}

/**
 * Derives outside of any transaction, one a turn of the event loop, and keeps all of it in one commit. Ends where
 * requests were faster in deriving what they need.
 */
async function deriveAhead(
  { addresses, catalog, database }: Store,
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
  readonly store: Store;
  readonly tasks: BackgroundTasks;
  /** One that every address has been compared with. */
  readonly session: () => Session | undefined;
  /** Whether addresses are being compared with a server of one's own, as fast as both can; `now` is called when that is over. */
  readonly isComparing: () => boolean;
  /** Has new addresses subscribed. */
  readonly watch: (scripthashes: readonly Scripthash[]) => Promise<void>;
  /** The same of what lies in reserve: behind everything else, and where there is room. */
  readonly watchReserve: (scripthashes: readonly Scripthash[]) => Promise<void>;
  /** A server refuses what a scan needs, or does not answer it. */
  readonly onRefusal: (session: Session, reason: string) => void;
}

/** When a scan is begun again that a server did not answer. */
const retryMs = 60_000;

export class WalletMaintenance {
  readonly #parts: WalletMaintenanceParts;
  readonly #newcomers: NewAddresses;
  readonly #watchedUntil = new Map<number, number>();
  readonly #scanned = new Map<number, Map<number, IndexUse>>();
  #underWay = false;
  #again = false;
  #stopped = false;
  #fault: string | undefined;
  /** Of the care that comes a little later. */
  #cancel: Cancel | undefined;
  /** While it is there, a server has lately not answered what a scan needs: no other one is begun. */
  #cancelRetry: Cancel | undefined;

  constructor(parts: WalletMaintenanceParts) {
    this.#parts = parts;
    const { world, tasks, watch } = parts;
    this.#newcomers = new NewAddresses({
      world,
      subscribe: (these) => tasks.run(() => watch(these)),
    });
  }

  /** A little later: a shop that asks for many addresses in a row is answered first. */
  issued(scripthash: Scripthash): void {
    this.#newcomers.add(scripthash);
    this.#later();
  }

  /** Why wallets could not be tended at the last try; undefined when they could. */
  fault(): string | undefined {
    return this.#fault;
  }

  #later(): void {
    this.#cancel ??= this.#parts.world.after(quietMs, () => this.#begin());
  }

  stop(): void {
    this.#stopped = true;
    this.#newcomers.stop();
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
    this.#again = true;
    if (this.#underWay || this.#stopped) return;
    this.#underWay = true;
    this.#parts.tasks.run(async () => {
      try {
        while (this.#again) {
          this.#again = false;
          await this.#once();
        }
      } finally {
        this.#underWay = false;
      }
    });
  }

  async #once(): Promise<void> {
    const session = this.#cancelRetry === undefined ? this.#parts.session() : undefined;
    const isStopped = () => this.#stopped;
    const isQuiet = () => this.#newcomers.isQuiet();
    const kept = { watchedUntil: this.#watchedUntil, scanned: this.#scanned };
    const parts = { ...this.#parts, ...kept, isStopped };
    await this.#orAgain(async () => {
      await maintainWallets(parts, session);
      if (session !== undefined) this.#fault = undefined;
    });
    if (!isQuiet()) this.#later();
    const { isComparing } = this.#parts;
    const goesOn = () => isQuiet() && !isComparing() && !this.#again && !isStopped();
    await this.#orAgain(() => fillReserves(parts, goesOn));
  }

  async #orAgain(work: () => Promise<void>): Promise<void> {
    const { world } = this.#parts;
    try {
      await work();
    } catch (error) {
      this.#fault = reasonOf(error);
      world.log.warn('wallets could not be tended', { reason: this.#fault });
      this.#cancelRetry ??= world.after(retryMs, () => this.now());
    }
  }
}

export interface NewAddressesParts {
  readonly world: World;
  readonly subscribe: (scripthashes: readonly Scripthash[]) => void;
}

/** Of a row, so many are watched at once. */
const maxAtOnce = 50;

/** It is quiet when nobody has asked for so long. */
export const quietMs = 100;

/** However many are asked for, none is watched later. */
const maxWaitMs = 1_000;

export class NewAddresses {
  readonly #parts: NewAddressesParts;
  #waiting: Scripthash[] = [];
  /** Of what waits, by the monotonic clock. */
  #firstAt = 0;
  /** When somebody asked for an address, or else the start. */
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
    else if (this.#inRow > maxAtOnce) this.#gather(scripthash);
    else this.#parts.subscribe([scripthash]);
  }

  stop(): void {
    this.#cancel();
  }

  #gather(first: Scripthash): void {
    this.#firstAt = this.#lastAt;
    this.#waiting = [first];
    this.#later();
  }

  #later(): void {
    this.#cancel = this.#parts.world.after(quietMs, () => this.#look());
  }

  #look(): void {
    const waitedMs = this.#parts.world.monotonic() - this.#firstAt;
    if (!this.isQuiet() && waitedMs < maxWaitMs) {
      this.#later();
      return;
    }
    const watched = this.#waiting;
    this.#waiting = [];
    this.#parts.subscribe(watched);
  }
}
