// Tills: devices of the merchant at a counter. A till is added here. Its device scans a code once.

import { base64url } from '@scure/base';
import { orderWords } from '../../../domain/order/state-words.ts';
import { asOfApi, typedDigitsOf } from '../../../domain/order/typed-amount.ts';
import { formatMoney, parseMoney } from '../../../domain/payment/money.ts';
import { storeSettings } from '../../../domain/store/store-settings.ts';
import { formatDecimal } from '../../../domain/text/format.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { TillRow } from '../../../store/orders/tills.ts';
import { requireRunning, type StoreRow } from '../../../store/wallets/catalog.ts';
import { QrCode } from '../../../web/qr-code.tsx';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, field, idIn, type Page, type PageRequest } from '../../page.ts';
import { atField, wholeNumber } from '../../parts/form-fields.ts';
import { AddStoreFirst, Field, Form, StoreSelect } from '../../parts/form-parts.tsx';
import { DoneNote, Facts, Layout, NarrowPage, RowTable } from '../../parts/layout.tsx';
import { orderPath, priceOrSat } from './order-parts.ts';

const here = `${base}/tills`;
const codeBytes = 16;
const labels = {
  name: 'Name',
  'seen-up-to': 'Let the customer go when the payment is seen, up to',
};

export const tillsPage: Page = {
  path: '/tills',
  show(request) {
    const tills = request.parts.records.tills.list();
    return (
      <Layout request={request} title="Tills" add={{ href: `${here}/new`, text: 'Add a till' }}>
        <DoneNote request={request} />
        <p>
          A till is a phone or tablet at your counter. It makes sales, and sees no key, wallet or
          setting.
        </p>
        {tills.length === 0 ? (
          <p>No till yet.</p>
        ) : (
          <RowTable
            label="Tills"
            rows={tills}
            href={({ id }) => `${here}/${id}`}
            columns={[
              ['Till', ({ name }) => name],
              ['Store', (till) => storeOf(request, till).name],
              ['Last used', lastUsed],
              ['Added', ({ createdAt }) => <Time at={createdAt} />],
            ]}
          />
        )}
        <p>
          <a href={`${base}/links`}>Links</a>
        </p>
      </Layout>
    );
  },
};

const storeOf = ({ parts }: PageRequest, { storeId }: TillRow): StoreRow =>
  parts.records.catalog.store(storeId);

const lastUsed = ({ tokenHash, seenAt }: TillRow) =>
  tokenHash === null || seenAt === null ? 'No device yet' : <Time at={seenAt} />;

/** @throws PaygateError not_found */
function tillIn(request: PageRequest): TillRow {
  const till = request.parts.records.tills.byId(idIn(request));
  if (till === undefined || till.removedAt !== null) {
    throw new PaygateError('not_found', 'There is no such till.');
  }
  return till;
}

export const newTillPage: Page = {
  path: '/tills/new',
  show(request) {
    const stores = request.parts.records.catalog.stores();
    return (
      <Layout request={request} title="Add a till">
        {stores.length === 0 ? (
          <AddStoreFirst />
        ) : (
          <Form request={request} action="add" button="Show the code" needsPassword>
            <Field request={request} name="name" label={labels.name} value="Counter" />
            <StoreSelect request={request} form="add" />
            <SeenUpTo request={request} />
          </Form>
        )}
      </Layout>
    );
  },
  actions: { add },
};

const SeenUpTo = ({ request, value }: { request: PageRequest; value?: string | undefined }) => (
  <Field
    request={request}
    name="seen-up-to"
    label={labels['seen-up-to']}
    value={value}
    required={false}
    help="In the currency of the store. If empty, the till asks to wait for a confirmation each time."
    attributes={{ inputmode: 'decimal', autocomplete: 'off' }}
  />
);

export const tillPage: Page = {
  path: '/tills/:id',
  show(request) {
    const till = tillIn(request);
    const store = storeOf(request, till);
    const sales = request.parts.records.tills.salesSince(till.id, 0);
    return (
      <Layout request={request} title={till.name} live>
        <DoneNote request={request} />
        <Facts
          rows={[
            ['Store', <a href={`${base}/stores/${store.id}`}>{store.name}</a>],
            ['Last used', lastUsed(till)],
          ]}
        />
        <Form request={request} action="code" button="Show a code for a device" needsPassword />
        <section aria-labelledby="sales">
          <h2 id="sales">Its newest sales</h2>
          <RowTable
            label="Sales"
            rows={sales}
            href={({ publicId }) => orderPath(publicId)}
            columns={[
              ['Price', priceOrSat],
              ['State', ({ status }) => orderWords[status].text],
              ['Created', ({ createdAt }) => <Time at={createdAt} />],
            ]}
          />
        </section>
        <section aria-labelledby="change">
          <h2 id="change">Settings of the till</h2>
          <Form request={request} action="change" button="Save" needsPassword>
            <Field request={request} name="name" label={labels.name} value={till.name} />
            <SeenUpTo request={request} value={seenUpToText(till, store)} />
          </Form>
          <Form request={request} action="revoke-till" button="Remove the till" isDangerous />
        </section>
      </Layout>
    );
  },
  actions: { code, change, 'revoke-till': remove },
};

const seenUpToText = ({ seenUpTo }: TillRow, { currency }: StoreRow): string | undefined =>
  seenUpTo === null
    ? undefined
    : currency === null
      ? String(seenUpTo)
      : formatDecimal(formatMoney(BigInt(seenUpTo), currency));

/** The name and the sum of the form. @throws PaygateError at a field */
function settingsIn(request: PageRequest, { currency }: StoreRow) {
  return { name: nameIn(request), seenUpTo: seenUpToIn(request, currency) };
}

function nameIn(request: PageRequest): string {
  try {
    return storeSettings.name.parse(field(request, 'name'));
  } catch (error) {
    throw atField('name', labels.name, error);
  }
}

/** In minor units of the currency, or in satoshis. */
function seenUpToIn(request: PageRequest, currency: string | null): number | null {
  const typed = field(request, 'seen-up-to');
  if (typed === '') return null;
  try {
    const text = asOfApi(typed, currency);
    const minor = currency === null ? Number(text) : Number(parseMoney(text, currency));
    if (Number.isSafeInteger(minor) && minor >= 0) return minor;
    throw new PaygateError('invalid', `must be an amount with ${typedDigitsOf(currency)} decimals`);
  } catch (error) {
    throw atField('seen-up-to', labels['seen-up-to'], error);
  }
}

async function add(request: PageRequest): Promise<ActionResult> {
  const { parts, now } = request;
  const { tills, catalog, database } = parts.records;
  const storeId = wholeNumber(request, 'store', 1, Number.MAX_SAFE_INTEGER);
  const settings = settingsIn(request, catalog.store(storeId));
  await requireRecentPassword(request);
  const till = await database.write((tx) => {
    requireRunning(catalog.store(storeId));
    recordChange(request, tx, 'till.add', { name: settings.name }, storeId);
    return tills.add(tx, now, { ...settings, storeId });
  });
  return showCode(request, till);
}

async function code(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  return showCode(request, tillIn(request));
}

/** Makes a code, and shows it once. */
async function showCode(
  request: PageRequest,
  { id, name, storeId }: TillRow,
): Promise<ActionResult> {
  const { parts, now } = request;
  const { tills, database, orderView } = parts.records;
  const secret = base64url.encode(parts.world.randomBytes(codeBytes)).replace(/=+$/, '');
  await database.write((tx) => {
    recordChange(request, tx, 'till.code', { name }, storeId);
    tills.setCode(tx, now, id, secret);
  });
  const url = `${orderView.baseUrl}/till/pair/${secret}`;
  return {
    show: (
      <NarrowPage title={`Scan this with the device of ${name}`}>
        <p>It works once, and for 15 minutes. Whoever opens it becomes this till.</p>
        <QrCode text={url} label="QR code for the device" />
        <p>
          <code>{url}</code>
        </p>
        <p>Then add the page to the home screen of the device.</p>
        <p>
          <a href={`${here}/${id}`}>Done</a>
        </p>
      </NarrowPage>
    ),
  };
}

async function change(request: PageRequest): Promise<ActionResult> {
  const { tills, database } = request.parts.records;
  const till = tillIn(request);
  const settings = settingsIn(request, storeOf(request, till));
  await requireRecentPassword(request);
  await database.write((tx) => {
    recordChange(request, tx, 'till.change', settings, till.storeId);
    tills.change(tx, till.id, settings);
  });
  return { to: `${here}/${till.id}?done=saved` };
}

async function remove(request: PageRequest): Promise<ActionResult> {
  const { tills, database } = request.parts.records;
  const { id, name, storeId } = tillIn(request);
  await database.write((tx) => {
    recordChange(request, tx, 'till.remove', { name }, storeId);
    tills.remove(tx, request.now, id);
  });
  return { to: `${here}?done=till-removed` };
}
