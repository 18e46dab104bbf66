// `paygate key show|rotate`: the merchant's API key.

import { Command } from 'commander';
import { PaygateError } from '../errors.ts';
import {
  type FileOptions,
  fileCommand,
  parseDuration,
  print,
  showTime,
  withStore,
  world,
} from './command.ts';

export function keyCommand(): Command {
  const show = fileCommand('show', 'print the API key').action((given: FileOptions) =>
    withStore(given, false, async ({ catalog }) => {
      const apiKey = catalog.merchantKey();
      if (apiKey === undefined) {
        throw new PaygateError('not_found', 'there is no key yet: it is made with the first store');
      }
      print(given, { api_key: apiKey }, () => apiKey);
    }),
  );
  const rotate = fileCommand('rotate', 'make a new API key')
    .option('--overlap <time>', 'how long the old one stays valid, such as 24h', parseDuration, 0)
    .action((given: FileOptions & { overlap: number }) =>
      withStore(given, false, async ({ catalog, database }) => {
        if (catalog.merchantKey() === undefined) {
          throw new PaygateError(
            'not_found',
            'there is no key yet: it is made with the first store',
          );
        }
        const now = world.now();
        const apiKey = await database.write((tx) =>
          catalog.rotateMerchantKey(tx, now, world.randomBytes(32), given.overlap),
        );
        const ends = now + given.overlap;
        print(given, { api_key: apiKey, old_key_ends_at: Math.floor(ends / 1000) }, () =>
          given.overlap === 0
            ? `${apiKey}\nThe old key is not valid any more.`
            : `${apiKey}\nThe old key stays valid until ${showTime(ends)}.`,
        );
      }),
    );
  return new Command('key').description('the API key').addCommand(show).addCommand(rotate);
}
