// The service that runs paygate, where systemd does: asked for by name, restarted, and looked at until it
// answers as the version that it should be.

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type Config, readConfig } from '../config.ts';
import type { ListenAddress } from '../domain/public-endpoint.ts';
import type { World } from '../world/world.ts';
import { paths } from './install-plan.ts';
import { askHealth } from './local-health.ts';
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

/**
 * Our environment, and what it leaves out as the process that the unit runs was set.
 * @param otherwise where that was set by nothing, none runs, or nobody may look
 */
export async function environmentOf(
  unit: string,
  otherwise: NodeJS.ProcessEnv = process.env,
): Promise<NodeJS.ProcessEnv> {
  try {
    const { stdout } = await systemctl('show', '--property', 'MainPID', '--value', unit);
    const lines = readFileSync(`/proc/${Number(stdout)}/environ`, 'utf8').split('\0');
    const set = lines.flatMap((line) => {
      const [, name, value] = /^(PAYGATE_\w+)=(.*)$/s.exec(line) ?? [];
      return name === undefined ? [] : [[name, value]];
    });
    return set.length === 0 ? otherwise : { ...Object.fromEntries(set), ...process.env };
  } catch {
    return otherwise;
  }
}

/** How the installed paygate is set where our environment says nothing. @param listen in the place of what either says */
export async function configOfService(listen: string | undefined): Promise<Config> {
  const unit = basename(paths.unit);
  return readConfig(listen ? { listen: [listen] } : {}, await environmentOf(unit));
}

export interface Expected {
  /** Asked for each time: who does not run has none to tell of. */
  readonly doors: () => Promise<readonly ListenAddress[]>;
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

async function faultNow({ doors, version }: Expected): Promise<string | undefined> {
  const asked = await doors();
  const places = asked.map(({ host, port }) => `${host}:${port}`).join(', ');
  const found = await askHealth(asked);
  if (found === undefined) return `nothing answers at ${places}`;
  return found.version === version ? undefined : `version ${found.version} answers at ${places}`;
}
