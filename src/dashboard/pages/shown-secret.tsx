// A page that shows a secret of a store, and nothing else.

import type { Child } from 'hono/jsx';
import type { StoreRow } from '../../store/records/catalog.ts';
import { Narrow } from '../layout.tsx';
import { base } from '../page.ts';

interface Props {
  readonly title: string;
  readonly secret: string;
  readonly row: StoreRow;
  /** What it is. */
  readonly children: Child;
}

export const ShownSecret = ({ title, secret, row, children }: Props) => (
  <Narrow title={title}>
    <p>{children}</p>
    <p>
      <code id="secret">{secret}</code>
    </p>
    <button type="button" data-copy="secret" class="unready">
      Copy it
    </button>
    <p>
      <a href={`${base}/stores/${row.id}`}>Back to the store</a>
    </p>
  </Narrow>
);
