// The secret that signs a store's callbacks: shown on request, and replaced with an overlap.

import { newWebhookSecret, rotatedSecrets, signingSecrets } from '../../delivery/signature.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { StoreRow } from '../../store/records/catalog.ts';
import { note } from '../audit-entry.ts';
import { requireFresh } from '../dashboard-session.ts';
import { isOvertaken } from '../form-fields.ts';
import { Before, Form, Time } from '../layout.tsx';
import { idIn, type Outcome, type Visit } from '../page.ts';
import { ShownSecret } from './shown-secret.tsx';

interface Props {
  readonly visit: Visit;
  readonly row: StoreRow;
}

export function Secret({ visit, row }: Props) {
  const [, previous] = signingSecrets(row, visit.now);
  return (
    <section aria-labelledby="secret">
      <h2 id="secret">Signature</h2>
      <p>
        Every callback is signed by the <strong>Standard Webhooks</strong> scheme, so that your shop
        can tell it from a stranger’s.
        {previous === undefined ? null : (
          <>
            {' '}
            The secret before signs as well until <Time at={row.previousSecretUntil ?? 0} />.
          </>
        )}
      </p>
      <div class="row">
        <Form visit={visit} does="reveal-secret" button="Show the secret" confirm />
        <Form visit={visit} does="rotate-secret" button="Make a new one" grave confirm>
          <Before visit={visit} does="rotate-secret" value={row.webhookSecret} />
        </Form>
      </div>
    </section>
  );
}

const shown = (row: StoreRow) => (
  <ShownSecret title="Signature secret" secret={row.webhookSecret} row={row}>
    {row.name}
  </ShownSecret>
);

export async function revealSecret(visit: Visit): Promise<Outcome> {
  await requireFresh(visit);
  const { catalog, database } = visit.parts.store;
  const row = catalog.store(idIn(visit));
  await database.write((tx) => note(visit, tx, 'secret.reveal', {}, row.id));
  return { show: shown(row) };
}

function madeAlready({ form }: Visit): PaygateError {
  // The page that says so can make another one.
  form.delete('before');
  return new PaygateError(
    'conflict',
    'A new secret was made already since you loaded this page: “Show the secret” shows it.',
  );
}

export async function rotateSecret(visit: Visit): Promise<Outcome> {
  await requireFresh(visit);
  const { parts, now } = visit;
  const { catalog, database } = parts.store;
  const fresh = newWebhookSecret((length) => parts.world.randomBytes(length));
  const row = await database.write((tx) => {
    const before = catalog.store(idIn(visit));
    // A second click would take the overlap away from the secret that the shop knows.
    if (isOvertaken(visit, before.webhookSecret)) return undefined;
    note(visit, tx, 'secret.rotate', {}, before.id);
    return catalog.changeStore(tx, before.id, rotatedSecrets(before, fresh, now));
  });
  if (row === undefined) throw madeAlready(visit);
  return { show: shown(row) };
}
