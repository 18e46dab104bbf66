// Adds a store: how its money comes, its wallet by key, its name and currency. All other settings
// have defaults, and pages of their own.

import type { WalletKey } from '../../../bitcoin/keychain.ts';
import { newWebhookSecret } from '../../../delivery/signature.ts';
import { type MoneyWay, moneyQuestion, moneyWays } from '../../../domain/store/money-way.ts';
import { defaultStoreSettings, type StoreSettings } from '../../../domain/store/store-settings.ts';
import { PaygateError } from '../../../lib/errors.ts';
import { setUpShop } from '../../../store/wallets/store-setup.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, field, type Page, type PageRequest } from '../../page.ts';
import { readFields } from '../../parts/form-fields.ts';
import { Form } from '../../parts/form-parts.tsx';
import { Layout } from '../../parts/layout.tsx';
import { readSettings, type SettingNames, StoreFields } from './store-fields.tsx';
import { storePath } from './store-layout.tsx';
import {
  checkFirstStep,
  chosenWallet,
  indexQuery,
  isSecondStep,
  sentWallets,
  storesWithKey,
  WalletCandidates,
  WalletKeyForm,
} from './wallet-choice.tsx';

const title = 'Add a store';
const settings: SettingNames = ['name', 'currency'];

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
    <WalletKeyForm request={request}>
      <fieldset>
        <legend>{moneyQuestion}</legend>
        {Object.entries(moneyWays).map(([way, label]) => (
          <label>
            <input type="radio" name="way" value={way} checked={way === wayIn(request)} />
            {label}
          </label>
        ))}
      </fieldset>
    </WalletKeyForm>
  </Layout>
);

/** What was answered; links without an answer, because they need nothing else. */
const wayIn = (request: PageRequest): MoneyWay =>
  (Object.keys(moneyWays) as MoneyWay[]).find((way) => way === field(request, 'way')) ?? 'links';

function secondStep(request: PageRequest) {
  const wallets = sentWallets(request);
  return (
    <Layout request={request} title={title}>
      <Form request={request} action="add" button="Add the store" needsPassword>
        <input type="hidden" name="way" value={wayIn(request)} />
        <WalletCandidates request={request} wallets={wallets} />
        <h2>The store</h2>
        <StoreFields request={request} form="add" names={settings} />
      </Form>
      <p>
        <a href={`${base}/stores/new`}>Start again with another key</a>
      </p>
    </Layout>
  );
}

async function add(request: PageRequest): Promise<ActionResult> {
  const way = wayIn(request);
  const { choice, chosen } = readFields(request, (read) => ({
    choice: chosenWallet(request, read),
    chosen: readSettings(request, read, settings) as Pick<StoreSettings, 'name' | 'currency'>,
  }));
  await requireRecentPassword(request);
  const { key, startIndex } = choice;
  const { parts, now } = request;
  const { randomBytes } = parts.world;
  const webhookSecret = newWebhookSecret((length) => randomBytes(length));
  const secret = randomBytes(32);
  const { records } = parts;
  const id = await records.database.write((tx) => {
    refuseTwin(request, key, chosen.name);
    const fields = { ...defaultStoreSettings, callbackUrl: '', ...chosen, webhookSecret };
    const { row, wallet } = setUpShop(records, tx, now, { key, startIndex, secret, fields });
    records.state.moneyWay(row.id).write(tx, way);
    recordChange(request, tx, 'store.add', { name: row.name, wallet: wallet.id, way }, row.id);
    return row.id;
  });
  parts.records.events.emit('catalogChanged');
  const isBeside = way === 'program' && records.catalog.choices().length > 1;
  const done = isBeside ? 'added-beside' : 'added';
  return { to: `${storePath(id, '/ready')}?done=${done}${indexQuery(choice)}` };
}

/** A form that is sent twice adds one store. @throws PaygateError conflict */
function refuseTwin(request: PageRequest, key: WalletKey, storeName: string): void {
  const twin = storesWithKey(request, key).find(({ name }) => name === storeName);
  if (twin === undefined) return;
  throw new PaygateError(
    'conflict',
    `Nothing is changed: store ${twin.id} ${JSON.stringify(twin.name)} uses this wallet already.`,
  );
}
