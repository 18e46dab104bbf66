// The circuit breaker: it limits requests to failing shops, so that a failing shop delays only its
// own callbacks. A host is down after several failures to connect; then one callback a minute goes
// there as a probe. A callback URL that hangs or answers badly gets one callback a second after as
// many failures. A URL gets its full share only after it received a single callback
// (docs/decisions/012). All of this is in memory; a restart forgets it.

import { portOf } from '../domain/delivery/callback-url-policy.ts';
import { minuteMs, secondMs } from '../lib/time-units.ts';

/** This many failures in a row open the circuit of a host, or of a callback URL. */
export const failuresToOpen = 5;
/** The time between two probes of a host that is down. */
export const hostProbeIntervalMs = minuteMs;
/** The time between two probes of a callback URL that does not receive. */
export const urlProbeIntervalMs = secondMs;

interface Circuit {
  /** In a row. */
  failures: number;
  /** The next probe may go out from then on, monotonic; 0 for now. */
  nextProbeAt: number;
  /** Monotonic; only hosts use it. */
  openedAt: number;
  readonly probeIntervalMs: number;
}

export type HostChange = 'down' | 'up' | undefined;

/** How many requests one claim may send to each callback URL. */
export interface ClaimQuota {
  /**
   * Returns how many of the wanted requests may go out. An open circuit allows a probe or none.
   * @param underWay the requests of the same store in flight
   */
  allow(callbackUrl: string, wanted: number, underWay: number): number;
  /** The claim was committed: its probes count. */
  commit(): void;
}

export class CircuitBreaker {
  /** By host and port: failures to connect. */
  readonly #hostCircuits = new Map<string, Circuit>();
  /** By callback URL: the host was reached, but did not receive the callback. */
  readonly #urlCircuits = new Map<string, Circuit>();
  /** Callback URLs that received their last callback. */
  readonly #healthyUrls = new Set<string>();

  /** A claim may roll back and run again, so its probes count only after `commit`. */
  quotaAt(monotonic: number): ClaimQuota {
    const probed = new Set<Circuit>();
    return {
      allow: (callbackUrl, wanted, underWay) => {
        const open = this.#openCircuits(callbackUrl);
        if (open.some((each) => monotonic < each.nextProbeAt || probed.has(each))) return 0;
        if (open.length === 0 && this.#healthyUrls.has(callbackUrl)) return wanted;
        const allowed = Math.min(wanted, Math.max(0, 1 - underWay));
        if (allowed > 0) for (const each of open) probed.add(each);
        return allowed;
      },
      commit() {
        for (const each of probed) each.nextProbeAt = monotonic + each.probeIntervalMs;
      },
    };
  }

  isBlocked(callbackUrl: string, monotonic: number): boolean {
    return this.#openCircuits(callbackUrl).some((each) => monotonic < each.nextProbeAt);
  }

  isDown(callbackUrl: string): boolean {
    return isOpen(this.#hostCircuit(callbackUrl));
  }

  /** How long the host has been down; undefined if it is not. */
  downForMs(callbackUrl: string, monotonic: number): number | undefined {
    const host = this.#hostCircuit(callbackUrl);
    return isOpen(host) ? monotonic - host.openedAt : undefined;
  }

  #openCircuits(callbackUrl: string): Circuit[] {
    return [this.#hostCircuit(callbackUrl), this.#urlCircuits.get(callbackUrl)].filter(isOpen);
  }

  /** Parses the URL only if some host has failed. */
  #hostCircuit(callbackUrl: string): Circuit | undefined {
    return this.#hostCircuits.size === 0 ? undefined : this.#hostCircuits.get(hostOf(callbackUrl));
  }

  /** Lets a probe to each open circuit go out now. */
  probeNow(): void {
    for (const circuit of this.#hostCircuits.values()) circuit.nextProbeAt = 0;
    for (const circuit of this.#urlCircuits.values()) circuit.nextProbeAt = 0;
  }

  /** An attempt failed before it reached the host. */
  hostFailed(callbackUrl: string, monotonic: number): HostChange {
    this.#healthyUrls.delete(callbackUrl);
    const host = countFailure(this.#hostCircuits, hostOf(callbackUrl), hostProbeIntervalMs);
    if (host.failures !== failuresToOpen) return undefined;
    host.nextProbeAt = monotonic + host.probeIntervalMs;
    host.openedAt = monotonic;
    return 'down';
  }

  /** An attempt reached the host. @param received whether the shop received the callback */
  hostReached(callbackUrl: string, received: boolean, monotonic: number): HostChange {
    const wasDown = this.isDown(callbackUrl);
    if (this.#hostCircuits.size > 0) this.#hostCircuits.delete(hostOf(callbackUrl));
    if (received) {
      this.#healthyUrls.add(callbackUrl);
      this.#urlCircuits.delete(callbackUrl);
    } else {
      this.#healthyUrls.delete(callbackUrl);
      const circuit = countFailure(this.#urlCircuits, callbackUrl, urlProbeIntervalMs);
      circuit.nextProbeAt = monotonic + circuit.probeIntervalMs;
    }
    return wasDown ? 'up' : undefined;
  }
}

const isOpen = (circuit: Circuit | undefined): circuit is Circuit =>
  circuit !== undefined && circuit.failures >= failuresToOpen;

function countFailure(circuits: Map<string, Circuit>, key: string, probeIntervalMs: number) {
  const circuit = circuits.get(key) ?? {
    failures: 0,
    nextProbeAt: 0,
    openedAt: 0,
    probeIntervalMs,
  };
  circuit.failures += 1;
  circuits.set(key, circuit);
  return circuit;
}

/** Host and port, without the secrets of the URL. */
export function hostOf(callbackUrl: string): string {
  const url = new URL(callbackUrl);
  return `${url.hostname}:${portOf(url)}`;
}
