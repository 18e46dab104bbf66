// The program around its commands: parsing, exit codes, and what happens before any command.

import { Command, Help, type Option } from 'commander';
import { plainText } from '../domain/text/format.ts';
import { version } from '../lib/version.ts';
import { fail } from './command.ts';
import { addExamples } from './examples.ts';
import { refusePrivateInput } from './private-input.ts';
import { prepareProcess } from './process-setup.ts';
import { usageError } from './usage-error.ts';

const commandersHelp = new Help();

const exitCodes = `
Exit codes: 0 success, 1 failure, 2 invalid usage or no command, 3 changes by hand are left (plugin),
74 the disk lost a write (serve)`;

export type Commands = Readonly<Record<string, () => Promise<Command>>>;

export async function runProgram(commands: Commands): Promise<void> {
  const args = process.argv.slice(2);
  const program = programOf(await commandsFor(commands, args));
  const isJson = hasJson(args);
  prepareProcess((error) => fail(error, isJson));
  try {
    refusePrivateInput(args, process.env);
    if (args.length === 0) {
      program.outputHelp();
      process.exitCode = 2;
      return;
    }
    await program.parseAsync(withoutHelp(program, args), { from: 'user' });
  } catch (error) {
    fail(error, isJson);
  }
}

/** The program with these commands. A command without a description is for paygate itself. */
export function programOf(commands: readonly Command[]): Command {
  const program = new Command('paygate')
    .description(
      'Self-hosted Bitcoin payment gateway: one process, one file, no key that can spend',
    )
    .version(version)
    .addHelpText('after', exitCodes);
  for (const command of commands) {
    program.addCommand(command, { hidden: command.description() === '' });
  }
  addExamples(program);
  prepare(program);
  return program;
}

/**
 * The command that the command line begins with. All commands for the program's help, for an error
 * that suggests names, and for `completion`, which completes them all.
 */
function commandsFor(commands: Commands, [name = '']: readonly string[]): Promise<Command[]> {
  const isAlone = Object.hasOwn(commands, name) && name !== 'completion';
  const loaders = Object.entries(commands).filter(([each]) => !isAlone || each === name);
  return Promise.all(loaders.map(([, load]) => load()));
}

/** Whether errors are JSON: also those of a command line that cannot be parsed. */
function hasJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end).includes('--json');
}

/**
 * Turns `help store add` into `store add --help`, because commander's `help` reads one name only.
 * Exits for an unknown name.
 */
function withoutHelp(program: Command, args: readonly string[]): string[] {
  const [first, ...path] = args;
  if (first !== 'help' || path.length === 0) return [...args];
  let command = program;
  for (const name of path) {
    const found = command.commands.find((each) => [each.name(), ...each.aliases()].includes(name));
    if (found === undefined) program.error(`error: unknown command '${plainText(name)}'`);
    command = found;
  }
  return [...path, '--help'];
}

/**
 * Makes a command and those below it throw an error for an invalid command line. Exits with 0 for
 * `--help` and `--version`, and with 2 where a command is missing and the help is printed instead.
 */
function prepare(command: Command): void {
  command
    .exitOverride((error) => {
      if (error.exitCode === 0) process.exit(0);
      if (error.code === 'commander.help') process.exit(2);
      throw usageError(command, error);
    })
    .configureOutput({
      writeErr: (text) => void process.stdout.write(text),
      outputError: () => {},
    })
    .configureHelp({ optionDescription });
  command.commands.forEach(prepare);
}

/** Marks an option without which a command does nothing. */
function optionDescription(option: Option): string {
  const described = commandersHelp.optionDescription(option);
  return option.mandatory && option.defaultValue === undefined
    ? `(required) ${described}`
    : described;
}
