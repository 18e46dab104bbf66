// Command lines that can be copied from what is printed: the same program, on the same file, at the same door.

import { isSea } from 'node:sea';
import { type Config, options } from '../config.ts';
import { quoteForShell } from '../domain/format.ts';
import { hostAndPort } from '../domain/public-endpoint.ts';

/** By which it can be called again, from wherever; the launcher of the sources is called where it lies. */
const program = isSea() ? process.execPath : './paygate';

type Told = readonly [flag: string, value: string | undefined, usual?: string | undefined];
type Place = Pick<Config, 'db'> & Partial<Pick<Config, 'listen' | 'publicUrl' | 'domain'>>;

/** @param place said where it is another than the default */
export function again(words: string, { db, listen, publicUrl, domain }: Place): string {
  const at = listen && hostAndPort(listen);
  const isNamed = domain !== undefined || publicUrl !== undefined;
  const told: Told[] = [
    [options.db.flag, db, options.db.default],
    [options.listen.flag, isNamed ? undefined : at, options.listen.default],
    [options.publicUrl.flag, publicUrl],
    [options.domain.flag, domain],
  ];
  const said = told.flatMap(([flag, value, usual]) =>
    value === undefined || value === usual ? [] : [flag, quoteForShell(value)],
  );
  return [quoteForShell(program), words, ...said].join(' ');
}
