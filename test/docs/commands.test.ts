// Each command that the documentation or an example of the help names exists, with each option
// beside it. docs/commands.md has the help of all commands. With PAYGATE_WRITE_DOCS=1 it is
// written.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commands as commandLoaders } from '../../src/cli/commands.ts';
import { exampleLines } from '../../src/cli/examples.ts';
import { programOf } from '../../src/cli/program.ts';
import { type FamilyName, familyTitles } from '../../src/plugin/families.ts';
import { nextSteps } from '../../src/plugin/next-steps.ts';
import { helpInMarkdown } from '../support/help-text.ts';

const program = programOf(await Promise.all(Object.values(commandLoaders).map((load) => load())));
/** Without those that are for paygate itself. */
const commands = program.commands.filter((command) => command.description() !== '');
const pagesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
const pages = ['README.md', ...pagesIn('docs'), ...pagesIn('docs/shops')];
const namesOf = (command: Command): string[] => [command.name(), ...command.aliases()];
const names = commands.flatMap(namesOf).join('|');
/** The command up to the end of its code, with continued lines and without a comment. */
const mentioned = new RegExp(
  `(?:paygate |\`)((?:${names})(?![\\w/.-])(?:\\\\\n|[^\`#\n()])*)`,
  'g',
);

/** The command that the words begin with, and the remaining words. */
function find(words: readonly string[]): { command: Command | undefined; rest: readonly string[] } {
  let command = commands.find((each) => namesOf(each).includes(words[0] ?? ''));
  let rest = words.slice(1);
  while (command !== undefined && command.commands.length > 0) {
    const next = command.commands.find((each) => each.name() === rest[0]);
    const fallback = command.commands.find((each) => each.name() === 'rewrite');
    if (next === undefined) return { command: fallback, rest };
    [command, rest] = [next, rest.slice(1)];
  }
  return { command, rest };
}

const mentionsIn = (page: string, text: string) =>
  [...text.matchAll(mentioned)].map(([, command = '']) => ({ page, text: command }));
const mentions = pages.flatMap((page) => mentionsIn(page, readFileSync(page, 'utf8')));
/** Steps that `paygate plugin` prints. */
const steps = [...(Object.keys(familyTitles) as FamilyName[]), null].flatMap((family) =>
  mentionsIn(`${family}`, nextSteps({ family, version: null }, 'out.zip').join('\n')),
);

describe('the documentation names commands', () => {
  it('at least as many as expected', () => {
    expect(mentions.length).toBeGreaterThan(30);
    expect(steps.length).toBeGreaterThan(20);
  });

  it.each([...mentions, ...steps])('$page: $text', ({ text }) => {
    const { command, rest } = find(text.trim().split(/\s+/));
    for (const word of rest) {
      const [flag] = /^--?[a-z][a-z\d-]*/.exec(word) ?? [];
      if (flag === undefined || flag === '--help') continue;
      const flags = command?.options.flatMap(({ long, short }) => [long, short]);
      expect(flags).toContain(flag);
    }
  });
});

describe('the help has examples', () => {
  it.each(exampleLines)('paygate %s', (line) => {
    const { command, rest } = find(line.split(/ (?:<|\|\|) /)[0]?.split(' ') ?? []);
    expect(command).toBeDefined();
    const flags = command?.options.flatMap(({ long, short }) => [long, short]);
    for (const word of rest)
      if (word.startsWith('-') && word !== '-') expect(flags).toContain(word);
  });

  it.each(commands)('of each command: $name', (command) => {
    expect(exampleLines.some((line) => line.split(' ')[0] === command.name())).toBe(true);
  });
});

describe('docs/commands.md', () => {
  const file = 'docs/commands.md';
  const text = readFileSync(file, 'utf8');

  it('has the help of all commands', () => {
    const [byHand = ''] = /^.*\n<!-- [^\n]+ the rest of this page\. -->\n/s.exec(text) ?? [];
    expect(byHand).not.toBe('');
    const written = `${byHand}\n${helpInMarkdown(program)}\n`;
    if (process.env.PAYGATE_WRITE_DOCS === '1') writeFileSync(file, written);
    else expect(written, '`npm run docs` makes it anew').toBe(text);
  });

  it('explains the options that it leaves out', () => {
    const left = commands.find((command) => command.name() === 'backup')?.options ?? [];
    expect(left).toHaveLength(3);
    for (const { flags } of left) expect(text).toContain(`| \`${flags}\` | `);
  });

  it('has the exit codes of the help', () => {
    const rows = [...text.matchAll(/^\| (\d+) \| /gm)].map(([, code]) => code);
    const [, help = ''] = /\nExit codes: (.*?)\n```/s.exec(text) ?? [];
    expect(help.match(/\d+/g)).toEqual(rows);
  });
});
