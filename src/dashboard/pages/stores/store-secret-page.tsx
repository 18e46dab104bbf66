// The secret that signs callbacks and events of a store: shown on request, and replaced with an
// overlap.

import { newWebhookSecret, rotatedSecrets, signingSecrets } from '../../../delivery/signature.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { StoreRow } from '../../../store/wallets/catalog.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, idIn, type Page, type PageRequest } from '../../page.ts';
import { Confirmation } from '../../parts/confirmation.tsx';
import { isOutdated } from '../../parts/form-fields.ts';
import { Form, FormVersion } from '../../parts/form-parts.tsx';
import { Layout } from '../../parts/layout.tsx';
import { SecretPage } from '../../parts/shown-secret.tsx';
import { type StoreProps, storeOf, storePath } from './store-layout.tsx';

export function SigningSecret({ request, row }: StoreProps) {
  const [, previous] = signingSecrets(row, request.now);
  return (
    <section aria-labelledby="secret">
      <h2 id="secret">Signature</h2>
      <p>
        Every callback and event is signed by the <strong>Standard Webhooks</strong> scheme, so that
        your shop can detect forged ones.
        {previous === undefined ? null : (
          <>
            {' '}
            The previous secret also signs; that ends <Time at={row.previousSecretUntil ?? 0} />.
          </>
        )}
      </p>
      <Form request={request} action="reveal-secret" button="Show the secret" needsPassword />
      <p>
        <a href={storePath(row.id, '/replace-secret')}>Replace the secret…</a>
      </p>
    </section>
  );
}

const secretMarkup = (row: StoreRow) => (
  <SecretPage title="Signature secret" secret={row.webhookSecret} back={storePath(row.id, '/keys')}>
    {row.name}
  </SecretPage>
);

export async function revealSecret(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { database } = request.parts.records;
  const row = storeOf(request);
  await database.write((tx) => recordChange(request, tx, 'secret.reveal', {}, row.id));
  return { show: secretMarkup(row) };
}

export const replaceSecretPage: Page = {
  path: '/stores/:id/replace-secret',
  show: (request) => replaceMarkup(request),
  actions: { 'rotate-secret': rotateSecret },
};

function replaceMarkup(request: PageRequest) {
  const row = storeOf(request);
  return (
    <Layout request={request} title={`Replace the secret of ${row.name}`}>
      <Confirmation
        request={request}
        action="rotate-secret"
        button="Replace the secret"
        consequences={[
          'Callbacks and events are signed with a new secret, which the next page shows.',
          'The present secret also signs for 7 days, so that your shop can change in between.',
          'A secret that was replaced before ends now.',
        ]}
        cancel={storePath(row.id, '/keys')}
      >
        <FormVersion request={request} form="rotate-secret" value={row.webhookSecret} />
      </Confirmation>
    </Layout>
  );
}

function alreadyRotated({ form }: PageRequest): PaygateError {
  // The form comes back without `before`, so that it can replace the secret again.
  form.delete('before');
  return new PaygateError(
    'conflict',
    'The secret was already replaced since you opened this page: “Show the secret” under Keys ' +
      'shows it.',
  );
}

async function rotateSecret(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { parts, now } = request;
  const { catalog, database } = parts.records;
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
