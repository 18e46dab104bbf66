// Another wallet for a store: one that there is, or a new one by its key. What was given out stays with the
// wallet that it came from.

import type { Tx } from '../../store/db/writer.ts';
import { requireRunning } from '../../store/records/catalog.ts';
import { note } from '../audit-entry.ts';
import { requireFresh } from '../dashboard-session.ts';
import { wholeNumber } from '../form-fields.ts';
import { Form, Layout, Select, sentChoice } from '../layout.tsx';
import { base, idIn, type Outcome, type Page, type Visit } from '../page.ts';
import {
  Candidates,
  type Choice,
  chosenWallet,
  foundAt,
  isAtSecondStep,
  KeyForm,
  startIndexIn,
  walletsIn,
} from './wallet-choice.tsx';

export const storeWalletPage: Page = {
  path: '/stores/:id/wallet',
  show: (visit) => (isAtSecondStep(visit, 'use-new') ? secondStep(visit) : firstStep(visit)),
  actions: {
    'use-known': useKnown,
    look: async (visit) => {
      walletsIn(visit);
      startIndexIn(visit);
      return { show: secondStep(visit) };
    },
    'use-new': async (visit) => useNew(visit, chosenWallet(visit), startIndexIn(visit)),
  },
};

const titleOf = (visit: Visit): string =>
  `Wallet of ${visit.parts.store.catalog.store(idIn(visit)).name}`;

function firstStep(visit: Visit) {
  const { catalog } = visit.parts.store;
  const { walletId } = catalog.store(idIn(visit));
  const others = catalog.wallets().filter(({ id }) => id !== walletId);
  return (
    <Layout visit={visit} title={titleOf(visit)}>
      {others.length === 0 ? null : (
        <Form visit={visit} does="use-known" button="Use it" confirm>
          <Select
            name="wallet"
            label="A wallet that paygate knows"
            options={others.map(
              ({ id, scriptType, account }) =>
                [id, `Wallet ${id}: ${scriptType}, ${account.slice(0, 16)}…`] as const,
            )}
            chosen={sentChoice(visit, 'use-known', 'wallet')}
          />
        </Form>
      )}
      <h2>A new wallet</h2>
      <KeyForm visit={visit} />
    </Layout>
  );
}

function secondStep(visit: Visit) {
  const wallets = walletsIn(visit);
  return (
    <Layout visit={visit} title={titleOf(visit)}>
      <Form visit={visit} does="use-new" button="Use this wallet" confirm>
        <Candidates visit={visit} wallets={wallets} />
      </Form>
    </Layout>
  );
}

async function useKnown(visit: Visit): Promise<Outcome> {
  const { id } = visit.parts.store.catalog.wallet(
    wholeNumber(visit, 'wallet', 1, Number.MAX_SAFE_INTEGER),
  );
  return attach(visit, () => id);
}

async function useNew(visit: Visit, choice: Choice, startIndex?: number): Promise<Outcome> {
  const { catalog } = visit.parts.store;
  const walletFor = (tx: Tx) => catalog.ensureWallet(tx, visit.now, choice.key, startIndex).id;
  return attach(visit, walletFor, foundAt(choice));
}

async function attach(visit: Visit, walletFor: (tx: Tx) => number, found = ''): Promise<Outcome> {
  const { catalog, database } = visit.parts.store;
  const { id } = catalog.store(idIn(visit));
  await requireFresh(visit);
  await database.write((tx) => {
    const before = requireRunning(catalog.store(id));
    const walletId = walletFor(tx);
    if (before.walletId === walletId) return;
    catalog.changeStore(tx, id, { walletId });
    note(visit, tx, 'store.attach', { wallet_id: walletId }, id);
  });
  visit.parts.onCatalog();
  return { to: `${base}/stores/${id}?done=saved${found}` };
}
