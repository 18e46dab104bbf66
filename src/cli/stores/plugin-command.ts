// `paygate plugin`: connects an existing shop plugin with this paygate.

import { Command } from 'commander';
import { pluginAllowCommand } from './plugin-allow-command.ts';
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
