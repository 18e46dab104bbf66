// `paygate store recheck-used ID`: takes back marks of a wallet that no second server and no block confirms.

import type { Command } from 'commander';
import { PaygateError } from '../lib/errors.ts';
import { askForRecheck } from '../store/records/settings.ts';
import { anyId, type FileOptions, fileCommand, noteChange, print, withStore } from './command.ts';

const about = `
A server that lies may have had addresses left out, as used by another program. Take it off --electrum
first. A running \`paygate serve\`, or the next one, asks about each address again: what neither a second
server nor a block confirms is given out again, before the counter rises on. No address is issued twice.`;

export function storeRecheckCommand(): Command {
  return fileCommand(
    'recheck-used',
    "ask again about addresses of a store's wallet that count as used by another program",
  )
    .argument('<id>', 'of the store', anyId)
    .addHelpText('after', about)
    .action((id: number, given: FileOptions) =>
      withStore(given, async ({ catalog, database, addressView: addressDesk, audit }) => {
        const { walletId } = catalog.store(id);
        if (walletId === null) throw new PaygateError('conflict', `store ${id} has no wallet yet`);
        const [use] = addressDesk.foreignUses().filter((each) => each.walletId === walletId);
        const marked = use?.count ?? 0;
        await database.write((tx) => {
          askForRecheck(tx, catalog, walletId);
          noteChange({ audit }, tx, 'wallet.recheck-used', { wallet: walletId, marked }, id);
        });
        print(
          given,
          { id, wallet_id: walletId, marked },
          () =>
            `${marked} address(es) of wallet ${walletId} count as used by another program. A running paygate asks its servers ` +
            'about each again, and says so in its log.',
        );
      }),
    );
}
