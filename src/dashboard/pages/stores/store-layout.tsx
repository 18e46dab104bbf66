// The frame of a store's pages: its sections, and what a removed store shows in place of them.

import type { Child } from 'hono/jsx';
import type { StoreRow } from '../../../store/wallets/catalog.ts';
import { Time } from '../../../web/values.tsx';
import { base, idIn, type PageRequest } from '../../page.ts';
import { Layout } from '../../parts/layout.tsx';

/** Below the path of a store. */
const sections = [
  ['', 'Overview'],
  ['/general', 'General'],
  ['/wallet', 'Wallet'],
  ['/callbacks', 'Callbacks'],
  ['/webhooks', 'Webhooks'],
  ['/notifications', 'Notifications'],
  ['/keys', 'Keys'],
  ['/plugin', 'Plugin'],
  ['/danger', 'Danger'],
] as const;

export type StoreSection = (typeof sections)[number][0];

/** The path of a page of a store. */
export const storePath = (id: number, page = ''): string => `${base}/stores/${id}${page}`;

/** The store of the page. @throws PaygateError not_found */
export const storeOf = (request: PageRequest): StoreRow =>
  request.parts.records.catalog.store(idIn(request));

export interface StoreProps {
  readonly request: PageRequest;
  readonly row: StoreRow;
}

/** A section of a store, with links to the others. */
export const storeMarkup = (
  request: PageRequest,
  section: StoreSection,
  content: (props: StoreProps) => Child,
) => {
  const row = storeOf(request);
  return (
    <Layout request={request} title={titleOf(row, section)}>
      {row.archivedAt === null ? (
        <>
          <Sections row={row} current={section} />
          {content({ request, row })}
        </>
      ) : (
        <RemovedStore row={row} removedAt={row.archivedAt} />
      )}
    </Layout>
  );
};

const titleOf = (row: StoreRow, section: StoreSection): string =>
  [
    row.name,
    ...sections.flatMap(([path, name]) => (path === section && path !== '' ? [name] : [])),
  ].join(': ');

/** A store has the pages of callbacks and webhooks once it has a URL, or while they are open. */
const shownSections = ({ callbackUrl, webhookUrl }: StoreRow, current: StoreSection) =>
  sections.filter(
    ([path]) =>
      path === current ||
      (path === '/callbacks' ? callbackUrl !== '' : path !== '/webhooks' || webhookUrl !== null),
  );

const Sections = ({ row, current }: { readonly row: StoreRow; readonly current: StoreSection }) => (
  <nav class="sub" aria-label="Pages of the store">
    <ul>
      {shownSections(row, current).map(([path, name]) => (
        <li>
          <a href={storePath(row.id, path)} aria-current={path === current ? 'page' : undefined}>
            {name}
          </a>
        </li>
      ))}
    </ul>
  </nav>
);

const RemovedStore = ({
  row,
  removedAt,
}: {
  readonly row: StoreRow;
  readonly removedAt: number;
}) => (
  <>
    <p>
      This store was removed: <Time at={removedAt} />. Payments to its addresses{' '}
      {row.callbacksStopped ? 'are recorded without callbacks' : 'still send callbacks'}.
    </p>
    <p>
      <a href={storePath(row.id, '/restore')}>Use the store again…</a>
    </p>
  </>
);
