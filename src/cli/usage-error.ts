// What is wrong with a command line, in plain words: commander's errors as errors of paygate.

import type { Command, CommanderError } from 'commander';
import { PaygateError } from '../lib/errors.ts';

export function usageError(command: Command, { code, message }: CommanderError): PaygateError {
  const isMissing = /\.missing(MandatoryOptionValue|Argument)$/.test(code);
  const text = isMissing
    ? missingText(command)
    : plainWords(command, message.replace(/^error: /, ''));
  return new PaygateError('invalid', text);
}

/** What paygate has in place of a command that other programs have. */
const otherCommands: ReadonlyMap<string, string> = new Map([
  ['logs', '`paygate serve` writes its log to standard error: `journalctl -u paygate` has it'],
  ['log', '`paygate serve` writes its log to standard error: `journalctl -u paygate` has it'],
  ['status', 'did you mean `paygate health` or `paygate doctor`?'],
  ['version', 'did you mean `paygate --version`?'],
]);

/** `store add`: the names of a command below the program. */
export function pathOf(command: Command): string {
  const { parent } = command;
  if (parent === null) return '';
  return `${pathOf(parent)} ${command.name()}`.trim();
}

/** Names everything that a command line lacks, not only the first. */
function missingText(command: Command): string {
  const { args, registeredArguments, options } = command;
  const missing = [
    ...registeredArguments
      .filter(({ required }, index) => required && args[index] === undefined)
      .map((argument) => `<${argument.name()}>`),
    ...options
      .filter(
        (each) => each.mandatory && command.getOptionValue(each.attributeName()) === undefined,
      )
      .map(({ flags }) => flags),
  ];
  const path = pathOf(command);
  return `${path} needs ${missing.join(' and ')}; \`paygate ${path} --help\` says what they are`;
}

const ofOption = /^option '([^' ]+)[^']*' argument '(.*)' is invalid\. (.*)$/s;
const ofArgument = /^command-argument value '(.*)' is invalid for argument '(.*)'\. (.*)$/s;

const plainWords = (command: Command, text: string): string =>
  text
    .replace(/\n\(Did you/, ' (did you')
    .replace(/^unknown command '([^']*)'$/, (all, name) => withAdvice(all, otherCommands.get(name)))
    .replace(/^unknown option '([^']*)'$/, (all, flag) => withAdvice(all, hasOption(command, flag)))
    .replace(
      ofOption,
      (_, flag, value, advice) =>
        `${flag}: '${value}' is not valid. ${advice}${flag === '--store' ? listedBy('store') : ''}`,
    )
    .replace(
      ofArgument,
      (_, value, name, advice) =>
        `<${name}>: '${value}' is not valid. ${advice}${numbersOf(command)}`,
    );

const withAdvice = (text: string, advice: string | undefined): string =>
  advice === undefined ? text : `${text} (${advice})`;

/** The command beside this one that has an option. */
function hasOption({ parent }: Command, flag: string): string | undefined {
  const found = parent?.commands.find(({ options }) => options.some(({ long }) => long === flag));
  return found && `\`paygate ${pathOf(found)}\` has it`;
}

const listedBy = (group: string): string => ` \`paygate ${group} list\` shows the numbers.`;

/** Names the list that shows the number which a command needs. */
const numbersOf = ({ parent }: Command): string =>
  parent?.commands.some((each) => each.name() === 'list') ? listedBy(pathOf(parent)) : '';
