// How a command says that it failed.

import { plainLines } from '../domain/text/format.ts';
import { type ErrorCode, PaygateError, reasonOf } from '../lib/errors.ts';

/**
 * Prints an error to standard error and sets the exit code: 2 for invalid usage, else 1.
 * @param isJson prints `{"error":{"code","message"}}` on one line
 * @param hint what to do
 */
export function printFailure(error: unknown, isJson: boolean, hint = ''): void {
  const code: ErrorCode = error instanceof PaygateError ? error.code : 'internal';
  const message = reasonOf(error);
  if (isJson) {
    const shown = { code, message: [message, hint].filter(Boolean).join('; ') };
    process.stderr.write(`${JSON.stringify({ error: shown })}\n`);
  } else {
    const stack = code === 'internal' && error instanceof Error ? error.stack : undefined;
    const texts = [`paygate: ${message}`, hint && `paygate: ${hint}`, stack].filter(Boolean);
    process.stderr.write(`${plainLines(texts.join('\n'))}\n`);
  }
  process.exitCode = code === 'invalid' ? 2 : 1;
}
