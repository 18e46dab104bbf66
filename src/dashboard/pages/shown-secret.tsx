// A page that shows one secret of a store.

import type { Child } from 'hono/jsx';
import type { StoreRow } from '../../store/records/catalog.ts';
import { NarrowPage } from '../layout.tsx';
import { base } from '../page.ts';

interface SecretPageProps {
  readonly title: string;
  readonly secret: string;
  readonly row: StoreRow;
  /** A sentence about the secret. */
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
