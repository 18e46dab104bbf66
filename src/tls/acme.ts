// Automatic certificates (`--domain`): the current certificate, when a new one is ordered, and the
// warning when that fails. A certificate is renewed in the last third of its life. Waits grow after
// each failure, because authorities block clients that fail often (Let's Encrypt: five an hour).

import { readFileSync } from 'node:fs';
import { errorCodeOf, networkErrorText } from '../domain/delivery/network-error.ts';
import type { AcmeOptions } from '../domain/delivery/public-endpoint.ts';
import { plainText } from '../domain/text/format.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { dayMs, minuteMs } from '../lib/time-units.ts';
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
/** The waits after the first, second, … failure. The last wait repeats. */
const retryWaitsMs = [1, 10, 60, 360].map((minutes) => minutes * minuteMs);
/** The least time between the attempts of two starts, for a service that restarts in a loop. */
const restartWaitMs = 15 * minuteMs;
/**
 * After a certificate that is due at once: by a clock that is ahead, any other one is so too. An
 * authority issues few of them a week.
 */
const dueAgainWaitMs = 2 * dayMs;
const maxReasonLength = 300;

export interface Acme extends CertificateSource {
  /** The answer for a token of the authority; undefined for an unknown token. */
  challenge(token: string): string | undefined;
}

/**
 * @param folder for keys and certificates
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
    if (isBusy || isStopped || !isDue() || !backoff.mayOrder()) return;
    isBusy = true;
    try {
      const fetched = await fetchCertificate();
      if (isStopped) return;
      [current, failure] = [fetched, undefined];
      backoff.succeeded(isDue() ? dueAgainWaitMs : 0);
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
    // The text of the authority, if it was reached.
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

/** When the next order may go out. */
function createBackoff({ monotonic }: World) {
  let failures = 0;
  let notBefore = monotonic();
  return {
    mayOrder: () => monotonic() >= notBefore,
    /** @param waitMs before the next order, in milliseconds */
    succeeded(waitMs: number): void {
      failures = 0;
      notBefore = monotonic() + waitMs;
    },
    /** @returns the wait until the next order, in milliseconds */
    failed(): number {
      const waitMs = retryWaitsMs[Math.min(failures, retryWaitsMs.length - 1)] ?? restartWaitMs;
      failures += 1;
      notBefore = monotonic() + waitMs;
      return waitMs;
    },
    /** @param sinceMs since the last attempt of an earlier start; negative if the clock was set */
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
