// Hosts that can't be reached, so that their callbacks wait together instead of each finding out by
// itself: after some failures in a row to connect, a host is down, and one callback a minute goes there
// to see whether it is back. Kept in memory: a restart finds out anew. It counts only what never
// reached the host; a shop that hangs or answers badly is a matter of each callback's schedule.

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

  /** How many of the requests wanted may go to a host; takes the one of this minute when it is down. */
  allow(callbackUrl: string, wanted: number, monotonic: number): number {
    const host = this.#hosts.get(hostOf(callbackUrl));
    if (host === undefined || !isDown(host)) return wanted;
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
    host.failures += 1;
    if (host.failures !== failuresToOpen) return undefined;
    host.probeAt = monotonic + probeEveryMs;
    return 'down';
  }

  /** The host was reached, whatever it answered. */
  reached(callbackUrl: string): Change {
    const wasDown = this.isDown(callbackUrl);
    this.#hosts.delete(hostOf(callbackUrl));
    return wasDown ? 'up' : undefined;
  }
}

const isDown = ({ failures }: Host): boolean => failures >= failuresToOpen;

/** Host and port, as the log may show them. */
export function hostOf(callbackUrl: string): string {
  return `${new URL(callbackUrl).hostname}:${portOf(callbackUrl)}`;
}
