// How much may go where, by what came of it last, so that a bad shop holds up nobody. A host that can't be
// reached makes its callbacks wait together, instead of each finding out by itself: after some failures
// in a row to connect it is down, and one callback a minute goes there to see. A callback URL that was
// reached and did not receive the last callbacks (it hangs, or answers badly) gets one a second after as
// many; two at a time are for one that received the last one alone. Kept in memory: a restart finds out
// anew.

import { portOf } from '../domain/callback-url-policy.ts';

/** Failures in a row after which a host, or a callback URL, is held back. */
export const minFailuresToOpen = 5;
/** How often a host that is down is tried. */
export const hostProbeIntervalMs = 60_000;
/** How often a callback URL that receives nothing is tried. */
export const urlProbeIntervalMs = 1_000;

/** Failures in a row. */
interface Circuit {
  failures: number;
  /** From when on one more request may go out, monotonic; 0 for at once. */
  nextProbeAt: number;
  /** Since when a host is down, monotonic. */
  openedAt: number;
  /** How often one goes there all the same, once there are too many. */
  readonly probeIntervalMs: number;
}

export type HostChange = 'down' | 'up' | undefined;

export interface ClaimQuota {
  /**
   * How many of the requests wanted may go to a callback URL, where so many of the store are under way;
   * of one that is held back, the one of this minute or second.
   */
  allow(callbackUrl: string, wanted: number, underWay: number): number;
  commit(): void;
}

export class CircuitBreaker {
  /** By host and port: failures to connect. */
  readonly #hostCircuits = new Map<string, Circuit>();
  /** By callback URL: callbacks that were not received though the host was reached. */
  readonly #urlCircuits = new Map<string, Circuit>();
  /** Callback URLs that received the last callback. */
  readonly #healthyUrls = new Set<string>();

  /** Those of a claim. It may be undone and made again: they are taken once it is in the file. */
  quotaAt(monotonic: number): ClaimQuota {
    const taken = new Set<Circuit>();
    return {
      allow: (callbackUrl, wanted, underWay) => {
        const open = this.#openCircuits(callbackUrl);
        if (open.some((each) => monotonic < each.nextProbeAt || taken.has(each))) return 0;
        if (open.length === 0 && this.#healthyUrls.has(callbackUrl)) return wanted;
        const room = Math.min(wanted, Math.max(0, 1 - underWay));
        if (room > 0) for (const each of open) taken.add(each);
        return room;
      },
      commit() {
        for (const each of taken) each.nextProbeAt = monotonic + each.probeIntervalMs;
      },
    };
  }

  isBlocked(callbackUrl: string, monotonic: number): boolean {
    return this.#openCircuits(callbackUrl).some((each) => monotonic < each.nextProbeAt);
  }

  isDown(callbackUrl: string): boolean {
    return isOpen(this.#hostCircuit(callbackUrl));
  }

  /** For how long the host has been down; undefined where it is not. */
  downForMs(callbackUrl: string, monotonic: number): number | undefined {
    const host = this.#hostCircuit(callbackUrl);
    return isOpen(host) ? monotonic - host.openedAt : undefined;
  }

  /** What holds it back. */
  #openCircuits(callbackUrl: string): Circuit[] {
    return [this.#hostCircuit(callbackUrl), this.#urlCircuits.get(callbackUrl)].filter(isOpen);
  }

  /** Undefined for one that was reached the last time; mostly all were, and then no URL is read. */
  #hostCircuit(callbackUrl: string): Circuit | undefined {
    return this.#hostCircuits.size === 0 ? undefined : this.#hostCircuits.get(hostOf(callbackUrl));
  }

  /** Whatever is held back has a request now, and not only when its time has come. */
  probeNow(): void {
    for (const course of [...this.#hostCircuits.values(), ...this.#urlCircuits.values()])
      course.nextProbeAt = 0;
  }

  /** An attempt came to nothing before the host was reached. */
  hostFailed(callbackUrl: string, monotonic: number): HostChange {
    this.#healthyUrls.delete(callbackUrl);
    const host = countFailure(this.#hostCircuits, hostOf(callbackUrl), hostProbeIntervalMs);
    if (host.failures !== minFailuresToOpen) return undefined;
    host.nextProbeAt = monotonic + host.probeIntervalMs;
    host.openedAt = monotonic;
    return 'down';
  }

  /** The host was reached, and received the callback or did not. */
  hostReached(callbackUrl: string, received: boolean, monotonic: number): HostChange {
    const wasDown = this.isDown(callbackUrl);
    if (this.#hostCircuits.size > 0) this.#hostCircuits.delete(hostOf(callbackUrl));
    if (received) {
      this.#healthyUrls.add(callbackUrl);
      this.#urlCircuits.delete(callbackUrl);
    } else {
      this.#healthyUrls.delete(callbackUrl);
      countFailure(this.#urlCircuits, callbackUrl, urlProbeIntervalMs).nextProbeAt =
        monotonic + urlProbeIntervalMs;
    }
    return wasDown ? 'up' : undefined;
  }
}

const isOpen = (course: Circuit | undefined): course is Circuit =>
  course !== undefined && course.failures >= minFailuresToOpen;

function countFailure(courses: Map<string, Circuit>, name: string, everyMs: number): Circuit {
  const course = courses.get(name) ?? {
    failures: 0,
    nextProbeAt: 0,
    openedAt: 0,
    probeIntervalMs: everyMs,
  };
  course.failures += 1;
  courses.set(name, course);
  return course;
}

/** Host and port, as the log may show them. */
export function hostOf(callbackUrl: string): string {
  const url = new URL(callbackUrl);
  return `${url.hostname}:${portOf(url)}`;
}
