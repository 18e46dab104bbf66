// Passkeys: the list on the account page, adding one, and the page of one.

import { browserName } from '../../../domain/access/browser-name.ts';
import { PaygateError } from '../../../lib/errors.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import type { PasskeyPurpose } from '../../guard/challenges.ts';
import { isPasswordRecent, requireRecentPassword } from '../../guard/dashboard-session.ts';
import {
  arePasskeysPossible,
  maxNameLength,
  maxPasskeys,
  newPasskey,
  newPasskeyRequest,
  passkeyRequest,
} from '../../guard/passkeys.ts';
import {
  type ActionResult,
  accountPath,
  base,
  field,
  idIn,
  type Page,
  type PageRequest,
} from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { Layout, NarrowPage, RowTable } from '../../parts/layout.tsx';
import { PasskeyButton } from '../../parts/passkey-button.tsx';

export const Passkeys = ({ request }: { readonly request: PageRequest }) => (
  <section aria-labelledby="passkeys">
    <h2 id="passkeys">Passkeys</h2>
    <p>
      A passkey signs in without the password and without a code: your device asks for your
      fingerprint, face or PIN. Unlike a password, it works for this paygate only.
    </p>
    <PasskeyTable request={request} />
    {arePasskeysPossible(request) ? null : <NoPasskeysHere request={request} />}
    {arePasskeysPossible(request) && isPasswordRecent(request) ? (
      <Form request={request} action="begin-passkey" button="Add a passkey" />
    ) : null}
  </section>
);

const NoPasskeysHere = ({ request }: { readonly request: PageRequest }) => {
  const host = request.context.req.header('Host') ?? '';
  const port = /:\d+$/.exec(host)?.[0] ?? '';
  const local = `http://localhost${port}${accountPath}`;
  return (
    <p class="note">
      Passkeys need HTTPS with a host name, or <code>localhost</code>. They do not work at{' '}
      <code>{host}</code>. To add one, open{' '}
      {request.transport.secure ? (
        'the dashboard by its host name, which is that of --domain or --public-url if one is set.'
      ) : (
        <>
          <code>{local}</code> and sign in there.
        </>
      )}
    </p>
  );
};

const PasskeyTable = ({ request }: { readonly request: PageRequest }) => {
  const passkeys = request.account.passkeys();
  return passkeys.length === 0 ? null : (
    <RowTable
      label="Your passkeys"
      rows={passkeys}
      columns={[
        ['Name', ({ id, name }) => <a href={`${base}/settings/passkeys/${id}`}>{name}</a>],
        ['Works at', ({ origin }) => origin],
        ['Added', ({ createdAt }) => <Time at={createdAt} />],
        ['Last used', ({ usedAt }) => (usedAt === null ? 'Never' : <Time at={usedAt} />)],
      ]}
    />
  );
};

/** What the script asks before it uses a passkey. */
export const askPasskey =
  (purpose: PasskeyPurpose) =>
  async (request: PageRequest): Promise<ActionResult> => ({
    send: request.context.json(await passkeyRequest(request, purpose)),
  });

export async function beginPasskey(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  if (request.account.passkeys().length >= maxPasskeys) throw tooMany();
  const makes = await newPasskeyRequest(request);
  return { show: newPasskeyMarkup({ ...request, url: accountPath }, makes) };
}

const tooMany = (): PaygateError =>
  new PaygateError('conflict', `There are ${maxPasskeys} passkeys already. Remove one first.`);

const newPasskeyMarkup = (request: PageRequest, makes: unknown) => (
  <NarrowPage title="Add a passkey">
    <Form request={request} action="finish-passkey">
      <PasskeyName name={browserName(request.context.req.header('User-Agent') ?? '')} />
      <PasskeyButton label="Create the passkey" makes={makes} />
    </Form>
    <p>
      <a href={accountPath}>Cancel</a>
    </p>
    <p class="note" data-without-passkeys="">
      This page needs JavaScript and a browser with passkeys. Your password works without them.
    </p>
  </NarrowPage>
);

const PasskeyName = ({ name }: { readonly name: string }) => (
  <label>
    Name
    <input name="name" value={name} maxlength={maxNameLength} autocomplete="off" required />
    <small>So that you recognise it, for example by its device.</small>
  </label>
);

/** The name in the form. @throws PaygateError invalid */
function passkeyNameIn(request: PageRequest): string {
  const name = field(request, 'name');
  if (name !== '' && name.length <= maxNameLength) return name;
  throw new PaygateError('invalid', `Name: 1 to ${maxNameLength} characters are expected.`);
}

export async function finishPasskey(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { account } = request;
  const name = passkeyNameIn(request);
  const made = await newPasskey(request);
  await request.parts.records.database.write((tx) => {
    if (account.passkeys().length >= maxPasskeys) throw tooMany();
    if (account.passkeyOf(made.credentialId) !== undefined) {
      throw new PaygateError('conflict', 'This passkey is added already.');
    }
    account.addPasskey(tx, request.now, { ...made, name });
    recordChange(request, tx, 'passkey.add', { name });
  });
  return { to: `${accountPath}?done=passkey-added` };
}

export const passkeyPage: Page = {
  path: '/settings/passkeys/:id',
  viewers: ['rename', 'remove'],
  show: (request) => passkeyMarkup(request),
  actions: { rename, remove },
};

function passkeyMarkup(request: PageRequest) {
  const passkey = request.account.passkey(idIn(request));
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
  const name = passkeyNameIn(request);
  await request.parts.records.database.write((tx) => {
    if (!request.account.renamePasskey(tx, idIn(request), name)) throw removed();
    recordChange(request, tx, 'passkey.rename', { name });
  });
  return { to: `${accountPath}?done=saved` };
}

async function remove(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { account } = request;
  await request.parts.records.database.write((tx) => {
    const passkey = account.passkey(idIn(request));
    if (passkey === undefined) throw removed();
    account.removePasskey(tx, passkey.id);
    recordChange(request, tx, 'passkey.remove', { name: passkey.name });
  });
  return { to: `${accountPath}?done=passkey-removed` };
}
