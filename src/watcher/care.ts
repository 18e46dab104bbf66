// When wallets are cared for: one care at a time, and what asks for it meanwhile gets one more; and when what was
// issued is watched (newcomers.ts). What the care is stands in wallets.ts.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { Session } from '../electrum/session.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Store } from '../store/open-store.ts';
import type { Cancel, World } from '../world/world.ts';
import { Newcomers, quietMs } from './newcomers.ts';
import type { Tasks } from './tasks.ts';
import type { Found, UsedParts } from './used.ts';
import { fillReserves, tendWallets } from './wallets.ts';

export interface CareParts extends UsedParts {
  readonly world: World;
  readonly store: Store;
  readonly tasks: Tasks;
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

export class Care {
  readonly #parts: CareParts;
  readonly #newcomers: Newcomers;
  readonly #watchedUntil = new Map<number, number>();
  readonly #scanned = new Map<number, Map<number, Found>>();
  #underWay = false;
  #again = false;
  #stopped = false;
  #fault: string | undefined;
  /** Of the care that comes a little later. */
  #cancel: Cancel | undefined;
  /** While it is there, a server has lately not answered what a scan needs: no other one is begun. */
  #cancelRetry: Cancel | undefined;

  constructor(parts: CareParts) {
    this.#parts = parts;
    const { world, tasks, watch } = parts;
    this.#newcomers = new Newcomers({ world, watch: (these) => tasks.run(() => watch(these)) });
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
      await tendWallets(parts, session);
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
