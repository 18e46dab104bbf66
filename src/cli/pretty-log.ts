// Log lines for a person at a terminal. Made in this thread, line by line: a worker would lose the last ones.

import type { DestinationStream } from 'pino';
import { prettyFactory } from 'pino-pretty';

/** Takes lines of JSON and writes them, for people, to another destination. */
export function forPeople(lines: DestinationStream): DestinationStream {
  const format = prettyFactory({
    colorize: process.stderr.isTTY === true,
    messageKey: 'message',
    timestampKey: 'time',
    translateTime: 'SYS:yyyy-mm-dd HH:MM:ss.l',
    singleLine: true,
  });
  return { write: (line) => lines.write(format(line)) };
}
