// `paygate address check`: prints a key's addresses, before any money depends on them. `paygate
// address list` is in address-list-command.ts; both are also commands of `paygate addresses`.

import { Command } from 'commander';
import { firstAddresses } from '../../bitcoin/keychain.ts';
import { defaultNetwork } from '../../bitcoin/network.ts';
import { options } from '../../config.ts';
import { networkNamed, print, wholeNumber } from '../command.ts';
import {
  depthOption,
  type KeyOptions,
  readWalletKey,
  scriptOption,
  xpubOption,
} from '../stores/wallet-key-options.ts';
import { addressListCommand } from './address-list-command.ts';

interface CheckOptions extends KeyOptions {
  readonly network?: string;
  readonly count: number;
  readonly json?: boolean;
}

export function addressCommand(): Command {
  const check = new Command('check')
    .description("print a key's first receive addresses, to compare with the merchant's wallet")
    .addOption(xpubOption())
    .addOption(scriptOption())
    .option('--count <n>', 'number of addresses', wholeNumber(1, 1000), 5)
    .option(
      `${options.network.flag} <name>`,
      `mainnet, testnet3, testnet4, signet or regtest (default: ${defaultNetwork})`,
    )
    .addOption(depthOption())
    .option('--json', 'print JSON')
    .action(async (given: CheckOptions) => {
      const key = await readWalletKey(given, networkNamed(given) ?? defaultNetwork);
      const addresses = firstAddresses(key, given.count);
      const { scriptType: script, network } = key;
      print(given, { network, script, addresses }, () =>
        addresses.map((address, index) => `${index}  ${address}`).join('\n'),
      );
    });
  return new Command('address')
    .alias('addresses')
    .description('print addresses of a key, and list issued addresses')
    .addCommand(check)
    .addCommand(addressListCommand());
}
