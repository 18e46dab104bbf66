// Log lines for a person at a terminal. They are formatted in this thread, because a worker would
// lose the last ones at exit.

import type { DestinationStream } from 'pino';
import { prettyFactory } from 'pino-pretty';

/**
 * Formats lines of JSON and writes them to another destination. A terminal has colours, unless
 * NO_COLOR is set: https://no-color.org
 */
export function prettyLines(
  lines: DestinationStream,
  hasColour = process.stderr.isTTY === true && !process.env.NO_COLOR,
): DestinationStream {
  const format = prettyFactory({
    colorize: hasColour,
    messageKey: 'message',
    timestampKey: 'time',
    translateTime: 'SYS:yyyy-mm-dd HH:MM:ss.l',
    singleLine: true,
  });
  return { write: (line) => lines.write(format(line)) };
}
