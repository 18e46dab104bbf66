// A page that shows one secret.

import type { Child } from 'hono/jsx';
import { NarrowPage } from './layout.tsx';

interface SecretPageProps {
  readonly title: string;
  readonly secret: string;
  readonly back: string;
  readonly children: Child;
}

export const SecretPage = ({ title, secret, back, children }: SecretPageProps) => (
  <NarrowPage title={title}>
    <p>{children}</p>
    <p>
      <code id="secret">{secret}</code>
    </p>
    <button type="button" data-copy="secret" class="unready other">
      Copy it
    </button>
    <p>
      <a href={back}>Back</a>
    </p>
  </NarrowPage>
);
