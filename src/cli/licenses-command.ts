// `paygate licenses`: the parts of the executable, and the license of each part.

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
    .description('list the parts of the executable and their licenses')
    .option('--json', 'print JSON')
    .action((given: { json?: boolean }) => {
      if (!isSea()) {
        throw new PaygateError(
          'unavailable',
          'only the single executable contains the licenses; see each package in node_modules',
        );
      }
      const licenses: License[] = JSON.parse(getAsset('licenses.json', 'utf8'));
      // Not filtered by `print`: the texts are ours, and names of authors keep their characters.
      if (given.json) print(given, licenses, String);
      else process.stdout.write(`${licenses.map(describe).join('\n\n')}\n`);
    });
}

const describe = ({ name, version, license, text }: License): string =>
  `${name} ${version} (${license})\n${'='.repeat(72)}\n\n${text}`;
