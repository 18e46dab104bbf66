// The parts of every page: frame, navigation, forms with their token, and tables.
// JSX escapes all text, so text of strangers cannot become markup.

import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import { severalStoresAdvice } from '../../domain/store/store-choice.ts';
import { Wordmark } from '../../web/brand.tsx';
import { htmlDocument, reloadScript, reloadUnlessFollowed } from '../../web/html-page.ts';
import { Time } from '../../web/values.tsx';
import { assetPath } from '../assets.ts';
import { accountPath, base, isViewer, type PageRequest } from '../page.ts';
import { faultText } from './form-fields.ts';

/** Paths below `/dashboard`: the page of a section, and pages beside it that belong to it. */
type Section = readonly [path: string, name: string, beside?: string];

/** What a merchant uses each day; the settings have their account, mails and time zone. */
const sections: readonly Section[] = [
  ['', 'Overview', '/welcome'],
  ['/orders', 'Orders'],
  ['/payments', 'Payments'],
  ['/links', 'Links and tills', '/tills'],
  ['/stores', 'Stores'],
  ['/settings', 'Settings'],
];

const technicalSections: readonly Section[] = [
  ['/addresses', 'Addresses'],
  ['/callbacks', 'Deliveries', '/events'],
  ['/servers', 'Servers'],
];

const viewerSections: readonly Section[] = [
  ['', 'Overview'],
  ['/orders', 'Orders'],
  ['/payments', 'Payments'],
  [accountPath.slice(base.length), 'Account'],
];

interface FrameProps {
  readonly title: string;
  readonly children?: Child;
}

const Frame = ({ title, reloads = false, children }: FrameProps & { readonly reloads?: boolean }) =>
  htmlDocument({
    title: `${title} – paygate`,
    head: html`<link rel="icon" href="${assetPath('icon')}" type="image/svg+xml" />
      <link rel="stylesheet" href="${assetPath('style')}" />
      ${reloads ? reloadScript.markup : ''}
      <script type="module" src="${assetPath('script')}"></script>`,
    body: <>{children}</>,
  });

/** A page without navigation, for a reader without a session. */
export const NarrowPage = ({ title, children }: FrameProps) => (
  <Frame title={title}>
    <main class="narrow">
      <p>
        <Wordmark />
      </p>
      <h1>{title}</h1>
      {children}
    </main>
  </Frame>
);

/** A page to print, which names the shop alone. */
export const PrintedPage = ({ title, children }: FrameProps) => (
  <Frame title={title}>
    <main class="printed">{children}</main>
  </Frame>
);

interface LayoutProps extends FrameProps {
  readonly request: PageRequest;
  /** What the page is headed with, if it is more than the title of its tab. */
  readonly heading?: Child;
  /** What is added here, by a button at the same place of each page. No viewer adds anything. */
  readonly add?: { readonly href: string; readonly text: string };
  /** Whether the script refreshes the page when a payment changes. */
  readonly live?: boolean;
  /** Whether the script refreshes the page every few seconds. */
  readonly poll?: boolean;
}

export const Layout = ({ request, title, heading, add, live, poll, children }: LayoutProps) => {
  // The answer to a form is at no URL: what a request for the page brings is another page.
  const isAnswer = request.context.req.method === 'POST';
  const reloads = (live === true || poll === true) && !isAnswer;
  if (reloads) reloadUnlessFollowed(request.context);
  return (
    <Frame title={title} reloads={reloads}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <div class="shell">
        <Sections request={request} />
        <main
          id="main"
          data-live={live && !isAnswer ? `${base}/live` : undefined}
          data-poll={poll && !isAnswer ? '3000' : undefined}
        >
          <div class="title">
            <h1>{heading ?? title}</h1>
            {add === undefined || isViewer(request) ? null : (
              <a class="button" href={add.href}>
                {add.text}
              </a>
            )}
          </div>
          <ProblemNote request={request} />
          {children}
        </main>
      </div>
    </Frame>
  );
};

/** A column on wide screens; on narrow ones a menu that opens without a script. */
const Sections = ({ request }: { readonly request: PageRequest }) => (
  <header>
    <a href={base}>
      <Wordmark />
    </a>
    <button type="button" class="menu" popovertarget="sections">
      Menu
    </button>
    <nav id="sections" class="sections" popover="auto" aria-label="Sections">
      <ul>
        {sectionsFor(request).map((section) => (
          <SectionLink request={request} section={section} />
        ))}
        {isViewer(request) ? null : <Technical request={request} />}
      </ul>
      <ul>
        <li>
          <a href="/docs">API docs</a>
        </li>
        <li>
          <a href={`${base}/sign-out`}>Sign out</a>
        </li>
      </ul>
    </nav>
  </header>
);

interface SectionLinkProps {
  readonly request: PageRequest;
  readonly section: Section;
}

const SectionLink = ({ request, section }: SectionLinkProps) => (
  <li>
    <a href={base + section[0]} aria-current={isCurrent(request, section) ? 'page' : undefined}>
      {section[1]}
    </a>
  </li>
);

/** Folded, except on a page of it. */
const Technical = ({ request }: Pick<SectionLinkProps, 'request'>) => (
  <li>
    <details open={technicalSections.some((section) => isCurrent(request, section))}>
      <summary>Technical</summary>
      <ul>
        {technicalSections.map((section) => (
          <SectionLink request={request} section={section} />
        ))}
      </ul>
    </details>
  </li>
);

const isCurrent = (request: PageRequest, [path, , beside]: Section): boolean =>
  isIn(request, path) || isIn(request, beside);

const sectionsFor = (request: PageRequest): readonly Section[] =>
  isViewer(request) ? viewerSections : [...sections, ...extraSections(request)];

const extraSections = ({ parts }: PageRequest): readonly Section[] =>
  parts.extraPages.flatMap(({ path, name }) => (name === undefined ? [] : [[path, name] as const]));

function isIn({ url }: PageRequest, path: string | undefined): boolean {
  const here = url.split('?')[0] ?? '';
  const there = base + path;
  return path === '' ? here === there : here === there || here.startsWith(`${there}/`);
}

interface OwnersLinkProps {
  readonly request: PageRequest;
  /** Below `/dashboard`. */
  readonly to: string;
  readonly children?: Child;
}

/** A link to a page that is not for viewers: they see its text. */
export const OwnersLink = ({ request, to, children }: OwnersLinkProps) => (
  <a href={isViewer(request) ? undefined : base + to}>{children}</a>
);

export const ProblemNote = ({ request: { problem, faults } }: { readonly request: PageRequest }) =>
  problem === undefined ? null : faults === undefined || faults.size < 2 ? (
    <p role="alert" class="problem">
      {problem}
    </p>
  ) : (
    <div role="alert" class="problem">
      <p>Nothing was changed. Correct these fields:</p>
      <ul>
        {[...faults.values()].map((fault) => (
          <li>{faultText(fault)}</li>
        ))}
      </ul>
    </div>
  );

const doneTexts: ReadonlyMap<string, string> = new Map(
  Object.entries({
    added: 'Store added.',
    'added-beside': `Store added. ${severalStoresAdvice}`,
    saved: 'Saved.',
    'backup-made': 'The backup is made. It is selected below.',
    revoked: 'The key is revoked.',
    'link-added': 'Link added.',
    'till-removed': 'The till is removed. Its device can do nothing more.',
    'order-accepted': 'The order is accepted.',
    'refund-sent': 'The refund is noted as sent.',
    'refund-discarded': 'The refund is discarded.',
    'order-canceled': 'The order is canceled.',
    removed: 'Store removed. To use it again, find it under “Removed stores” below.',
    restored: 'The store is active again.',
    resent: 'Sending again now.',
    'none-failed': 'This store has no failed delivery that is not already being sent again.',
    'none-doubtful': 'This store has no delivery whose last response is doubtful.',
    accepted: 'The certificate is pinned. paygate reconnects now, and the server must present it.',
    lifted:
      'The ban is lifted. paygate reconnects now; a server that sends false data is banned again.',
    followed: 'paygate follows the branch from its next block on.',
    opened: 'A plugin may now set up its store.',
    shut: 'Plugins can no longer change stores.',
    'password-changed': 'The password is changed, and all other sessions have ended.',
    'passkey-added': 'The passkey is added. From now on it signs in.',
    'passkey-removed': 'The passkey is removed, and no longer signs in.',
    'viewer-removed': 'The viewer is removed, and all sessions of that person have ended.',
    'totp-off': 'The authenticator app is off. Its recovery codes are deleted.',
    'signed-out': 'That session has ended.',
    'others-signed-out': 'All other sessions have ended.',
  }),
);

/** The result of the form that led to this page. */
export const DoneNote = ({ request: { context, problem } }: { readonly request: PageRequest }) => {
  const text = doneTexts.get(context.req.query('done') ?? '');
  const [index] = /^\d{1,2}$/.exec(context.req.query('index') ?? '') ?? [];
  return text === undefined || problem !== undefined ? null : (
    <p role="status" class="note">
      {text}
      {index === undefined
        ? null
        : ` The address that you entered has index ${index} in this wallet.`}
    </p>
  );
};

/** The head of a column of numbers, which are right-aligned. */
interface NumberHead {
  readonly number: Child;
}

const isNumberHead = (head: Child | NumberHead): head is NumberHead =>
  typeof head === 'object' && head !== null && 'number' in head;

interface TableProps {
  readonly label: string;
  readonly heads: readonly (Child | NumberHead)[];
  /**
   * A list of links, one in each row. A narrow screen shows the first four columns of a row as a
   * card of two lines.
   */
  readonly isList?: boolean;
  /** The first column of a list has a checkbox, and does not count. */
  readonly isChosen?: boolean;
  readonly children?: Child;
}

/** A table that may be wider than the screen; it can be scrolled by keyboard. */
export const Table = ({ label, heads, isList = false, isChosen = false, children }: TableProps) => (
  <section class="scroll" aria-label={label} tabindex={0}>
    <table class={isList ? `list${isChosen ? ' chosen' : ''}` : undefined}>
      <thead>
        <tr>
          {heads.map((head) =>
            isNumberHead(head) ? (
              <th scope="col" class="number">
                {head.number}
              </th>
            ) : (
              <th scope="col">{head}</th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
);

interface RowTableProps<Row> extends Pick<TableProps, 'label' | 'isChosen'> {
  readonly rows: readonly Row[];
  /** The head of each column, its cell in a row, and the class of its cells. */
  readonly columns: readonly (readonly [head: Child, cell: (row: Row) => Child, kind?: string])[];
  /** Makes it a list: the page to which the first cell of a row links. */
  readonly href?: (row: Row) => string;
}

/** A table by its columns. Those of the class `number` are right-aligned. */
export const RowTable = <Row,>({ rows, columns, href, ...frame }: RowTableProps<Row>) => (
  <Table
    {...frame}
    isList={href !== undefined}
    heads={columns.map(([head, , kind]) => (kind === 'number' ? { number: head } : head))}
  >
    {rows.map((row) => (
      <tr>
        {columns.map(([, cell, kind], place) => (
          <td class={kind}>
            {href !== undefined && place === Number(frame.isChosen ?? false) ? (
              <a class="whole" href={href(row)}>
                {cell(row)}
              </a>
            ) : (
              cell(row)
            )}
          </td>
        ))}
      </tr>
    ))}
  </Table>
);

/** Facts by their names, each with the class of its value. One without a value is left out. */
export type FactRows = readonly (readonly [name: string, value: Child, kind?: string])[];

export const Facts = ({ rows }: { readonly rows: FactRows }) => (
  <dl class="facts">
    {rows.map(([name, value, kind]) =>
      value === null || value === undefined ? null : (
        <>
          <dt>{name}</dt>
          <dd class={kind}>{value}</dd>
        </>
      ),
    )}
  </dl>
);

/** What happened, the oldest first. */
export interface TimelineEvent {
  readonly at: number;
  readonly text: string;
  readonly tone?: 'good' | 'bad';
}

export const Timeline = ({ events }: { readonly events: readonly TimelineEvent[] }) => (
  <ol class="timeline">
    {events.map(({ at, text, tone }) => (
      <li class={tone}>
        <Time at={at} />
        <span>{text}</span>
      </li>
    ))}
  </ol>
);
