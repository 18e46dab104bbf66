// Certificates that an authority gives by itself (`--domain`): the one in use, when another is fetched, and
// what is told when that fails. A third of its life before the end a certificate is renewed; after a failure
// the waits grow, for authorities shut out whoever fails too often (five an hour at Let's Encrypt).

import { readFileSync } from 'node:fs';
import { plainText } from '../domain/format.ts';
import { errorCodeOf, networkErrorText } from '../domain/network-error.ts';
import type { AcmeOptions } from '../domain/public-endpoint.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { minuteMs } from '../lib/time-units.ts';
import type { Cancel, World } from '../world/world.ts';
import { orderCertificate } from './acme-order.ts';
import { openAcmeState } from './acme-state.ts';
import {
  type Certificate,
  type CertificateSource,
  dayOf,
  expiryWarnings,
  readCertificate,
} from './certificate.ts';

const everyMinute = '0 * * * * *';
/** The last one again and again. */
const retryWaitsMs = [1, 10, 60, 360].map((minutes) => minutes * minuteMs);
/** Between two starts, for a service that is started again and again. */
const restartWaitMs = 15 * minuteMs;
const maxReasonLength = 300;

export interface Acme extends CertificateSource {
  /** The answer for a token of the authority; undefined for one that nobody asked for. */
  challenge(token: string): string | undefined;
}

/**
 * @param folder where keys and certificates are kept
 * @throws PaygateError invalid
 */
export function createAcme(options: AcmeOptions, folder: string, world: World): Acme {
  const state = openAcmeState(folder, options);
  const ca = options.ca === undefined ? undefined : readCa(options.ca);
  const answers = new Map<string, string>();
  let current = state.certificate(world.now());
  const backoff = createBackoff(world);
  let failure: string | undefined;
  let isBusy = false;
  let isStopped = false;
  let cancel: Cancel = () => {};

  const isDue = (): boolean =>
    current === undefined || current.until - world.now() < (current.until - current.from) / 3;

  async function renewIfDue(onChange: (certificate: Certificate) => void): Promise<void> {
    if (isBusy || isStopped || !isDue() || !backoff.mayAsk()) return;
    isBusy = true;
    try {
      const fetched = await fetchCertificate();
      if (isStopped) return;
      [current, failure] = [fetched, undefined];
      backoff.succeeded();
      onChange(fetched);
      const until = dayOf(fetched.until);
      world.log.info('a new certificate is in use', { domain: options.domain, until });
      state.saveCertificate(fetched);
    } catch (error) {
      if (!isStopped) noteFailure(error);
    } finally {
      isBusy = false;
    }
  }

  async function fetchCertificate(): Promise<Certificate> {
    state.recordAttempt(world.now());
    const { cert, key } = await orderCertificate(
      {
        ...options,
        ca,
        accountKey: state.accountKey,
        offer: (token, answer) => void answers.set(token, answer),
        withdraw: (token) => void answers.delete(token),
      },
      world,
    );
    return readCertificate(cert, key, world.now());
  }

  function noteFailure(error: unknown): void {
    const waitMs = backoff.failed();
    const fault = networkErrorText(errorCodeOf(error), true);
    // In the authority's own words, where it was reached.
    failure = plainText(fault ?? reasonOf(error), maxReasonLength);
    world.log.error('no certificate from the authority', {
      domain: options.domain,
      reason: failure,
      nextTryInMinutes: waitMs / minuteMs,
    });
  }

  return {
    current: () => current,
    challenge: (token) => answers.get(token),
    warnings() {
      const lacking = 'there is no HTTPS certificate yet';
      return [
        ...(current === undefined ? [lacking] : expiryWarnings(current, world.now())),
        ...(failure === undefined
          ? []
          : [`no certificate for ${options.domain} from the authority: ${failure}`]),
      ];
    },
    start(onChange) {
      backoff.startedAfter(world.now() - state.lastAttemptAt());
      cancel = world.schedule(everyMinute, () => void renewIfDue(onChange));
      void renewIfDue(onChange);
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}

/** When the authority may be asked again. */
function createBackoff({ monotonic }: World) {
  let failures = 0;
  let notBefore = monotonic();
  return {
    mayAsk: () => monotonic() >= notBefore,
    succeeded() {
      failures = 0;
    },
    /** @returns how long it is left alone, in milliseconds */
    failed(): number {
      const waitMs = retryWaitsMs[Math.min(failures, retryWaitsMs.length - 1)] ?? restartWaitMs;
      failures += 1;
      notBefore = monotonic() + waitMs;
      return waitMs;
    },
    /** @param sinceMs since the last try of an earlier start; nonsense where the clock was set */
    startedAfter(sinceMs: number): void {
      if (sinceMs >= 0) notBefore = monotonic() + Math.max(0, restartWaitMs - sinceMs);
    },
  };
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new PaygateError(
      'invalid',
      `--acme-ca: ${path}: ${(error as NodeJS.ErrnoException).code}`,
    );
  }
}
