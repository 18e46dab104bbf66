// A page that shows a secret of a store, and nothing else.

import type { Child } from 'hono/jsx';
import type { StoreRow } from '../../store/records/catalog.ts';
import { NarrowPage } from '../layout.tsx';
import { base } from '../page.ts';

interface SecretPageProps {
  readonly title: string;
  readonly secret: string;
  readonly row: StoreRow;
  /** What it is. */
  readonly children: Child;
}

export const SecretPage = ({ title, secret, row, children }: SecretPageProps) => (
  <NarrowPage title={title}>
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
  </NarrowPage>
);
