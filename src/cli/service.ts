// The service that runs paygate, where systemd does: asked for by name, restarted, and looked at until it
// answers as the version that it should be.

import type { World } from '../world.ts';
import { askHealth } from './ask-health.ts';
import { run } from './update-binary.ts';

/** A stop drains for up to 10 seconds; a start may update a large file. */
const systemctlTimeoutMs = 300_000;
const askEachMs = 1_000;
/** One answer may be the last before it ends. */
const answersWanted = 3;

const systemctl = (...args: readonly string[]) =>
  run('systemctl', [...args], { timeout: systemctlTimeoutMs });

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

export interface Expected {
  readonly host: string;
  readonly port: number;
  readonly version: string;
}

/** Waits until it has answered some times as that version. @returns why it did not; undefined when it did */
export async function faultOfStart(
  world: World,
  expected: Expected,
  withinMs: number,
): Promise<string | undefined> {
  const until = world.monotonic() + withinMs;
  let fault: string | undefined = 'it was not asked';
  let answers = 0;
  while (world.monotonic() < until) {
    fault = await faultNow(expected);
    answers = fault === undefined ? answers + 1 : 0;
    if (answers === answersWanted) return undefined;
    await new Promise<void>((resolve) => void world.after(askEachMs, resolve));
  }
  return fault ?? 'it does not keep answering';
}

async function faultNow({ host, port, version }: Expected): Promise<string | undefined> {
  const found = await askHealth({ host, port });
  if (found === undefined) return `nothing answers at ${host}:${port}`;
  return found.version === version
    ? undefined
    : `version ${found.version} answers at ${host}:${port}`;
}
