// What the lists have in common: filters that stand in the address, and pages that go by the row's number.

import type { Child } from 'hono/jsx';
import { PaygateError } from '../../lib/errors.ts';
import { Select } from '../layout.tsx';
import type { PageRequest } from '../page.ts';

const pageSize = 50;

/** How many rows are read for a page: one more than it shows says whether there are older ones. */
export const rowsPerQuery = pageSize + 1;

/** Those of the rows read that the page shows. */
export const rowsOfPage = <T,>(rows: readonly T[]): readonly T[] => rows.slice(0, pageSize);

/** What is asked for in the page's address; undefined where it is empty. */
export function queryText({ context }: PageRequest, name: string): string | undefined {
  return context.req.query(name)?.trim() || undefined;
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

/** Start of a day in UTC. @throws PaygateError invalid */
export function queryDay(request: PageRequest, name: string): number | undefined {
  const text = queryText(request, name);
  if (text === undefined) return undefined;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isFinite(at)) return at;
  throw new PaygateError('invalid', `${name}: a day such as 2026-11-21 is expected.`);
}

interface FilterFormProps {
  readonly path: string;
  readonly children?: Child;
}

export const FilterForm = ({ path, children }: FilterFormProps) => (
  <form method="get" action={path} class="row filters">
    {children}
    <button type="submit">Show</button>
  </form>
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

interface StoreFilterProps {
  readonly request: PageRequest;
  /** Whether what belongs to no store that is known can be asked for, too. */
  readonly offersNone?: boolean;
}

export const StoreFilter = ({ request, offersNone: none = false }: StoreFilterProps) => (
  <FilterSelect
    request={request}
    name="store"
    label="Store"
    options={[
      ...request.parts.store.catalog
        .stores({ archived: true })
        .map(({ id, name }) => [id, name] as const),
      ...(none ? [[noStore, 'not known'] as const] : []),
    ]}
  />
);

const noStore = 'none';

/** Null where what belongs to no store is asked for. @throws PaygateError invalid */
export const queryStore = (request: PageRequest): number | null | undefined =>
  queryText(request, 'store') === noStore ? null : queryNumber(request, 'store');

interface PagerProps {
  readonly request: PageRequest;
  /** As they were read. */
  readonly rows: readonly { readonly id: number }[];
  /** Where fewer were found than a page has: the last one that was looked at, if there are older ones. */
  readonly goesOnAt?: number | undefined;
}

/** The way to older rows, where there are any. */
export function Pager({ request, rows, goesOnAt }: PagerProps) {
  const last = rows.length > pageSize ? rowsOfPage(rows).at(-1)?.id : goesOnAt;
  const isFirst = queryText(request, 'before') === undefined;
  return (
    <nav aria-label="Pages">
      <ul>
        {isFirst ? null : (
          <li>
            <a href={withQuery(request, { before: undefined })}>Newest</a>
          </li>
        )}
        {last === undefined ? null : (
          <li>
            <a href={withQuery(request, { before: last })} rel="next">
              Older
            </a>
          </li>
        )}
      </ul>
    </nav>
  );
}

/** The page's own address with another query, which tells of nothing that was done; undefined takes a name out. */
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
