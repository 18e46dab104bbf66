// Adds a store: first its wallet by key, then its name and Callback URL.

import { newWebhookSecret } from '../../delivery/signature.ts';
import { setUpShop } from '../../store/records/store-setup.ts';
import { recordChange } from '../audit-entry.ts';
import { requireRecentPassword } from '../dashboard-session.ts';
import { Form } from '../form-parts.tsx';
import { Layout } from '../layout.tsx';
import { type ActionResult, base, type Page, type PageRequest } from '../page.ts';
import { StoreFields, storeSettingsIn } from './store-fields.tsx';
import {
  chosenWallet,
  indexQuery,
  isSecondStep,
  sentStartIndex,
  sentWallets,
  WalletCandidates,
  WalletKeyForm,
} from './wallet-choice.tsx';

const title = 'Add a store';

export const newStorePage: Page = {
  path: '/stores/new',
  show: (request) => (isSecondStep(request, 'add') ? secondStep(request) : firstStep(request)),
  actions: {
    look: async (request) => {
      sentWallets(request);
      sentStartIndex(request);
      return { show: secondStep(request) };
    },
    add,
  },
};

const firstStep = (request: PageRequest) => (
  <Layout request={request} title={title}>
    <p>A store has a wallet that receives payments, and a Callback URL that receives callbacks.</p>
    <WalletKeyForm request={request} />
  </Layout>
);

function secondStep(request: PageRequest) {
  const wallets = sentWallets(request);
  return (
    <Layout request={request} title={title}>
      <Form request={request} action="add" button="Add the store" needsPassword>
        <WalletCandidates request={request} wallets={wallets} />
        <h2>The store</h2>
        <StoreFields request={request} form="add" />
      </Form>
      <p>
        <a href={`${base}/stores/new`}>Start again with another key</a>
      </p>
    </Layout>
  );
}

async function add(request: PageRequest): Promise<ActionResult> {
  const choice = chosenWallet(request);
  const { key } = choice;
  const startIndex = sentStartIndex(request);
  const { parts, now } = request;
  const { randomBytes } = parts.world;
  const fields = storeSettingsIn(request);
  await requireRecentPassword(request);
  const webhookSecret = newWebhookSecret((length) => randomBytes(length));
  const secret = randomBytes(32);
  const { store } = parts;
  const id = await store.database.write((tx) => {
    const shop = { key, startIndex, secret, fields: { ...fields, webhookSecret } };
    const { row, wallet } = setUpShop(store, tx, now, shop);
    recordChange(request, tx, 'store.add', { name: row.name, wallet: wallet.id }, row.id);
    return row.id;
  });
  parts.store.events.emit('catalogChanged');
  const done = store.catalog.choices().length > 1 ? 'added-beside' : 'added';
  return { to: `${base}/stores/${id}?done=${done}${indexQuery(choice)}` };
}
