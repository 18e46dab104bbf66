// Runs first. It answers `--version` and a plain `health` itself, because service managers run them
// often. It loads the program with its commands for all else.

import { PaygateError } from '../lib/errors.ts';
import { version } from '../lib/version.ts';
import { printFailure } from './failure.ts';
import { prepareProcess } from './process-setup.ts';
import type { Commands } from './program.ts';
import type { HealthOptions } from './service/health-report.ts';

export async function launch(commands: Commands): Promise<void> {
  const args = process.argv.slice(2);
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
    prepareProcess((error) => printFailure(error, false));
    process.stdout.write(`${version}\n`);
    return;
  }
  const health = plainHealth(args, process.env);
  if (health !== undefined && (await answersHealth(health))) return;
  const { runProgram } = await import('./program.ts');
  await runProgram(commands);
}

/** @returns false for an address that is none: the program says what is wrong */
async function answersHealth(options: HealthOptions): Promise<boolean> {
  const { printHealth } = await import('./service/health-report.ts');
  const fail = (error: unknown) => printFailure(error, options.json === true);
  prepareProcess(fail);
  try {
    await printHealth(options);
  } catch (error) {
    if (error instanceof PaygateError && error.code === 'invalid') return false;
    fail(error);
  }
  return true;
}

/**
 * The options of `health`; undefined for any other command line. Also undefined where an argument
 * or a variable may hold a private key: the program refuses those.
 */
function plainHealth(
  [name, ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
): HealthOptions | undefined {
  if (name !== 'health') return undefined;
  const set = Object.entries(env).map(([key, value]) => (key.startsWith('PAYGATE_') ? value : ''));
  if ([...args, ...set].some((text = '') => maybePrivate.test(text))) return undefined;
  const options: { listen?: string; strict?: boolean; json?: boolean } = {};
  for (const left = [...args]; left.length > 0; ) {
    const [, flag, value] = /^(--\w+)(?:=(.*))?$/s.exec(left.shift() ?? '') ?? [];
    if (flag === '--listen') options.listen = value ?? left.shift() ?? '';
    else if (flag === '--strict' && value === undefined) options.strict = true;
    else if (flag === '--json' && value === undefined) options.json = true;
    else return undefined;
  }
  return options;
}

/** A key in any form is a long word; recovery words are many. */
const maybePrivate = /\w{40}|(\S+\s+){11}\S|-----BEGIN/;
