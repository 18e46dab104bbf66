// Statements that run often. Each is built and prepared once, at its first use. A command uses few
// of the 180, and to build one costs more than to run it.

import { lazy } from '../../lib/lazy.ts';

/** What drizzle makes of a query: the ways to run it, each with the values of its placeholders. */
type Ways = 'run' | 'get' | 'all' | 'values';
interface Prepared {
  run(values?: Values): unknown;
  get(values?: Values): unknown;
  all(values?: Values): unknown;
  values(values?: Values): unknown;
}
type Values = Record<string, unknown>;

let isEager = false;

/** Has statements prepared as soon as they are made, for the test that explains all of them. */
export function setPrepareAtOnce(isAtOnce: boolean): void {
  isEager = isAtOnce;
}

/** A statement of a query that is built at its first use. */
export function prepared<P extends Prepared>(query: () => { prepare(): P }): Pick<P, Ways> {
  const made = lazy(() => query().prepare());
  if (isEager) made();
  const statement: Prepared = {
    run: (values) => made().run(values),
    get: (values) => made().get(values),
    all: (values) => made().all(values),
    values: (values) => made().values(values),
  };
  return statement as Pick<P, Ways>;
}
