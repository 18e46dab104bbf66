// The API key of all stores, masked until it is asked for.

import { merchantKeyText } from '../../store/records/api-keys.ts';
import { note } from '../audit-entry.ts';
import { requireFresh } from '../dashboard-session.ts';
import { Form } from '../layout.tsx';
import type { Visit } from '../page.ts';

interface Props {
  readonly visit: Visit;
  readonly apiKey: string;
  /** Whether it was asked for. */
  readonly shown: boolean;
}

/** For a page that has the action `reveal-key`. */
export const MerchantKey = ({ visit, apiKey, shown }: Props) => (
  <>
    <p>
      <code id="merchant-key">{shown ? apiKey : masked(apiKey)}</code>
    </p>
    {shown ? (
      <button type="button" data-copy="merchant-key" class="unready">
        Copy the key
      </button>
    ) : (
      <Form visit={visit} does="reveal-key" button="Show the key" confirm />
    )}
  </>
);

const masked = (secret: string): string => `${secret.slice(0, 4)}…${secret.slice(-4)}`;

/** To somebody who has just typed the password; the log of changes keeps that it was shown. */
export async function revealKey(visit: Visit): Promise<void> {
  await requireFresh(visit);
  merchantKeyText(visit.parts.store.keys);
  await visit.parts.store.database.write((tx) => note(visit, tx, 'key.reveal'));
}
