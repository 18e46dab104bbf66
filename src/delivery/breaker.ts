// How much may go to a host, by what it did last, so that a bad one holds up nobody. One that can't be
// reached makes its callbacks wait together, instead of each finding out by itself: after some failures
// in a row to connect it is down, and one callback a minute goes there to see. One whose last callback
// was not received (it hangs, or answers badly), or that nothing is known of, gets one request of a
// store at a time. Kept in memory: a restart finds out anew.

import { portOf } from '../domain/reach.ts';

/** Failures in a row after which a host is down. */
export const failuresToOpen = 5;
/** How often a host that is down is tried. */
export const probeEveryMs = 60_000;

interface Host {
  failures: number;
  /** From when on one more request may go there, monotonic; 0 while the host is not down. */
  probeAt: number;
}

export type Change = 'down' | 'up' | undefined;

export class Breaker {
  readonly #hosts = new Map<string, Host>();
  /** Hosts that received the last callback. */
  readonly #good = new Set<string>();

  /**
   * How many of the requests wanted may go to a host, where so many of the store are under way; takes
   * the one of this minute when it is down.
   */
  allow(callbackUrl: string, wanted: number, underWay: number, monotonic: number): number {
    const name = hostOf(callbackUrl);
    const host = this.#hosts.get(name);
    if (host === undefined || !isDown(host)) {
      return this.#good.has(name) ? wanted : Math.min(wanted, Math.max(0, 1 - underWay));
    }
    if (monotonic < host.probeAt) return 0;
    host.probeAt = monotonic + probeEveryMs;
    return Math.min(1, wanted);
  }

  isHeld(callbackUrl: string, monotonic: number): boolean {
    const host = this.#hosts.get(hostOf(callbackUrl));
    return host !== undefined && isDown(host) && monotonic < host.probeAt;
  }

  isDown(callbackUrl: string): boolean {
    const host = this.#hosts.get(hostOf(callbackUrl));
    return host !== undefined && isDown(host);
  }

  /** An attempt came to nothing before the host was reached. */
  failed(callbackUrl: string, monotonic: number): Change {
    const name = hostOf(callbackUrl);
    const host = this.#hosts.get(name) ?? { failures: 0, probeAt: 0 };
    this.#hosts.set(name, host);
    this.#good.delete(name);
    host.failures += 1;
    if (host.failures !== failuresToOpen) return undefined;
    host.probeAt = monotonic + probeEveryMs;
    return 'down';
  }

  /** The host was reached, and received the callback or did not. */
  reached(callbackUrl: string, received: boolean): Change {
    const name = hostOf(callbackUrl);
    const wasDown = this.isDown(callbackUrl);
    this.#hosts.delete(name);
    if (received) this.#good.add(name);
    else this.#good.delete(name);
    return wasDown ? 'up' : undefined;
  }
}

const isDown = ({ failures }: Host): boolean => failures >= failuresToOpen;

/** Host and port, as the log may show them. */
export function hostOf(callbackUrl: string): string {
  return `${new URL(callbackUrl).hostname}:${portOf(callbackUrl)}`;
}
