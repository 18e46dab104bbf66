// `paygate plugin`: connects an existing shop plugin with this paygate.

import { Command } from 'commander';
import { pluginAllowCommand } from './plugin-allow-command.ts';
import { rewriteCommand } from './plugin-rewrite-command.ts';

const about = `
docs/plugins.md has a section for each of WooCommerce, WHMCS, PrestaShop, OpenCart, Magento 2, GiveWP,
Medusa and FOSSBilling.`;

/** `rewrite` need not be named: `paygate plugin FILE.zip --url …`. */
export function pluginCommand(): Command {
  return new Command('plugin')
    .description('rewrite a shop plugin for this paygate; let one set up its store')
    .addCommand(rewriteCommand(), { isDefault: true })
    .addCommand(pluginAllowCommand())
    .addHelpText('after', about);
}
