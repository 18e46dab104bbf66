// Common parts of the lists: filters in the query of the URL, and pages by row number.

import type { Child } from 'hono/jsx';
import { formatCount } from '../../domain/text/format.ts';
import { trimInvisible } from '../../domain/text/pasted-text.ts';
import { dayStart, parseDay } from '../../domain/text/time-zone.ts';
import type { CsvSeparator } from '../../lib/csv.ts';
import { PaygateError } from '../../lib/errors.ts';
import { maxRowsRead } from '../../store/db/searched-list.ts';
import type { StoreRow } from '../../store/wallets/catalog.ts';
import type { PageRequest } from '../page.ts';
import { Select } from './form-parts.tsx';

const pageSize = 50;

/** One row more than a page shows: its presence means that there are older rows. */
export const rowsPerQuery = pageSize + 1;

/** A list says how many rows match, up to this number. */
export const maxCounted = 200;

/** Rows for the first page of a list, which also counts them. */
export const rowsPerCount = (request: PageRequest): number =>
  queryText(request, 'before') === undefined ? maxCounted + 1 : rowsPerQuery;

export const rowsOfPage = <T,>(rows: readonly T[]): readonly T[] => rows.slice(0, pageSize);

/** A parameter of the page's query; undefined if it is empty. */
export function queryText({ context }: PageRequest, name: string): string | undefined {
  return trimInvisible(context.req.query(name) ?? '') || undefined;
}

/** @throws PaygateError invalid */
export function queryNumber(request: PageRequest, name: string): number | undefined {
  const text = queryText(request, name);
  if (text === undefined || /^[1-9]\d{0,14}$/.test(text))
    return (text && Number(text)) || undefined;
  throw new PaygateError('invalid', `${name}: a number is expected.`);
}

/** @throws PaygateError invalid */
export function queryChoice<T extends string>(
  request: PageRequest,
  name: string,
  values: readonly T[],
): T | undefined {
  const text = queryText(request, name);
  if (text === undefined) return undefined;
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw new PaygateError('invalid', `${name}: one of ${values.join(', ')} is expected.`);
}

/** A day of the query. @throws PaygateError invalid */
function queryDay(request: PageRequest, name: string): number | undefined {
  const text = queryText(request, name);
  if (text === undefined) return undefined;
  const day = parseDay(text);
  if (day !== undefined) return day;
  throw new PaygateError('invalid', `${name}: a day such as 2026-11-21 is expected.`);
}

/** Epoch milliseconds: the whole of the days of `DayFilters`. @throws PaygateError invalid */
export function queryDays(request: PageRequest) {
  const [from, to] = [queryDay(request, 'from'), queryDay(request, 'to')];
  const zone = zoneOf(request);
  return {
    since: from === undefined ? undefined : dayStart(from, zone),
    until: to === undefined ? undefined : dayStart(to + 1, zone),
  };
}

export const zoneOf = ({ parts }: PageRequest): string => parts.records.state.zone();

export const DayFilters = ({ request }: { readonly request: PageRequest }) => (
  <>
    <label>
      From ({zoneOf(request)})
      <input type="date" name="from" value={queryText(request, 'from')} />
    </label>
    <label>
      To ({zoneOf(request)})
      <input type="date" name="to" value={queryText(request, 'to')} />
    </label>
  </>
);

export interface ListFiltersProps {
  readonly request: PageRequest;
  readonly path: string;
  /** What can be searched for. Narrow screens fold the other filters below it. */
  readonly search?: string;
  readonly states?: FilterSelectProps['options'];
  /** Whether rows without a known store can be selected. */
  readonly offersNone?: boolean;
  readonly children?: Child;
}

export const ListFilters = ({ request, path, search, ...given }: ListFiltersProps) => (
  <form method="get" action={path} class="row filters" data-auto>
    {search === undefined ? (
      <Filters request={request} {...given} />
    ) : (
      <>
        <label>
          {search}
          <input type="search" name="q" value={queryText(request, 'q')} spellcheck={false} />
        </label>
        <details class="passing" open={isFiltered(request, ['q', 'before'])}>
          <summary>Filter</summary>
          <div class="row">
            <Filters request={request} {...given} />
          </div>
        </details>
      </>
    )}
    <button type="submit">Show</button>
  </form>
);

const Filters = ({
  request,
  states,
  offersNone,
  children,
}: Omit<ListFiltersProps, 'path' | 'search'>) => (
  <>
    {states === undefined ? null : (
      <FilterSelect request={request} name="state" label="State" options={states} />
    )}
    <FilterSelect
      request={request}
      name="store"
      label="Store"
      options={[
        ...request.parts.records.catalog.stores({ archived: true }).map(storeOption),
        ...(offersNone ? [[noStore, 'unknown'] as const] : []),
      ]}
    />
    {children}
  </>
);

/** Whether the query of the page has more than these parameters. */
const isFiltered = ({ url }: PageRequest, but: readonly string[] = []): boolean =>
  [...new URLSearchParams(url.split('?')[1])].some(
    ([name, value]) => value !== '' && name !== 'done' && !but.includes(name),
  );

interface FilterSelectProps {
  readonly request: PageRequest;
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string | number, text: string])[];
}

export const FilterSelect = ({ request, name, label, options }: FilterSelectProps) => (
  <Select
    name={name}
    label={label}
    options={[['', 'All'], ...options]}
    chosen={queryText(request, name)}
  />
);

/** A store to choose; a removed one is marked. */
export const storeOption = ({ id, name, archivedAt }: StoreRow) =>
  [id, archivedAt === null ? name : `${name} (removed)`] as const;

const noStore = 'none';

/** Null for rows without a known store. @throws PaygateError invalid */
export const queryStore = (request: PageRequest): number | null | undefined =>
  queryText(request, 'store') === noStore ? null : queryNumber(request, 'store');

interface CountProps {
  readonly request: PageRequest;
  /** All rows that the query returned. */
  readonly rows: readonly unknown[];
  /** The query returns one row more at most: `maxCounted`, or one page if rows are slow to read. */
  readonly max?: number;
  /** `payment`, for `12 payments`. */
  readonly noun: string;
  readonly plural?: string;
}

/** How many rows match; later pages do not say it. */
export const Count = ({ request, rows, noun, plural, max = pageSize }: CountProps) =>
  queryText(request, 'before') !== undefined || rows.length === 0 ? null : (
    <span class="quiet">
      {rows.length > max
        ? `More than ${formatCount(max, noun, plural)}`
        : formatCount(rows.length, noun, plural)}
    </span>
  );

interface EmptyProps {
  readonly request: PageRequest;
  /** Plural, for "No payments yet." */
  readonly noun: string;
  /** What to do next, while there are none at all. */
  readonly children?: Child;
}

/** A list without rows: what to do next, or a way out of the filters. */
export const Empty = ({ request, noun, children }: EmptyProps) => (
  <p class="empty">
    {isFiltered(request) ? (
      <>
        No {noun} found. <a href={request.url.split('?')[0]}>Show all {noun}</a>
      </>
    ) : (
      <>
        No {noun} yet. {children}
      </>
    )}
  </p>
);

interface FoundRowsProps<Row> {
  readonly request: PageRequest;
  readonly found: { readonly rows: readonly Row[]; readonly goesOnAt?: number | undefined };
  /** Plural. */
  readonly noun: string;
  /** What to do next, while there are none at all. */
  readonly next: Child;
  readonly show: (rows: readonly Row[]) => Child;
}

/** The rows of a page. It may end early, because it compared many; it may have none. */
export const FoundRows = <Row,>({ request, found, noun, next, show }: FoundRowsProps<Row>) => (
  <>
    {found.goesOnAt === undefined ? null : (
      <p>
        {maxRowsRead.toLocaleString('en')} {noun} were searched. Older ones may match, too.
      </p>
    )}
    {found.rows.length > 0 ? (
      show(rowsOfPage(found.rows))
    ) : found.goesOnAt === undefined ? (
      <Empty request={request} noun={noun}>
        {next}
      </Empty>
    ) : null}
  </>
);

interface PagerProps {
  readonly request: PageRequest;
  /** All rows that the query returned. */
  readonly rows: readonly { readonly id: number }[];
  /** The last row that was searched, if a partial page may have older matches. */
  readonly goesOnAt?: number | undefined;
}

/** Links to older rows and back to the newest. */
export function Pager({ request, rows, goesOnAt }: PagerProps) {
  const last = rows.length > pageSize ? rowsOfPage(rows).at(-1)?.id : goesOnAt;
  const isFirst = queryText(request, 'before') === undefined;
  if (isFirst && last === undefined) return null;
  return (
    <nav aria-label="Pages" class="pages">
      {isFirst ? null : <a href={withQuery(request, { before: undefined })}>← Newest</a>}
      {last === undefined ? null : (
        <a href={withQuery(request, { before: last })} rel="next">
          Older →
        </a>
      )}
    </nav>
  );
}

interface ExportLinkProps {
  readonly request: PageRequest;
  readonly path: string;
}

/** The parameter of a file: `semicolon`, or none for commas. */
export const separatorQuery = 'separator';

/** The files of all rows that the filters leave. */
const ExportLink = ({ request, path }: ExportLinkProps) => {
  const file = (separator: CsvSeparator | undefined) =>
    withQuery(request, { before: undefined, [separatorQuery]: separator }, `${path}/export`);
  return (
    <>
      <a href={file(undefined)} download>
        Export CSV
      </a>
      <a href={file('semicolon')} download>
        With semicolons
      </a>
    </>
  );
};

interface ListFootProps extends CountProps {
  readonly rows: PagerProps['rows'];
  readonly goesOnAt?: PagerProps['goesOnAt'];
  readonly path: string;
  readonly children?: Child;
}

/** What stands below a list: how many rows match, other pages, and the file of all. */
export const ListFoot = ({ path, goesOnAt, children, ...props }: ListFootProps) => (
  <div class="under">
    {goesOnAt === undefined ? <Count {...props} /> : null}
    <Pager request={props.request} rows={props.rows} goesOnAt={goesOnAt} />
    {props.rows.length === 0 && goesOnAt === undefined ? null : (
      <>
        <ExportLink request={props.request} path={path} />
        {children}
      </>
    )}
  </div>
);

/** The page's URL with a changed query and without `done`; undefined removes a parameter. */
export function withQuery(
  { url }: Pick<PageRequest, 'url'>,
  change: Readonly<Record<string, string | number | undefined>>,
  path?: string,
): string {
  const [own = '', query = ''] = url.split('?');
  const parameters = new URLSearchParams(query);
  parameters.delete('done');
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) parameters.delete(name);
    else parameters.set(name, String(value));
  }
  const text = String(parameters);
  return text === '' ? (path ?? own) : `${path ?? own}?${text}`;
}
