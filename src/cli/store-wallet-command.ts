// `paygate store wallet ID`: the wallet that the addresses of a store come from, from now on.

import type { Command } from 'commander';
import { firstAddresses } from '../bitcoin/keychain.ts';
import { requireRunning } from '../store/records/catalog.ts';
import {
  anyId,
  type FileOptions,
  fileCommand,
  noteChange,
  print,
  withStore,
  world,
} from './command.ts';
import {
  compareWith,
  depthOption,
  type KeyOptions,
  readWalletKey,
  scriptOption,
  startIndexOption,
  xpubOption,
} from './wallet-key-options.ts';

interface WalletOptions extends FileOptions, KeyOptions {
  readonly startIndex?: number;
}

export function storeWalletCommand(): Command {
  return fileCommand(
    'wallet',
    'give a store a wallet, or another one; what was issued stays with the one it came from',
  )
    .argument('<id>', 'of the store', anyId)
    .addOption(xpubOption())
    .addOption(scriptOption())
    .addOption(startIndexOption())
    .addOption(depthOption())
    .action((id: number, given: WalletOptions) => giveWallet(id, given));
}

/** @throws PaygateError conflict for a start index of a wallet that there is already */
function giveWallet(id: number, given: WalletOptions): Promise<void> {
  return withStore(given, async ({ network, database, catalog, audit }) => {
    const key = await readWalletKey(given, network);
    const { row, wallet } = await database.write((tx) => {
      requireRunning(catalog.store(id));
      const known = catalog.ensureWallet(tx, world.now(), key, given.startIndex);
      noteChange({ audit }, tx, 'store.attach', { wallet_id: known.id }, id);
      return { row: catalog.changeStore(tx, id, { walletId: known.id }), wallet: known };
    });
    const answer = {
      id,
      wallet: { id: wallet.id, script: wallet.scriptType, account: wallet.account },
      first_addresses: firstAddresses(key),
    };
    print(
      given,
      answer,
      () => `Store ${id} "${row.name}" issues from wallet ${wallet.id} from now on.

${compareWith(answer.first_addresses)}
If they differ, give it one with another --script.`,
    );
  });
}
