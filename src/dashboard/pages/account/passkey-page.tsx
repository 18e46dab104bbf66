// The page of one passkey: its name, and removing it.

import { PaygateError } from '../../../lib/errors.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, accountPath, idIn, type Page, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { Layout } from '../../parts/layout.tsx';
import { PasskeyName, passkeyNameIn } from './passkeys-section.tsx';

export const passkeyPage: Page = {
  path: '/settings/passkeys/:id',
  show: (request) => passkeyMarkup(request),
  actions: { rename, remove },
};

function passkeyMarkup(request: PageRequest) {
  const passkey = request.parts.records.admin.passkey(idIn(request));
  return (
    <Layout request={request} title={passkey?.name ?? 'Passkey'}>
      {passkey === undefined ? (
        <p>This passkey was removed.</p>
      ) : (
        <>
          <p>
            It signs in at <code>{passkey.origin}</code>.
          </p>
          <Form request={request} action="rename" button="Save" needsPassword>
            <PasskeyName name={passkey.name} />
          </Form>
          <h2>Remove the passkey</h2>
          <p>It no longer signs in. Your device keeps it until you delete it there, too.</p>
          <Form request={request} action="remove" button="Remove it" isDangerous needsPassword />
        </>
      )}
      <p>
        <a href={accountPath}>Back to the account</a>
      </p>
    </Layout>
  );
}

const removed = (): PaygateError => new PaygateError('not_found', 'This passkey was removed.');

async function rename(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { admin, database } = request.parts.records;
  const name = passkeyNameIn(request);
  await database.write((tx) => {
    if (!admin.renamePasskey(tx, idIn(request), name)) throw removed();
    recordChange(request, tx, 'passkey.rename', { name });
  });
  return { to: `${accountPath}?done=saved` };
}

async function remove(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { admin, database } = request.parts.records;
  await database.write((tx) => {
    const passkey = admin.passkey(idIn(request));
    if (passkey === undefined) throw removed();
    admin.removePasskey(tx, passkey.id);
    recordChange(request, tx, 'passkey.remove', { name: passkey.name });
  });
  return { to: `${accountPath}?done=passkey-removed` };
}
