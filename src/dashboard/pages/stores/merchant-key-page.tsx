// The API key of all stores, masked until its owner reveals it.

import { merchantKeyText } from '../../../store/access/api-keys.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import type { PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';

interface MerchantKeyProps {
  readonly request: PageRequest;
  readonly apiKey: string;
  /** Whether the whole key is visible. */
  readonly shown: boolean;
}

/** For a page that has the action `reveal-key`. */
export const MerchantKey = ({ request, apiKey, shown }: MerchantKeyProps) => (
  <>
    <p>
      <code id="merchant-key">{shown ? apiKey : masked(apiKey)}</code>
    </p>
    {shown ? (
      <button type="button" data-copy="merchant-key" class="unready other">
        Copy the key
      </button>
    ) : (
      <Form request={request} action="reveal-key" button="Show the key" needsPassword />
    )}
  </>
);

/** Enough of a secret to recognise it. */
export const masked = (secret: string): string => `${secret.slice(0, 4)}…${secret.slice(-4)}`;

/** Requires a recent password; the audit log records that the key was shown. */
export async function revealKey(request: PageRequest): Promise<void> {
  await requireRecentPassword(request);
  merchantKeyText(request.parts.records.keys);
  await request.parts.records.database.write((tx) => recordChange(request, tx, 'key.reveal'));
}
