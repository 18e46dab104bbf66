// `paygate licenses`: whose work the executable is made of, and under which terms each part is passed on.

import { getAsset, isSea } from 'node:sea';
import { Command } from 'commander';
import { PaygateError } from '../lib/errors.ts';
import { print } from './command.ts';

/** As scripts/executable/licenses.mjs writes them. */
interface License {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly license: string;
  readonly text: string;
}

export function licensesCommand(): Command {
  return new Command('licenses')
    .description('whose work the executable is made of, and the license of each part')
    .option('--json', 'answer as JSON')
    .action((given: { json?: boolean }) => {
      if (!isSea()) {
        throw new PaygateError(
          'unavailable',
          'only the single executable carries them; here each package in node_modules has its own',
        );
      }
      const licenses: License[] = JSON.parse(getAsset('licenses.json', 'utf8'));
      // In each author's own characters: they came with us.
      if (given.json) print(given, licenses, String);
      else process.stdout.write(`${licenses.map(describe).join('\n\n')}\n`);
    });
}

const describe = ({ name, version, license, text }: License): string =>
  `${name} ${version} (${license})\n${'='.repeat(72)}\n\n${text}`;
