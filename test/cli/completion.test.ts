// `paygate completion`, in the shells themselves where they are installed.

import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { cleanUp, tempFolder } from '../support/files.ts';

afterEach(cleanUp);

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

const scripts: Partial<Record<Shell, string>> = {};

beforeAll(async () => {
  for (const shell of shells) {
    const { code, stdout, stderr } = await runCli(['completion', shell]);
    expect([code, stderr]).toEqual([0, '']);
    scripts[shell] = stdout;
  }
});

/** A folder with the script and two files. */
function folderFor(shell: Shell): string {
  const folder = tempFolder();
  writeFileSync(join(folder, 'script'), scripts[shell] ?? '');
  for (const name of ['shop.db', 'with space.db']) writeFileSync(join(folder, name), '');
  return folder;
}

/** What the shell offers at the end of a typed command. */
function offered(shell: Shell, line: string): string[] {
  const cwd = folderFor(shell);
  const { command, args } = programs[shell](line);
  const env = { PATH: process.env.PATH, HOME: cwd, TERM: 'xterm', LANG: 'C.UTF-8' };
  const printed = execFileSync(command, args, { cwd, env, encoding: 'utf8' });
  return printed.split('\n').filter((each) => each !== '');
}

// The words as readline splits them: `=` is a word.
const inBash = `source ./script
read -ra COMP_WORDS <<< "\${1//=/ = }"
[[ $1 == *[\\ =] ]] && COMP_WORDS+=('')
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_paygate
printf '%s\\n' "\${COMPREPLY[@]}"`;

const inFish = 'source ./script; complete -C $argv[1]';

// Types the command into an interactive zsh once it edits one, and ^T, which lists what fits.
const inZsh = `zmodload zsh/zpty
zpty shell 'zsh -f -i'
zpty -w shell "PS1=; stty cols 200 rows 60; autoload -Uz compinit; compinit -u -D; source ./script
zle-line-init() { print REA''DY }
list() { zle list-choices; zle -R; print DO''NE }
zle -N zle-line-init; zle -N list; bindkey '^T' list"
zpty -r shell out '*READY*'
zpty -w -n shell "$1"$'\\x14'
zpty -r shell out '*DONE*'
print -r -- "$out"`;

const programs: Readonly<
  Record<Shell, (line: string) => { readonly command: string; readonly args: readonly string[] }>
> = {
  bash: (line) => ({ command: 'bash', args: ['--norc', '-c', inBash, 'bash', line] }),
  fish: (line) => ({ command: 'fish', args: ['--no-config', '-c', inFish, line] }),
  zsh: (line) => ({ command: 'zsh', args: ['-f', '-c', inZsh, 'zsh', line] }),
};

const isInstalled = (shell: Shell): boolean => spawnSync(shell, ['-c', 'exit']).status === 0;

const cases: readonly (readonly [line: string, words: readonly string[]])[] = [
  ['paygate ser', ['serve', 'servers']],
  ['paygate store re', ['recheck-used', 'remove', 'remove-webhook', 'restore']],
  ['paygate help store re', ['recheck-used', 'remove', 'remove-webhook', 'restore']],
  ['paygate store add --s', ['--script', '--start-index']],
  ['paygate store add --script ', ['p2pkh', 'p2sh-p2wpkh', 'p2tr', 'p2wpkh']],
  ['paygate addresses list --state ', ['paid', 'unpaid']],
  ['paygate serve --network te', ['testnet3', 'testnet4']],
  ['paygate serve --log-format ', ['json', 'pretty']],
  ['paygate completion ', ['bash', 'fish', 'zsh']],
  ['paygate check sh', ['shop.db']],
  ['paygate store list --db sh', ['shop.db']],
];

describe.each(shells)('in %s', (shell) => {
  test.skipIf(!isInstalled(shell)).each(cases)('%s', (line, words) => {
    const found = offered(shell, line);
    if (shell === 'zsh') for (const word of words) expect(found.join('\n')).toContain(word);
    else expect(found.map((each) => each.split('\t')[0]).sort()).toEqual(words);
  });
});

test.skipIf(!isInstalled('bash'))('bash completes a value behind =, and names with spaces', () => {
  expect(offered('bash', 'paygate serve --log-format=p')).toEqual(['pretty']);
  expect(offered('bash', 'paygate check with')).toEqual(['with space.db']);
});

test('an unknown shell is refused', async () => {
  const { code, stdout, stderr } = await runCli(['completion', 'tcsh']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toBe(
    "paygate: <shell>: 'tcsh' is not valid. Allowed choices are bash, zsh, fish.\n",
  );
});
