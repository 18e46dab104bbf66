// The program around its commands: how it is called, what it exits with, what it does before any of them.

import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { plainText } from '../domain/format.ts';
import { PaygateError } from '../lib/errors.ts';
import { version } from '../lib/version.ts';
import { fail } from './command.ts';
import { refusePrivateInput } from './private-input.ts';

/** Runs the command that was asked for. */
export async function runProgram(commands: readonly Command[]): Promise<void> {
  const program = new Command('paygate')
    .description(
      'Self-hosted Bitcoin payment gateway: one process, one file, no key that can spend',
    )
    .version(version);
  // What has no description is for paygate itself.
  for (const command of commands) {
    program.addCommand(command, { hidden: command.description() === '' });
  }
  exitWithTwo(program);
  // What paygate writes (database, mark, lock) is for its own user alone.
  process.umask(0o077);
  prepareThreads();
  outliveReaders();
  shutDebugger();
  takeName();
  try {
    const args = process.argv.slice(2);
    refusePrivateInput(args, process.env);
    if (args.length === 0) {
      process.stdout.write(program.helpInformation());
      process.exitCode = 2;
      return;
    }
    await program.parseAsync(withoutHelp(program, args), { from: 'user' });
  } catch (error) {
    fail(error);
  }
}

/** `help store add` as `store add --help`: commander's own `help` reads one name. Ends the process for an unknown one. */
function withoutHelp(program: Command, args: readonly string[]): string[] {
  const [first, ...path] = args;
  if (first !== 'help' || path.length === 0) return [...args];
  let command = program;
  for (const name of path) {
    const found = command.commands.find((each) => each.name() === name);
    if (found === undefined) program.error(`error: unknown command '${plainText(name)}'`);
    command = found;
  }
  return [...path, '--help'];
}

/**
 * Half of libuv's threads may look names up: 32 silent names hold up no other. The system waits three
 * times a second for a silent name server, not twice five. Both are read when the first thread starts.
 * https://docs.libuv.org/en/v1.x/threadpool.html, https://man7.org/linux/man-pages/man5/resolv.conf.5.html
 */
export function prepareThreads(): void {
  process.env.UV_THREADPOOL_SIZE ??= '64';
  process.env.RES_OPTIONS ??= 'timeout:1 attempts:3';
}

/** What cannot be said is no reason to end, least of all for who serves. */
function outliveReaders(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    // Who reads may have seen enough, as `head` has.
    if (code === 'EPIPE') return;
    fail(new PaygateError('unavailable', `the answer cannot be written (${code})`));
  });
  process.stderr.on('error', () => {});
}

/**
 * Node opens one for this signal, on a port of this machine where any user of it could read keys. Who rotates logs sends it out
 * of habit. https://nodejs.org/api/process.html#signal-events
 */
function shutDebugger(): void {
  process.on('SIGUSR1', () => {});
}

/** In `ps`, `top` and for `pgrep`: Node calls its thread MainThread. The command line stays as it was typed. */
function takeName(): void {
  try {
    writeFileSync('/proc/self/comm', 'paygate');
  } catch {
    // There is no /proc, or none that may be written.
  }
}

/** A wrong command line ends with 2, as a wrong value does; `--help` and `--version` with 0. */
function exitWithTwo(command: Command): void {
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
  command.commands.forEach(exitWithTwo);
}
