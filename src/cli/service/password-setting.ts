// The settings of the first password: a variable of the environment, or a file. No error contains
// its text.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type Config, options, passwordVariable } from '../../config.ts';
import type { FirstPassword } from '../../dashboard/guard/first-password.ts';
import { PaygateError } from '../../lib/errors.ts';

const maxFileBytes = 4096;

/** Removes the password from the environment, so that no child process and no dump has it. */
export function takePassword(env: Record<string, string | undefined>): string | undefined {
  const password = env[passwordVariable];
  delete env[passwordVariable];
  return password || undefined;
}

/** @throws PaygateError invalid if both settings are given, or the file is not one line of text */
export function firstPassword(
  { adminPasswordFile }: Pick<Config, 'adminPasswordFile'>,
  password: string | undefined,
): FirstPassword | undefined {
  const setting = options.adminPasswordFile.env;
  if (adminPasswordFile === undefined) {
    return password === undefined ? undefined : { setting: passwordVariable, password };
  }
  if (password !== undefined) {
    throw new PaygateError('invalid', `set ${passwordVariable} or ${setting}, not both`);
  }
  return { setting, password: readLine(setting, adminPasswordFile) };
}

/** The only line of a small file. @throws PaygateError invalid */
function readLine(setting: string, path: string): string {
  const refuse = (why: string) => new PaygateError('invalid', `${setting}: ${path} ${why}`);
  const bytes = readStart(path, refuse);
  if (bytes.length > maxFileBytes) throw refuse(`has more than ${maxFileBytes} bytes`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refuse('is not text in UTF-8');
  }
  const line = text.replace(/\r?\n$/, '');
  if (line === '') throw refuse('is empty');
  if (/[\r\n\0]/.test(line)) throw refuse('must contain one line only');
  return line;
}

/** At most one byte more than a file may have. */
function readStart(path: string, refuse: (why: string) => PaygateError): Buffer {
  const bytes = Buffer.alloc(maxFileBytes + 1);
  let file: number;
  try {
    // Opening a pipe would otherwise wait for its writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw refuse(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    if (!fstatSync(file).isFile()) throw refuse('is not a file');
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}
