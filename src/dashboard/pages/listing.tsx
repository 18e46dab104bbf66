// What the lists have in common: filters that stand in the address, and pages that go by the row's number.

import type { Child } from 'hono/jsx';
import { PaygateError } from '../../lib/errors.ts';
import { Select } from '../layout.tsx';
import type { Visit } from '../page.ts';

const pageSize = 50;

/** How many rows are read for a page: one more than it shows says whether there are older ones. */
export const rowsRead = pageSize + 1;

/** Those of the rows read that the page shows. */
export const rowsShown = <T,>(rows: readonly T[]): readonly T[] => rows.slice(0, pageSize);

/** What is asked for in the page's address; undefined where it is empty. */
export function asked({ context }: Visit, name: string): string | undefined {
  return context.req.query(name)?.trim() || undefined;
}

/** @throws PaygateError invalid */
export function askedNumber(visit: Visit, name: string): number | undefined {
  const text = asked(visit, name);
  if (text === undefined || /^[1-9]\d{0,14}$/.test(text))
    return (text && Number(text)) || undefined;
  throw new PaygateError('invalid', `${name}: a number is expected.`);
}

/** @throws PaygateError invalid */
export function askedChoice<T extends string>(
  visit: Visit,
  name: string,
  values: readonly T[],
): T | undefined {
  const text = asked(visit, name);
  if (text === undefined) return undefined;
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw new PaygateError('invalid', `${name}: one of ${values.join(', ')} is expected.`);
}

/** Start of a day in UTC. @throws PaygateError invalid */
export function askedDay(visit: Visit, name: string): number | undefined {
  const text = asked(visit, name);
  if (text === undefined) return undefined;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isFinite(at)) return at;
  throw new PaygateError('invalid', `${name}: a day such as 2026-11-21 is expected.`);
}

interface FiltersProps {
  readonly path: string;
  readonly children?: Child;
}

export const Filters = ({ path, children }: FiltersProps) => (
  <form method="get" action={path} class="row filters">
    {children}
    <button type="submit">Show</button>
  </form>
);

interface ChoiceProps {
  readonly visit: Visit;
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string | number, text: string])[];
}

export const Choice = ({ visit, name, label, options }: ChoiceProps) => (
  <Select
    name={name}
    label={label}
    options={[['', 'All'], ...options]}
    chosen={asked(visit, name)}
  />
);

interface StoreChoiceProps {
  readonly visit: Visit;
  /** Whether what belongs to no store that is known can be asked for, too. */
  readonly none?: boolean;
}

export const StoreChoice = ({ visit, none = false }: StoreChoiceProps) => (
  <Choice
    visit={visit}
    name="store"
    label="Store"
    options={[
      ...visit.parts.store.catalog
        .stores({ archived: true })
        .map(({ id, name }) => [id, name] as const),
      ...(none ? [[ofNone, 'not known'] as const] : []),
    ]}
  />
);

const ofNone = 'none';

/** Null where what belongs to no store is asked for. @throws PaygateError invalid */
export const askedStore = (visit: Visit): number | null | undefined =>
  asked(visit, 'store') === ofNone ? null : askedNumber(visit, 'store');

interface PagerProps {
  readonly visit: Visit;
  /** As they were read. */
  readonly rows: readonly { readonly id: number }[];
  /** Where fewer were found than a page has: the last one that was looked at, if there are older ones. */
  readonly goesOnAt?: number | undefined;
}

/** The way to older rows, where there are any. */
export function Pager({ visit, rows, goesOnAt }: PagerProps) {
  const last = rows.length > pageSize ? rowsShown(rows).at(-1)?.id : goesOnAt;
  const isFirst = asked(visit, 'before') === undefined;
  return (
    <nav aria-label="Pages">
      <ul>
        {isFirst ? null : (
          <li>
            <a href={withQuery(visit, { before: undefined })}>Newest</a>
          </li>
        )}
        {last === undefined ? null : (
          <li>
            <a href={withQuery(visit, { before: last })} rel="next">
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
  { url }: Pick<Visit, 'url'>,
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
