// How much may go where, by what came of it last, so that a bad shop holds up nobody. A host that can't be
// reached makes its callbacks wait together, instead of each finding out by itself: after some failures
// in a row to connect it is down, and one callback a minute goes there to see. A callback URL that was
// reached and did not receive the last callbacks (it hangs, or answers badly) gets one a second after as
// many; two at a time are for one that received the last one alone. Kept in memory: a restart finds out
// anew.

import { portOf } from '../domain/callback-url-policy.ts';

/** Failures in a row after which a host, or a callback URL, is held back. */
export const failuresToOpen = 5;
/** How often a host that is down is tried. */
export const probeEveryMs = 60_000;
/** How often a callback URL that receives nothing is tried. */
export const slowEveryMs = 1_000;

/** Failures in a row. */
interface Course {
  failures: number;
  /** From when on one more request may go out, monotonic; 0 for at once. */
  nextAt: number;
  /** Since when a host is down, monotonic. */
  since: number;
  /** How often one goes there all the same, once there are too many. */
  readonly everyMs: number;
}

export type Change = 'down' | 'up' | undefined;

export interface Turns {
  /**
   * How many of the requests wanted may go to a callback URL, where so many of the store are under way;
   * of one that is held back, the one of this minute or second.
   */
  allow(callbackUrl: string, wanted: number, underWay: number): number;
  take(): void;
}

export class Breaker {
  /** By host and port: failures to connect. */
  readonly #hosts = new Map<string, Course>();
  /** By callback URL: callbacks that were not received though the host was reached. */
  readonly #urls = new Map<string, Course>();
  /** Callback URLs that received the last callback. */
  readonly #good = new Set<string>();

  /** Those of a claim. It may be undone and made again: they are taken once it is in the file. */
  turns(monotonic: number): Turns {
    const taken = new Set<Course>();
    return {
      allow: (callbackUrl, wanted, underWay) => {
        const open = this.#open(callbackUrl);
        if (open.some((each) => monotonic < each.nextAt || taken.has(each))) return 0;
        if (open.length === 0 && this.#good.has(callbackUrl)) return wanted;
        const room = Math.min(wanted, Math.max(0, 1 - underWay));
        if (room > 0) for (const each of open) taken.add(each);
        return room;
      },
      take() {
        for (const each of taken) each.nextAt = monotonic + each.everyMs;
      },
    };
  }

  isHeld(callbackUrl: string, monotonic: number): boolean {
    return this.#open(callbackUrl).some((each) => monotonic < each.nextAt);
  }

  isDown(callbackUrl: string): boolean {
    return isOpen(this.#host(callbackUrl));
  }

  /** For how long the host has been down; undefined where it is not. */
  downForMs(callbackUrl: string, monotonic: number): number | undefined {
    const host = this.#host(callbackUrl);
    return isOpen(host) ? monotonic - host.since : undefined;
  }

  /** What holds it back. */
  #open(callbackUrl: string): Course[] {
    return [this.#host(callbackUrl), this.#urls.get(callbackUrl)].filter(isOpen);
  }

  /** Undefined for one that was reached the last time; mostly all were, and then no URL is read. */
  #host(callbackUrl: string): Course | undefined {
    return this.#hosts.size === 0 ? undefined : this.#hosts.get(hostOf(callbackUrl));
  }

  /** Whatever is held back has a request now, and not only when its time has come. */
  retry(): void {
    for (const course of [...this.#hosts.values(), ...this.#urls.values()]) course.nextAt = 0;
  }

  /** An attempt came to nothing before the host was reached. */
  failed(callbackUrl: string, monotonic: number): Change {
    this.#good.delete(callbackUrl);
    const host = oneMore(this.#hosts, hostOf(callbackUrl), probeEveryMs);
    if (host.failures !== failuresToOpen) return undefined;
    host.nextAt = monotonic + host.everyMs;
    host.since = monotonic;
    return 'down';
  }

  /** The host was reached, and received the callback or did not. */
  reached(callbackUrl: string, received: boolean, monotonic: number): Change {
    const wasDown = this.isDown(callbackUrl);
    if (this.#hosts.size > 0) this.#hosts.delete(hostOf(callbackUrl));
    if (received) {
      this.#good.add(callbackUrl);
      this.#urls.delete(callbackUrl);
    } else {
      this.#good.delete(callbackUrl);
      oneMore(this.#urls, callbackUrl, slowEveryMs).nextAt = monotonic + slowEveryMs;
    }
    return wasDown ? 'up' : undefined;
  }
}

const isOpen = (course: Course | undefined): course is Course =>
  course !== undefined && course.failures >= failuresToOpen;

function oneMore(courses: Map<string, Course>, name: string, everyMs: number): Course {
  const course = courses.get(name) ?? { failures: 0, nextAt: 0, since: 0, everyMs };
  course.failures += 1;
  courses.set(name, course);
  return course;
}

/** Host and port, as the log may show them. */
export function hostOf(callbackUrl: string): string {
  const url = new URL(callbackUrl);
  return `${url.hostname}:${portOf(url)}`;
}
