// Gives a store another wallet: an existing one, or a new one by its key. Issued addresses stay
// with their wallet.

import type { Tx } from '../../store/db/writer.ts';
import { requireRunning } from '../../store/records/catalog.ts';
import { recordChange } from '../audit-entry.ts';
import { requireRecentPassword } from '../dashboard-session.ts';
import { wholeNumber } from '../form-fields.ts';
import { chosenBefore, Form, Select } from '../form-parts.tsx';
import { Layout } from '../layout.tsx';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../page.ts';
import {
  type ChosenWallet,
  chosenWallet,
  indexQuery,
  isSecondStep,
  sentStartIndex,
  sentWallets,
  WalletCandidates,
  WalletKeyForm,
} from './wallet-choice.tsx';

export const storeWalletPage: Page = {
  path: '/stores/:id/wallet',
  show: (request) => (isSecondStep(request, 'use-new') ? secondStep(request) : firstStep(request)),
  actions: {
    'use-known': useKnownWallet,
    look: async (request) => {
      sentWallets(request);
      sentStartIndex(request);
      return { show: secondStep(request) };
    },
    'use-new': async (request) =>
      useNewWallet(request, chosenWallet(request), sentStartIndex(request)),
  },
};

const titleOf = (request: PageRequest): string =>
  `Wallet of ${request.parts.store.catalog.store(idIn(request)).name}`;

function firstStep(request: PageRequest) {
  const { catalog } = request.parts.store;
  const { walletId } = catalog.store(idIn(request));
  const others = catalog.wallets().filter(({ id }) => id !== walletId);
  return (
    <Layout request={request} title={titleOf(request)}>
      {others.length === 0 ? null : (
        <Form request={request} action="use-known" button="Use this wallet" needsPassword>
          <Select
            name="wallet"
            label="An existing wallet"
            options={others.map(
              ({ id, scriptType, account }) =>
                [id, `Wallet ${id}: ${scriptType}, ${account.slice(0, 16)}…`] as const,
            )}
            chosen={chosenBefore(request, 'use-known', 'wallet')}
          />
        </Form>
      )}
      <h2>A new wallet</h2>
      <WalletKeyForm request={request} />
    </Layout>
  );
}

function secondStep(request: PageRequest) {
  const wallets = sentWallets(request);
  return (
    <Layout request={request} title={titleOf(request)}>
      <Form request={request} action="use-new" button="Use this wallet" needsPassword>
        <WalletCandidates request={request} wallets={wallets} />
      </Form>
    </Layout>
  );
}

async function useKnownWallet(request: PageRequest): Promise<ActionResult> {
  const { id } = request.parts.store.catalog.wallet(
    wholeNumber(request, 'wallet', 1, Number.MAX_SAFE_INTEGER),
  );
  return attachWallet(request, () => id);
}

async function useNewWallet(
  request: PageRequest,
  choice: ChosenWallet,
  startIndex?: number,
): Promise<ActionResult> {
  const { catalog } = request.parts.store;
  const walletFor = (tx: Tx) => catalog.ensureWallet(tx, request.now, choice.key, startIndex).id;
  return attachWallet(request, walletFor, indexQuery(choice));
}

async function attachWallet(
  request: PageRequest,
  walletFor: (tx: Tx) => number,
  foundQuery = '',
): Promise<ActionResult> {
  const { catalog, database } = request.parts.store;
  const { id } = catalog.store(idIn(request));
  await requireRecentPassword(request);
  await database.write((tx) => {
    const before = requireRunning(catalog.store(id));
    const walletId = walletFor(tx);
    if (before.walletId === walletId) return;
    catalog.changeStore(tx, id, { walletId });
    recordChange(request, tx, 'store.attach', { wallet_id: walletId }, id);
  });
  request.parts.store.events.emit('catalogChanged');
  return { to: `${base}/stores/${id}?done=saved${foundQuery}` };
}
