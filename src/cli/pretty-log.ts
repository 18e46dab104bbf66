// Log lines for a person at a terminal. They are formatted in this thread, because a worker would
// lose the last ones at exit.

import type { DestinationStream } from 'pino';
import { prettyFactory } from 'pino-pretty';

/** Formats lines of JSON and writes them to another destination. */
export function prettyLines(lines: DestinationStream): DestinationStream {
  const format = prettyFactory({
    colorize: process.stderr.isTTY === true,
    messageKey: 'message',
    timestampKey: 'time',
    translateTime: 'SYS:yyyy-mm-dd HH:MM:ss.l',
    singleLine: true,
  });
  return { write: (line) => lines.write(format(line)) };
}
