// What is wrong with a command line, in plain words: commander's errors as errors of paygate.

import type { Command, CommanderError } from 'commander';
import { PaygateError } from '../lib/errors.ts';

export function usageError(command: Command, { code, message }: CommanderError): PaygateError {
  const isMissing = /\.missing(MandatoryOptionValue|Argument)$/.test(code);
  const text = isMissing ? missingText(command) : plainWords(message.replace(/^error: /, ''));
  return new PaygateError('invalid', text);
}

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

const plainWords = (text: string): string =>
  text
    .replace(/\n\(Did you/, ' (did you')
    .replace(ofOption, (_, flag, value, advice) => `${flag}: '${value}' is not valid. ${advice}`)
    .replace(
      ofArgument,
      (_, value, name, advice) => `<${name}>: '${value}' is not valid. ${advice}`,
    );
