// The option table as flags of a command line, for `serve` and for commands that need its settings.

import { type Command, Option } from 'commander';
import { type FlagValues, type OptionName, optionNames, options } from '../../config.ts';

export type Flags = { readonly [Name in OptionName]?: string | string[] | undefined };

/** The heading of each option in the help. */
const groups: Readonly<Record<OptionName, string>> = {
  db: 'Database',
  listen: 'Address',
  plainHttp: 'Address',
  publicUrl: 'Address',
  trustedProxy: 'Address',
  dashboardPlainHttp: 'Dashboard',
  adminPasswordFile: 'Dashboard',
  tlsCert: 'HTTPS',
  tlsKey: 'HTTPS',
  domain: 'HTTPS',
  listenHttp: 'HTTPS',
  acmeEmail: 'HTTPS',
  acmeDirectory: 'HTTPS',
  acmeCa: 'HTTPS',
  network: 'Chain',
  checkpoint: 'Chain',
  electrum: 'Chain',
  proxy: 'Chain',
  electrumInFlight: 'Chain',
  proveDepthAbove: 'Chain',
  walletGap: 'Wallet',
  refuseGap: 'Wallet',
  limitNewAddress: 'Limits',
  limitBalance: 'Limits',
  limitSearchHistory: 'Limits',
  limitPrice: 'Limits',
  limitUnknownKey: 'Limits',
  foreignBalances: 'Limits',
  price: 'Prices',
  priceSource: 'Prices',
  logLevel: 'Log and metrics',
  logFormat: 'Log and metrics',
  metricsListen: 'Log and metrics',
};

export function addServeOptions(command: Command): Command {
  for (const name of optionNames) command.addOption(flagOf(name));
  return command;
}

function flagOf(name: OptionName): Option {
  const { flag, value, help, env, default: fallback, repeatable } = options[name];
  const several = repeatable ? ', separated by spaces' : '';
  const stated = fallback === undefined ? '' : `, default: ${fallback}`;
  const option = new Option(`${flag} <${value}>`, `${help} (env: ${env}${several}${stated})`);
  option.helpGroup(`${groups[name]}:`);
  if (repeatable) option.argParser((text: string, before?: string[]) => [...(before ?? []), text]);
  return option;
}

/** Flags in the form that the option table parses. */
export const flagValues = (flags: Flags): FlagValues =>
  Object.fromEntries(
    Object.entries(flags).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat()]],
    ),
  );
