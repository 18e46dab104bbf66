// `paygate plugin allow`: opens "Connect a plugin" for one key, for some minutes.

import type { Command } from 'commander';
import { formatTime } from '../domain/format.ts';
import { maxPluginMs, requireMerchantKey } from '../store/records/api-keys.ts';
import {
  anyId,
  type FileOptions,
  fileCommand,
  noteChange,
  print,
  wholeNumber,
  withStore,
  world,
} from './command.ts';

interface AllowOptions extends FileOptions {
  readonly minutes: number;
  readonly key?: number;
}

const mostMinutes = maxPluginMs / 60_000;

const about = `
For the set-up of a plugin that makes its store or sets its Callback URL. It is open for one key at a
time, never for an xpub or a setting; \`paygate audit list\` says what was changed.`;

export function pluginAllowCommand(): Command {
  return fileCommand('allow', 'let one key change stores through the API for some minutes')
    .option(
      '--minutes <n>',
      `how long, up to ${mostMinutes}; 0 shuts it`,
      wholeNumber(0, mostMinutes),
      15,
    )
    .addHelpText('after', about)
    .option('--key <id>', 'which key (default: the merchant key)', anyId)
    .action((given: AllowOptions) =>
      withStore(given, async (store) => {
        const now = world.now();
        const keyId = given.key ?? requireMerchantKey(store.keys, now).id;
        const until = now + given.minutes * 60_000;
        await store.database.write((tx) => {
          store.keys.allowPlugin(tx, now, keyId, until);
          const { minutes } = given;
          const action = minutes === 0 ? 'plugin.shut' : 'plugin.allow';
          noteChange(store, tx, action, { key: keyId, ...(minutes > 0 && { minutes }) });
        });
        print(given, { key: keyId, until: Math.floor(until / 1000) }, () =>
          given.minutes === 0
            ? `Key ${keyId} may not change stores any more.`
            : `Key ${keyId} may change stores until ${formatTime(until)}; what it does is in \`paygate audit list\`.`,
        );
      }),
    );
}
