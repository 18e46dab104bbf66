// Looks through all that a person gave to a command before any part of it is understood, so that a
// secret in the wrong place is neither kept nor shown, whichever option would complain of it.

import { containsPrivateMaterial, rejectPrivateMaterial } from '../bitcoin/private-material.ts';

const ownVariable = /^PAYGATE_/;

/** @throws PaygateError invalid where an argument or a variable of ours holds private material */
export function refusePrivateInput(
  args: readonly string[],
  env: Record<string, string | undefined>,
): void {
  const variables = Object.entries(env).filter(([name]) => ownVariable.test(name));
  const texts = [...args, ...unquoted(args), ...variables.map(([, value]) => value ?? '')];
  if (texts.some(containsPrivateMaterial)) rejectPrivateMaterial(...texts);
}

/** Arguments between two options in one: recovery words that were given without quotes. */
function unquoted(args: readonly string[]): string[] {
  const runs: string[] = [];
  const run: string[] = [];
  for (const arg of [...args, '--']) {
    if (!arg.startsWith('-') || arg === '-') {
      run.push(arg);
      continue;
    }
    runs.push(run.splice(0).join(' '));
    // The first of them may stand behind the name of an option.
    const [, value] = /^--?[^=]+=(.*)$/s.exec(arg) ?? [];
    if (value !== undefined) run.push(value);
  }
  return runs;
}
