// Adds a store: first its wallet by key, then its name and Callback URL.

import { newWebhookSecret } from '../../../delivery/signature.ts';
import type { StoreSettings } from '../../../domain/store/store-settings.ts';
import { setUpShop } from '../../../store/wallets/store-setup.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { readFields } from '../../parts/form-fields.ts';
import { Form } from '../../parts/form-parts.tsx';
import { Layout } from '../../parts/layout.tsx';
import {
  allSettings,
  NewStoreFields,
  readSettings,
  requireOwnCallbackUrl,
} from './store-fields.tsx';
import { storePath } from './store-layout.tsx';
import {
  checkFirstStep,
  chosenWallet,
  indexQuery,
  isSecondStep,
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
      checkFirstStep(request);
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
        <NewStoreFields request={request} form="add" />
      </Form>
      <p>
        <a href={`${base}/stores/new`}>Start again with another key</a>
      </p>
    </Layout>
  );
}

async function add(request: PageRequest): Promise<ActionResult> {
  const { choice, settings } = readFields(request, (read) => ({
    choice: chosenWallet(request, read),
    settings: readSettings(request, read, allSettings) as StoreSettings,
  }));
  await requireRecentPassword(request);
  const { key, startIndex } = choice;
  const { parts, now } = request;
  const { randomBytes } = parts.world;
  const webhookSecret = newWebhookSecret((length) => randomBytes(length));
  const secret = randomBytes(32);
  const { records } = parts;
  const id = await records.database.write((tx) => {
    requireOwnCallbackUrl(records.catalog, settings.callbackUrl);
    const shop = { key, startIndex, secret, fields: { ...settings, webhookSecret } };
    const { row, wallet } = setUpShop(records, tx, now, shop);
    recordChange(request, tx, 'store.add', { name: row.name, wallet: wallet.id }, row.id);
    return row.id;
  });
  parts.records.events.emit('catalogChanged');
  const done = records.catalog.choices().length > 1 ? 'added-beside' : 'added';
  return { to: `${storePath(id, '/ready')}?done=${done}${indexQuery(choice)}` };
}
