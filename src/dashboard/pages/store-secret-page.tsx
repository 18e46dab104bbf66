// The secret that signs a store's callbacks: shown on request, and replaced with an overlap.

import { newWebhookSecret, rotatedSecrets, signingSecrets } from '../../delivery/signature.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { StoreRow } from '../../store/records/catalog.ts';
import { Time } from '../../web/values.tsx';
import { recordChange } from '../audit-entry.ts';
import { requireRecentPassword } from '../dashboard-session.ts';
import { isOutdated } from '../form-fields.ts';
import { Form, FormVersion } from '../form-parts.tsx';
import { type ActionResult, idIn, type PageRequest } from '../page.ts';
import { SecretPage } from './shown-secret.tsx';

interface SigningSecretProps {
  readonly request: PageRequest;
  readonly row: StoreRow;
}

export function SigningSecret({ request, row }: SigningSecretProps) {
  const [, previous] = signingSecrets(row, request.now);
  return (
    <section aria-labelledby="secret">
      <h2 id="secret">Signature</h2>
      <p>
        Every callback is signed by the <strong>Standard Webhooks</strong> scheme, so that your shop
        can detect forged ones.
        {previous === undefined ? null : (
          <>
            {' '}
            The previous secret also signs until <Time at={row.previousSecretUntil ?? 0} />.
          </>
        )}
      </p>
      <div class="row">
        <Form request={request} action="reveal-secret" button="Show the secret" needsPassword />
        <Form
          request={request}
          action="rotate-secret"
          button="Replace the secret"
          isDangerous
          needsPassword
        >
          <FormVersion request={request} form="rotate-secret" value={row.webhookSecret} />
        </Form>
      </div>
    </section>
  );
}

const secretMarkup = (row: StoreRow) => (
  <SecretPage title="Signature secret" secret={row.webhookSecret} row={row}>
    {row.name}
  </SecretPage>
);

export async function revealSecret(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { catalog, database } = request.parts.store;
  const row = catalog.store(idIn(request));
  await database.write((tx) => recordChange(request, tx, 'secret.reveal', {}, row.id));
  return { show: secretMarkup(row) };
}

function alreadyRotated({ form }: PageRequest): PaygateError {
  // The form comes back without `before`, so that it can replace the secret again.
  form.delete('before');
  return new PaygateError(
    'conflict',
    'The secret was already replaced since you opened this page: “Show the secret” shows it.',
  );
}

export async function rotateSecret(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { parts, now } = request;
  const { catalog, database } = parts.store;
  const fresh = newWebhookSecret((length) => parts.world.randomBytes(length));
  const row = await database.write((tx) => {
    const before = catalog.store(idIn(request));
    // A second click would end the overlap of the secret that the shop still uses.
    if (isOutdated(request, before.webhookSecret)) return undefined;
    recordChange(request, tx, 'secret.rotate', {}, before.id);
    return catalog.changeStore(tx, before.id, rotatedSecrets(before, fresh, now));
  });
  if (row === undefined) throw alreadyRotated(request);
  return { show: secretMarkup(row) };
}
