// Each command that the documentation or an example of the help names exists, with each option
// beside it.

import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addressCommand } from '../../src/cli/address-command.ts';
import { adminCommand } from '../../src/cli/admin-command.ts';
import { auditCommand } from '../../src/cli/audit-command.ts';
import { backupCommand } from '../../src/cli/backup-command.ts';
import { callbacksCommand } from '../../src/cli/callbacks-command.ts';
import { checkCommand } from '../../src/cli/check-command.ts';
import { completionCommand } from '../../src/cli/completion-command.ts';
import { doctorCommand } from '../../src/cli/doctor-command.ts';
import { eventsCommand } from '../../src/cli/events-command.ts';
import { exampleLines } from '../../src/cli/examples.ts';
import { healthCommand } from '../../src/cli/health-command.ts';
import { installCommand } from '../../src/cli/install-command.ts';
import { keyCommand } from '../../src/cli/key-command.ts';
import { licensesCommand } from '../../src/cli/licenses-command.ts';
import { linksCommand } from '../../src/cli/links-command.ts';
import { notifyCommand } from '../../src/cli/notify-command.ts';
import { ordersCommand } from '../../src/cli/orders-command.ts';
import { paymentsCommand } from '../../src/cli/payments-command.ts';
import { pluginCommand } from '../../src/cli/plugin-command.ts';
import { restoreCommand } from '../../src/cli/restore-command.ts';
import { sandboxCommand } from '../../src/cli/sandbox-command.ts';
import { serveCommand } from '../../src/cli/serve-command.ts';
import { serversCommand } from '../../src/cli/servers-command.ts';
import { storeCommand } from '../../src/cli/store-command.ts';
import { updateCommand } from '../../src/cli/update-command.ts';
import { type FamilyName, familyTitles } from '../../src/plugin/families.ts';
import { nextSteps } from '../../src/plugin/next-steps.ts';

const commands: readonly Command[] = [
  serveCommand(),
  storeCommand(),
  keyCommand(),
  addressCommand(),
  ordersCommand(),
  linksCommand(),
  paymentsCommand(),
  callbacksCommand(),
  eventsCommand(),
  notifyCommand(),
  serversCommand(),
  pluginCommand(),
  auditCommand(),
  doctorCommand(),
  updateCommand(),
  licensesCommand(),
  sandboxCommand(),
  restoreCommand(),
  installCommand(),
  healthCommand(),
  completionCommand(),
  checkCommand(),
  backupCommand(),
  adminCommand(),
];
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
