// `paygate store wallet ID`: sets the wallet from which a store issues addresses from now on.

import type { Command } from 'commander';
import { firstAddresses } from '../../bitcoin/keychain.ts';
import { sharedWalletAdvice } from '../../domain/store/store-choice.ts';
import { requireRunning } from '../../store/wallets/catalog.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  recordChange,
  rowId,
  withStore,
  world,
} from '../command.ts';
import { withNotes } from './setting-options.ts';
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
  return fileCommand('wallet', 'set the wallet of a store; issued addresses stay with the old one')
    .argument('<id>', 'of the store', rowId)
    .addOption(xpubOption())
    .addOption(scriptOption())
    .addOption(startIndexOption())
    .addOption(depthOption())
    .action((id: number, given: WalletOptions) => giveWallet(id, given));
}

/** @throws PaygateError conflict for a start index of a wallet that exists already */
function giveWallet(id: number, given: WalletOptions): Promise<void> {
  return withStore(given, async ({ network, database, catalog, audit }) => {
    const key = await readWalletKey(given, network);
    const { row, wallet } = await database.write((tx) => {
      requireRunning(catalog.store(id));
      const wallet = catalog.ensureWallet(tx, world.now(), key, given.startIndex);
      recordChange({ audit }, tx, 'store.attach', { wallet_id: wallet.id }, id);
      return { row: catalog.changeStore(tx, id, { walletId: wallet.id }), wallet };
    });
    const notes = sharedWalletAdvice(catalog.sharing(row));
    const answer = {
      id,
      wallet: { id: wallet.id, script: wallet.scriptType, account: wallet.account },
      first_addresses: firstAddresses(key),
    };
    print(
      given,
      withNotes(answer, notes),
      () => `Store ${id} "${row.name}" issues from wallet ${wallet.id} from now on.

${compareWith(answer.first_addresses)}
If they differ, set the wallet again with another --script.${notes.map((note) => `\n\n${note}`).join('')}`,
    );
  });
}
