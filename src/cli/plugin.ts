// `paygate plugin`: what connects an existing shop plugin with this paygate.

import { Command } from 'commander';
import { pluginAllowCommand } from './plugin-allow.ts';
import { rewriteCommand } from './plugin-rewrite.ts';

/** `rewrite` need not be named: `paygate plugin FILE.zip --url …`. */
export function pluginCommand(): Command {
  return new Command('plugin')
    .description('existing shop plugins')
    .addCommand(rewriteCommand(), { isDefault: true })
    .addCommand(pluginAllowCommand());
}
