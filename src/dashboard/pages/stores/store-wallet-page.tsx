// The wallet of a store, and another one for it: an existing wallet, or a new one by its key.
// Issued addresses stay with their wallet. Its Lightning node, which makes invoices beside them.

import { PaygateError } from '../../../lib/errors.ts';
import { parseNodeSettings } from '../../../lightning/node-settings.ts';
import type { Tx } from '../../../store/db/writer.ts';
import { requireRunning, type WalletRow } from '../../../store/wallets/catalog.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, field, type Page, type PageRequest } from '../../page.ts';
import { Confirmation } from '../../parts/confirmation.tsx';
import { fieldError, readFields, wholeNumber } from '../../parts/form-fields.ts';
import {
  chosenBefore,
  FaultNote,
  Field,
  Form,
  faultAttributes,
  Select,
} from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
import { type StoreProps, storeMarkup, storeOf, storePath } from './store-layout.tsx';
import {
  type ChosenWallet,
  checkFirstStep,
  chosenWallet,
  indexQuery,
  isSecondStep,
  otherStoresOf,
  SharedWallet,
  sentWallets,
  WalletCandidates,
  WalletKeyForm,
} from './wallet-choice.tsx';

export const storeWalletPage: Page = {
  path: '/stores/:id/wallet',
  show: (request) => storeMarkup(request, '/wallet', (props) => <StoreWallet {...props} />),
  actions: { 'set-node': setNode, 'remove-node': removeNode },
};

const StoreWallet = ({ request, row }: StoreProps) => {
  const { walletId } = row;
  return (
    <>
      <DoneNote request={request} />
      {walletId === null ? (
        <p class="alarm">This store has no wallet, so it issues no addresses.</p>
      ) : (
        <>
          <WalletFacts wallet={request.parts.records.catalog.wallet(walletId)} />
          <SharedWallet stores={otherStoresOf(request, walletId, row.id)} />
        </>
      )}
      <p>
        <a href={storePath(row.id, '/wallet/new')}>
          {walletId === null ? 'Choose a wallet' : 'Use another wallet…'}
        </a>
      </p>
      <LightningNode request={request} row={row} />
    </>
  );
};

const kinds = [
  ['lnd', 'LND'],
  ['phoenixd', 'phoenixd'],
] as const;

const labels = { kind: 'Kind of node', url: 'URL', credential: 'Credential' };

const LightningNode = ({ request, row }: StoreProps) => {
  const node = request.parts.records.state.lightningNode(row.id).read();
  const chosen = chosenBefore(request, 'set-node', 'node-kind') ?? node?.kind;
  return (
    <section aria-labelledby="lightning">
      <h2 id="lightning">Lightning node</h2>
      {node === undefined ? null : (
        <>
          <dl class="facts">
            <dt>Node</dt>
            <dd>
              {node.kind} at <code>{node.url}</code>
            </dd>
            <dt>Public key</dt>
            <dd>
              <code>{node.publicKey}</code>
            </dd>
          </dl>
          <Form request={request} action="remove-node" button="Remove the node" needsPassword />
        </>
      )}
      <details open={node === undefined ? undefined : request.form.get('do') === 'set-node'}>
        <summary>{node === undefined ? 'Receive by your own node' : 'Set it anew'}</summary>
        <p>
          Orders get a Lightning invoice beside their address. The node needs a credential that can
          make invoices and can’t spend: paygate checks that, and refuses any other.
        </p>
        <Form request={request} action="set-node" button="Check and save" needsPassword>
          <Select
            request={request}
            name="node-kind"
            label={labels.kind}
            options={kinds}
            chosen={chosen}
          />
          <Field
            request={request}
            name="node-url"
            label={labels.url}
            value={node?.url}
            help="Such as https://umbrel.local:8080 (LND) or http://127.0.0.1:9740 (phoenixd)."
            attributes={{ inputmode: 'url', spellcheck: 'false', autocomplete: 'off' }}
          />
          <label>
            {labels.credential}
            <input
              type="password"
              name="node-credential"
              required
              autocomplete="off"
              {...faultAttributes(request, 'node-credential')}
            />
            <small>
              LND: the hex of a macaroon by{' '}
              <code>lncli bakemacaroon invoices:read invoices:write</code>. phoenixd:
              http-password-limited-access in phoenix.conf.
            </small>
          </label>
          <FaultNote request={request} name="node-credential" />
        </Form>
      </details>
    </section>
  );
};

async function setNode(request: PageRequest): Promise<ActionResult> {
  const { checkNode, records } = request.parts;
  const { id } = requireRunning(storeOf(request));
  await requireRecentPassword(request);
  const kind = field(request, 'node-kind') === 'phoenixd' ? 'phoenixd' : 'lnd';
  // Any other one is of the URL: the text does not say which field is wrong.
  const settings = readFields(request, (read) => {
    const credential = request.form.get('node-credential') ?? '';
    return read('node-url', '', (url) => parseNodeSettings(kind, url, credential));
  });
  const { node, cursor } = await checkNode(settings).catch((error: unknown) => {
    const isRefused = error instanceof PaygateError && error.code === 'forbidden';
    const name = isRefused ? 'node-credential' : 'node-url';
    throw error instanceof PaygateError ? fieldError('invalid', name, error.message) : error;
  });
  await records.database.write((tx) => {
    records.lightningInvoices.setNode(tx, request.now, id, node, cursor);
    const detail = { node: node.kind, url: node.url, public_key: node.publicKey };
    recordChange(request, tx, 'store.lightning', detail, id);
  });
  return changedNode(request);
}

async function removeNode(request: PageRequest): Promise<ActionResult> {
  const { records } = request.parts;
  const { id } = storeOf(request);
  await requireRecentPassword(request);
  await records.database.write((tx) => {
    records.lightningInvoices.setNode(tx, request.now, id, undefined);
    recordChange(request, tx, 'store.lightning-off', {}, id);
  });
  return changedNode(request);
}

function changedNode(request: PageRequest): ActionResult {
  request.parts.records.events.emit('catalogChanged');
  return { to: `${storePath(storeOf(request).id, '/wallet')}?done=saved` };
}

const WalletFacts = ({ wallet }: { readonly wallet: WalletRow }) => (
  <dl class="facts">
    <dt>Wallet</dt>
    <dd>{wallet.id}</dd>
    <dt>Key</dt>
    <dd>
      <code>{wallet.account}</code>
    </dd>
    <dt>Address type</dt>
    <dd>{wallet.scriptType}</dd>
    <dt>Next index</dt>
    <dd>{wallet.scannedAt === null ? 'scanning the chain' : wallet.nextIndex}</dd>
  </dl>
);

export const newWalletPage: Page = {
  path: '/stores/:id/wallet/new',
  show: (request) => {
    if (isSecondStep(request, 'use-new')) return confirmNew(request);
    return request.form.get('do') === 'use-known' ? confirmKnown(request) : choose(request);
  },
  actions: {
    'look-known': async (request) => ({ show: confirmKnown(request) }),
    'use-known': useKnownWallet,
    look: async (request) => {
      checkFirstStep(request);
      return { show: confirmNew(request) };
    },
    'use-new': async (request) =>
      useNewWallet(
        request,
        readFields(request, (read) => chosenWallet(request, read)),
      ),
  },
};

const titleOf = (request: PageRequest): string => `Another wallet for ${storeOf(request).name}`;

function choose(request: PageRequest) {
  const { walletId } = storeOf(request);
  const others = request.parts.records.catalog.wallets().filter(({ id }) => id !== walletId);
  return (
    <Layout request={request} title={titleOf(request)}>
      {others.length === 0 ? null : (
        <Form request={request} action="look-known" button="Continue">
          <Select
            name="wallet"
            label="An existing wallet"
            options={others.map((wallet) => [wallet.id, nameOf(wallet)] as const)}
            chosen={chosenBefore(request, 'look-known', 'wallet')}
          />
        </Form>
      )}
      <h2>A new wallet</h2>
      <WalletKeyForm request={request} />
      <p>
        <a href={storePath(storeOf(request).id, '/wallet')}>Cancel</a>
      </p>
    </Layout>
  );
}

const nameOf = ({ id, scriptType, account }: WalletRow): string =>
  `Wallet ${id}: ${scriptType}, ${account.slice(0, 16)}…`;

const consequences = [
  'New addresses and orders of this store use this wallet.',
  'Addresses that were already issued stay with the former wallet. paygate still watches them, and ' +
    'their payments still call back.',
  'You can go back to the former wallet at any time.',
];

function confirmKnown(request: PageRequest) {
  const wallet = sentWallet(request);
  const { id } = storeOf(request);
  return (
    <Layout request={request} title={titleOf(request)}>
      <Confirmation
        request={request}
        action="use-known"
        button="Use this wallet"
        consequences={consequences}
        cancel={storePath(id, '/wallet')}
      >
        <input type="hidden" name="wallet" value={wallet.id} />
        <p>{nameOf(wallet)}</p>
        <SharedWallet stores={otherStoresOf(request, wallet.id, id)} />
      </Confirmation>
    </Layout>
  );
}

function confirmNew(request: PageRequest) {
  const wallets = sentWallets(request);
  return (
    <Layout request={request} title={titleOf(request)}>
      <Confirmation
        request={request}
        action="use-new"
        button="Use this wallet"
        consequences={consequences}
        cancel={storePath(storeOf(request).id, '/wallet')}
      >
        <WalletCandidates request={request} wallets={wallets} />
      </Confirmation>
    </Layout>
  );
}

/** @throws PaygateError not_found */
const sentWallet = (request: PageRequest): WalletRow =>
  request.parts.records.catalog.wallet(wholeNumber(request, 'wallet', 1, Number.MAX_SAFE_INTEGER));

async function useKnownWallet(request: PageRequest): Promise<ActionResult> {
  const { id } = sentWallet(request);
  return attachWallet(request, () => id);
}

async function useNewWallet(request: PageRequest, choice: ChosenWallet): Promise<ActionResult> {
  const { catalog } = request.parts.records;
  const walletFor = (tx: Tx) =>
    catalog.ensureWallet(tx, request.now, choice.key, choice.startIndex).id;
  return attachWallet(request, walletFor, indexQuery(choice));
}

async function attachWallet(
  request: PageRequest,
  walletFor: (tx: Tx) => number,
  foundQuery = '',
): Promise<ActionResult> {
  const { catalog, database } = request.parts.records;
  const { id } = storeOf(request);
  await requireRecentPassword(request);
  await database.write((tx) => {
    const before = requireRunning(catalog.store(id));
    const walletId = walletFor(tx);
    if (before.walletId === walletId) return;
    catalog.changeStore(tx, id, { walletId });
    recordChange(request, tx, 'store.attach', { wallet_id: walletId }, id);
  });
  request.parts.records.events.emit('catalogChanged');
  return { to: `${storePath(id, '/wallet')}?done=saved${foundQuery}` };
}
