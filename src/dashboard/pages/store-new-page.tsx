// Adding a store: its wallet by key, then its name and Callback URL.

import { newWebhookSecret } from '../../delivery/signature.ts';
import { setUpShop } from '../../store/records/store-setup.ts';
import { note } from '../audit-entry.ts';
import { requireFresh } from '../dashboard-session.ts';
import { Form, Layout } from '../layout.tsx';
import { base, type Outcome, type Page, type Visit } from '../page.ts';
import { StoreFields, storeSettingsIn } from './store-fields.tsx';
import {
  Candidates,
  chosenWallet,
  foundAt,
  isAtSecondStep,
  KeyForm,
  startIndexIn,
  walletsIn,
} from './wallet-choice.tsx';

const title = 'Add a store';

export const newStorePage: Page = {
  path: '/stores/new',
  show: (visit) => (isAtSecondStep(visit, 'add') ? secondStep(visit) : firstStep(visit)),
  actions: {
    look: async (visit) => {
      walletsIn(visit);
      startIndexIn(visit);
      return { show: secondStep(visit) };
    },
    add,
  },
};

const firstStep = (visit: Visit) => (
  <Layout visit={visit} title={title}>
    <p>A store is a wallet that payments go to, and a Callback URL that is told of them.</p>
    <KeyForm visit={visit} />
  </Layout>
);

function secondStep(visit: Visit) {
  const wallets = walletsIn(visit);
  return (
    <Layout visit={visit} title={title}>
      <Form visit={visit} does="add" button="Add the store" confirm>
        <Candidates visit={visit} wallets={wallets} />
        <h2>The store</h2>
        <StoreFields visit={visit} does="add" />
      </Form>
      <p>
        <a href={`${base}/stores/new`}>Begin again with another key</a>
      </p>
    </Layout>
  );
}

async function add(visit: Visit): Promise<Outcome> {
  const choice = chosenWallet(visit);
  const { key } = choice;
  const startIndex = startIndexIn(visit);
  const { parts, now } = visit;
  const { randomBytes } = parts.world;
  const fields = storeSettingsIn(visit);
  await requireFresh(visit);
  const webhookSecret = newWebhookSecret((length) => randomBytes(length));
  const secret = randomBytes(32);
  const { store } = parts;
  const id = await store.database.write((tx) => {
    const shop = { key, startIndex, secret, fields: { ...fields, webhookSecret } };
    const { row, wallet } = setUpShop(store, tx, now, shop);
    note(visit, tx, 'store.add', { name: row.name, wallet: wallet.id }, row.id);
    return row.id;
  });
  parts.onCatalog();
  const done = store.catalog.choices().length > 1 ? 'added-beside' : 'added';
  return { to: `${base}/stores/${id}?done=${done}${foundAt(choice)}` };
}
