// The systemd service of paygate: whether it exists, its configuration, its restart, and whether it
// then answers with the expected version.

import { type Config, readConfig } from '../../config.ts';
import type { ListenAddress } from '../../domain/delivery/public-endpoint.ts';
import type { World } from '../../world/world.ts';
import { fetchHealth } from '../service/local-health.ts';
import { serviceEnvironment, systemctl } from './service-environment.ts';

const pollMs = 1_000;
/** One answer may be the last before a crash. */
const minAnswers = 3;

/** Whether systemd runs here and knows the unit. */
export async function hasUnit(unit: string): Promise<boolean> {
  try {
    await systemctl('cat', unit);
    return true;
  } catch {
    return false;
  }
}

export const restart = (unit: string): Promise<unknown> => systemctl('restart', unit);
export const stop = (unit: string): Promise<unknown> => systemctl('stop', unit);

/**
 * The configuration of our environment, completed from the installed service.
 * @param listen replaces the address of both
 */
export async function configOfService(listen: string | undefined): Promise<Config> {
  return readConfig(listen ? { listen: [listen] } : {}, await serviceEnvironment());
}

export interface ExpectedServer {
  /** Read before each request: only a running process has an environment. */
  readonly addresses: () => Promise<readonly ListenAddress[]>;
  readonly version: string;
}

/**
 * Waits until the service has answered several times with that version.
 * @returns why it did not, undefined if it did
 */
export async function startFault(
  world: World,
  expected: ExpectedServer,
  withinMs: number,
): Promise<string | undefined> {
  const until = world.monotonic() + withinMs;
  let fault: string | undefined = 'no request was made';
  let answers = 0;
  while (world.monotonic() < until) {
    fault = await currentFault(expected);
    answers = fault === undefined ? answers + 1 : 0;
    if (answers === minAnswers) return undefined;
    await new Promise<void>((resolve) => void world.after(pollMs, resolve));
  }
  return fault ?? 'it stops answering';
}

async function currentFault(expected: ExpectedServer): Promise<string | undefined> {
  const addresses = await expected.addresses();
  const text = addresses.map(({ host, port }) => `${host}:${port}`).join(', ');
  const report = await fetchHealth(addresses);
  if (report === undefined) return `nothing answers at ${text}`;
  if (report.version === expected.version) return undefined;
  return `version ${report.version} answers at ${text}`;
}
