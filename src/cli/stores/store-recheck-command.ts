// `paygate store recheck-used ID`: checks again which addresses of a wallet another program has
// used.

import type { Command } from 'commander';
import { formatCount, verbOf } from '../../domain/text/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  recordChange,
  rowId,
  withStore,
} from '../command.ts';

const about = `
A dishonest server can make paygate leave out addresses, as used by another program. Remove that server
from --electrum first. \`paygate serve\` then checks each address again. An address whose use neither a
second server nor a block confirms is issued again before new ones. No address is issued twice.`;

export function storeRecheckCommand(): Command {
  return fileCommand('recheck-used', 'check again which addresses another program has used')
    .argument('<id>', 'of the store', rowId)
    .addHelpText('after', about)
    .action((id: number, given: FileOptions) =>
      withStore(given, async ({ state, catalog, database, addressView: addressDesk, audit }) => {
        const { walletId } = catalog.store(id);
        if (walletId === null) throw new PaygateError('conflict', `store ${id} has no wallet yet`);
        const [use] = addressDesk.foreignUses().filter((each) => each.walletId === walletId);
        const marked = use?.count ?? 0;
        await database.write((tx) => {
          state.rechecks.write(tx, [...new Set([...state.rechecks.read(), walletId])]);
          recordChange({ audit }, tx, 'wallet.recheck-used', { wallet: walletId, marked }, id);
        });
        print(
          given,
          { id, wallet_id: walletId, marked },
          () =>
            `${formatCount(marked, 'address', 'addresses')} of wallet ${walletId} ${verbOf(marked, 'counts', 'count')} as used by another program. ` +
            'A running paygate checks each again with its servers, and logs the result.',
        );
      }),
    );
}
