// `paygate plugin`: connects an existing shop plugin with this paygate, and lets one key change
// stores through the API for some minutes.

import { Command } from 'commander';
import { formatTime } from '../../domain/text/format.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import { maxPluginMs, requireMerchantKey } from '../../store/access/api-keys.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  recordChange,
  rowId,
  wholeNumber,
  withStore,
  world,
} from '../command.ts';
import { rewriteCommand } from './plugin-rewrite-command.ts';

const about = `
docs/shops has a page for each of WooCommerce, WHMCS, PrestaShop, OpenCart, Magento 2, GiveWP, Easy
Digital Downloads, Medusa and FOSSBilling; docs/plugins.md explains what they have in common.`;

/** `rewrite` need not be named: `paygate plugin FILE.zip --url …`. */
export function pluginCommand(): Command {
  return new Command('plugin')
    .description('rewrite a shop plugin for this paygate; let one set up its store')
    .addCommand(rewriteCommand(), { isDefault: true })
    .addCommand(pluginAllowCommand())
    .addHelpText('after', about);
}

interface AllowOptions extends FileOptions {
  readonly minutes: number;
  readonly key?: number;
}

const maxMinutes = maxPluginMs / 60_000;

const allowAbout = `
Use it to set up a plugin that makes its store or sets its Callback URL. Only one key at a time may do
so, and never change an xpub or a setting. \`paygate audit list\` lists the changes.`;

function pluginAllowCommand(): Command {
  return fileCommand('allow', 'let one key change stores through the API for some minutes')
    .option(
      '--minutes <n>',
      `how long, up to ${maxMinutes}; 0 ends it`,
      wholeNumber(0, maxMinutes),
      15,
    )
    .addHelpText('after', allowAbout)
    .option('--key <id>', 'which key (default: the merchant key)', rowId)
    .action((given: AllowOptions) =>
      withStore(given, async (records) => {
        const now = world.now();
        const keyId = given.key ?? requireMerchantKey(records.keys, now).id;
        const until = now + given.minutes * 60_000;
        await records.database.write((tx) => {
          records.keys.allowPlugin(tx, now, keyId, until);
          const { minutes } = given;
          const action = minutes === 0 ? 'plugin.shut' : 'plugin.allow';
          recordChange(records, tx, action, { key: keyId, ...(minutes > 0 && { minutes }) });
        });
        print(given, { key: keyId, until: unixSeconds(until) }, () =>
          given.minutes === 0
            ? `Key ${keyId} may no longer change stores.`
            : `Key ${keyId} may change stores until ${formatTime(until)}; \`paygate audit list\` lists its changes.`,
        );
      }),
    );
}
