// One payment link: its URL, QR code and HTML to copy, its settings, and a page to print.

import { isDeepStrictEqual } from 'node:util';
import { parseLinkChange } from '../../../domain/order/link-input.ts';
import { type LinkJson, linkAmount } from '../../../domain/order/link-json.ts';
import { LinkRefusal } from '../../../domain/order/link-refusal.ts';
import { storeSettings } from '../../../domain/store/store-settings.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { LinkRow } from '../../../store/orders/link-view.ts';
import type { StoreRow } from '../../../store/wallets/catalog.ts';
import { QrCode } from '../../../web/qr-code.tsx';
import { Copyable, Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, idIn, type Page, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
import { LocalNote } from '../../parts/local-note.tsx';
import { LinkFields, linkBodyIn, readingLink } from './link-fields.tsx';

const buttonText = 'Pay with Bitcoin';

/** @throws PaygateError not_found */
export function linkOf(request: PageRequest): LinkRow {
  const row = request.parts.records.linkView.byId(idIn(request));
  if (row === undefined) throw new PaygateError('not_found', 'There is no such link.');
  return row;
}

export const linkPage: Page = {
  path: '/links/:id',
  show(request) {
    const row = linkOf(request);
    const { linkView, catalog } = request.parts.records;
    const link = linkView.json(row);
    return (
      <Layout request={request} title={row.title}>
        <DoneNote request={request} />
        <LocalNote url={link.url} />
        <LinkFacts link={link} row={row} request={request} store={catalog.store(row.storeId)} />
        <LinkSwitch request={request} row={row} />
        <Snippets link={link} store={catalog.store(row.storeId)} />
        <section aria-labelledby="change">
          <h2 id="change">Settings of the link</h2>
          <p>Orders that it has made stay as they are.</p>
          <Form request={request} action="change" button="Save" needsPassword>
            <LinkFields request={request} form="change" row={row} />
          </Form>
        </section>
      </Layout>
    );
  },
  actions: {
    change: (request) =>
      change(request, (row) => readingLink(() => parseLinkChange(row, changeIn(request)))),
    off: (request) => change(request, (row) => ({ ...row, isActive: false })),
    on: (request) => change(request, (row) => ({ ...row, isActive: true })),
  },
};

interface LinkProps {
  readonly link: LinkJson;
  readonly store: StoreRow;
}

interface LinkFactsProps extends LinkProps {
  readonly request: PageRequest;
  readonly row: LinkRow;
}

const LinkFacts = ({ link, row, request, store }: LinkFactsProps) => (
  <>
    <p>
      <Copyable id="link-url" name="the URL of the link">
        {link.url}
      </Copyable>
    </p>
    <QrCode text={link.url} label={`QR code of ${link.url}`} />
    <p>
      <a href={link.url}>Open the page</a> ·{' '}
      <a href={`${base}/links/${row.id}/print`}>Print its poster</a>
    </p>
    <dl class="facts">
      <dt>State</dt>
      <dd>{row.isActive ? <OnText request={request} row={row} /> : 'Off'}</dd>
      <dt>Amount</dt>
      <dd>{linkAmount(link)}</dd>
      <dt>Orders</dt>
      <dd>
        {link.order_count}, {link.paid_count} paid
        {link.most_orders === null ? '' : ` of ${link.most_orders}`}
      </dd>
      <dt>Store</dt>
      <dd>
        <a href={`${base}/stores/${store.id}`}>{store.name}</a>
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={row.createdAt} />
      </dd>
    </dl>
  </>
);

/** On, and why the link makes no orders nevertheless. */
const OnText = ({ request: { parts }, row }: Pick<LinkFactsProps, 'request' | 'row'>) => {
  try {
    parts.records.links.checkOpen(row.id, parts.walletGap);
    return 'On';
  } catch (error) {
    if (!(error instanceof LinkRefusal)) throw error;
    const why = 'On, but it makes no orders now:';
    if (error.reason === 'used-up') return `${why} as many are paid as it may have.`;
    if (error.reason === 'inactive') return `${why} its store is archived, or has no wallet.`;
    return (
      <>
        {why} too many addresses of its wallet are unpaid. See{' '}
        <a href={`${base}/addresses`}>Addresses</a>.
      </>
    );
  }
};

const LinkSwitch = ({ request, row }: { readonly request: PageRequest; readonly row: LinkRow }) =>
  row.isActive ? (
    <Form request={request} action="off" button="Switch the link off" isQuiet needsPassword />
  ) : (
    <Form request={request} action="on" button="Switch the link on" needsPassword />
  );

const Snippets = ({ link: { url }, store }: LinkProps) => (
  <section aria-labelledby="site">
    <h2 id="site">On your site</h2>
    <p>A button that opens the page:</p>
    <pre>
      <code>{`<a href="${url}">${buttonText}</a>`}</code>
    </pre>
    <p>The page inside of yours:</p>
    <pre>
      <code>{`<iframe src="${url}" title="${buttonText}" width="400" height="720"></iframe>`}</code>
    </pre>
    <p>
      {store.embedOrigins === ''
        ? 'No site may show the page in a frame yet. '
        : `These sites may show the page in a frame: ${store.embedOrigins}. `}
      Name your site, such as https://shop.example, in the field “{storeSettings.embedOrigins.label}
      ” of the <a href={`${base}/stores/${store.id}/general`}>general settings of the store</a>.
    </p>
  </section>
);

/** The change of the form: fields of the other unit have no value. */
function changeIn(request: PageRequest) {
  const none = { amount: null, min: null, max: null, suggested: null };
  const noSat = { amount_sat: null, min_sat: null, max_sat: null, suggested_sat: null };
  return { ...none, ...noSat, ...linkBodyIn(request) };
}

async function change(
  request: PageRequest,
  changed: (row: LinkRow) => Parameters<PageRequest['parts']['records']['links']['change']>[2],
): Promise<ActionResult> {
  const { id, publicId, storeId } = linkOf(request);
  const { links, database } = request.parts.records;
  // Refused before the password is asked for.
  changed(linkOf(request));
  await requireRecentPassword(request);
  await database.write((tx) => {
    const before = linkOf(request);
    const after = links.change(tx, id, changed(before));
    if (isDeepStrictEqual(before, after)) return;
    const { title, amount, currency, isActive: active } = after;
    const detail = { link: publicId, title, amount, currency, active };
    recordChange(request, tx, 'link.change', detail, storeId);
  });
  return { to: `${base}/links/${id}?done=saved` };
}
