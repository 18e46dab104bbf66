// The help of all commands as Markdown, for docs/commands.md.

import type { Command, Option } from 'commander';
import { pathOf } from '../../src/cli/usage-error.ts';

const helpWidth = 100;

/**
 * The help of the program, then of each command. Options that the page explains once are left out:
 * those of `backup`, and where a command takes all options of `serve`, these as well.
 */
export function helpInMarkdown(program: Command): string {
  const optionsOf = (name: string) =>
    program.commands.find((command) => command.name() === name)?.options ?? [];
  const [ofFiles, ofServe] = [optionsOf('backup'), optionsOf('serve')];
  const omittedOf = ({ parent, options }: Command): readonly Option[] => {
    if (parent === null || options === ofServe) return [];
    return ofServe.every((each) => has(options, each)) ? [...ofFiles, ...ofServe] : ofFiles;
  };
  const inBlock = (command: Command): string =>
    `\`\`\`text\n${helpOf(command, omittedOf(command)).trim()}\n\`\`\``;
  const sectionsOf = (command: Command, heading: string): string[] => {
    const path = pathOf(command);
    const inner = command.commands
      .filter(isShown)
      .flatMap((each) => sectionsOf(each, `#${heading}`));
    const text =
      inner.length > 0 ? `\`paygate ${path}\`: ${command.description()}.` : inBlock(command);
    return [`${heading} ${path}\n\n${text}`, ...inner];
  };
  const commands = program.commands.filter(isShown);
  return [
    `## All commands\n\n${inBlock(program)}`,
    withoutJson(commands),
    ...commands.flatMap((command) => sectionsOf(command, '##')),
  ].join('\n\n');
}

/** Not `help`, and none that is for paygate itself. */
const isShown = (command: Command): boolean =>
  command.name() !== 'help' && command.description() !== '';

const has = (options: readonly Option[], { flags, description }: Option): boolean =>
  options.some((each) => each.flags === flags && each.description === description);

function withoutJson(commands: readonly Command[]): string {
  const lowest = (command: Command): readonly Command[] =>
    command.commands.length === 0 ? [command] : command.commands.filter(isShown).flatMap(lowest);
  const names = commands
    .flatMap(lowest)
    .filter(({ options }) => options.every(({ long }) => long !== '--json'))
    .map((command) => `\`${pathOf(command)}\``);
  return `Commands without \`--json\`: ${names.join(', ')}.`;
}

/** What `--help` prints, without these options and itself. */
function helpOf(command: Command, omitted: readonly Option[]): string {
  let text = '';
  const shown = command.createHelp();
  command
    .configureOutput({
      writeOut(part) {
        text += part;
      },
      getOutHelpWidth: () => helpWidth,
      getOutHasColors: () => false,
    })
    .configureHelp({
      ...command.configureHelp(),
      visibleOptions: (each) =>
        shown
          .visibleOptions(each)
          .filter((option) => option.long !== '--help' && !has(omitted, option)),
    });
  command.outputHelp();
  return text;
}
