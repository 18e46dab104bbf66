// Searches all arguments and variables for private keys before any option is parsed. A secret in
// the wrong place must be neither stored nor printed in an option's error.

import { refusePrivateMaterial } from '../bitcoin/private-material.ts';
import { passwordVariable } from '../config.ts';

/** A password may look like recovery words. */
const isSearched = (name: string): boolean =>
  name.startsWith('PAYGATE_') && name !== passwordVariable;

/** @throws PaygateError invalid if an argument or a PAYGATE variable contains private material */
export function refusePrivateInput(
  args: readonly string[],
  env: Record<string, string | undefined>,
): void {
  const variables = Object.entries(env).filter(([name]) => isSearched(name));
  const texts = [...args, ...unquotedRuns(args), ...variables.map(([, value]) => value ?? '')];
  refusePrivateMaterial(texts);
}

/**
 * Joins the arguments between two options: recovery words may be typed without quotes, also behind
 * the one or two words of a command.
 */
function unquotedRuns(args: readonly string[]): string[] {
  const runs: string[][] = [];
  let run: string[] = [];
  for (const arg of [...args, '--']) {
    if (!arg.startsWith('-')) run.push(arg);
    if (!arg.startsWith('-') || arg === '-') continue;
    runs.push(run);
    // The first word may follow the name of an option: `--xpub=word`.
    const [, value] = /^--?[^=]+=(.*)$/s.exec(arg) ?? [];
    run = value === undefined ? [] : [value];
  }
  const [first = []] = runs;
  return [...runs, first.slice(1), first.slice(2)].map((each) => each.join(' '));
}
