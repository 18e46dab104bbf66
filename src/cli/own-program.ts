// How this program is called again: by this process, and by a person who copies a printed command
// line.

import { isSea } from 'node:sea';
import { type Config, options } from '../config.ts';
import { hostAndPort } from '../domain/delivery/public-endpoint.ts';
import { quoteForShell } from '../domain/text/format.ts';

/** What Node must run to start this program again; empty for the single executable. */
export const ownArguments = (): readonly string[] => (isSea() ? [] : process.argv.slice(1, 2));

/** The executable by its whole path; the launcher of the sources runs in its own folder only. */
const program = isSea() ? process.execPath : './paygate';

type PrintedFlag = readonly [flag: string, value: string | undefined, usual?: string | undefined];
type CommandTarget = Pick<Config, 'db'> & Partial<Pick<Config, 'listen' | 'publicUrl' | 'domain'>>;

/**
 * A command line for a shell that runs `command` on the same database and server.
 * Options that have their defaults are left out.
 */
export function commandLine(
  command: string,
  { db, listen, publicUrl, domain }: CommandTarget,
): string {
  const address = listen && hostAndPort(listen);
  const isNamed = domain !== undefined || publicUrl !== undefined;
  const flags: PrintedFlag[] = [
    [options.db.flag, db, options.db.default],
    [options.listen.flag, isNamed ? undefined : address, options.listen.default],
    [options.publicUrl.flag, publicUrl],
    [options.domain.flag, domain],
  ];
  const printed = flags.flatMap(([flag, value, usual]) =>
    value === undefined || value === usual ? [] : [flag, quoteForShell(value)],
  );
  return [quoteForShell(program), command, ...printed].join(' ');
}
