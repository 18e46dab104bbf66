// The people who sign in: the owner and the viewers. The owner adds a viewer, makes a link that
// sets a viewer's password, and removes one.

import { PaygateError } from '../../../lib/errors.ts';
import { ownerId, type Person } from '../../../store/access/admin.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { createSignInLink, signInLinkMinutes } from '../../guard/sign-in-link.ts';
import {
  type ActionResult,
  accountPath,
  base,
  field,
  type Page,
  type PageRequest,
} from '../../page.ts';
import { fieldError } from '../../parts/form-fields.ts';
import { Field, Form } from '../../parts/form-parts.tsx';
import { DoneNote, Layout, RowTable } from '../../parts/layout.tsx';
import { SecretPage } from '../../parts/shown-secret.tsx';

const peoplePath = `${base}/settings/people`;
const maxViewers = 50;
const maxNameLength = 40;
/** As people write names, without what reads like another name or like nothing. */
const plainName = /^[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N} .,'@_-]*[\p{L}\p{M}\p{N}.])?$/u;

export const peoplePage: Page = {
  path: '/settings/people',
  show: (request) => peopleMarkup(request),
  actions: { 'add-viewer': addViewer, 'viewer-link': makeLink, 'remove-viewer': removeViewer },
};

const peopleMarkup = (request: PageRequest) => (
  <Layout request={request} title="People">
    <DoneNote request={request} />
    <p>
      A viewer sees orders, payments and their files. A viewer sees no key, no wallet and no
      setting, and changes nothing. Each person has a password, an authenticator app, passkeys and
      sessions of their own.
    </p>
    <RowTable
      label="People who sign in"
      rows={request.parts.records.admin.people()}
      columns={[
        ['Name', ({ name }) => name],
        ['May', ({ id }) => (id === ownerId ? 'everything (owner)' : 'see (viewer)')],
        ['Sign-in', (person) => signInText(request, person)],
        [
          <span class="hidden">Actions</span>,
          (person) => <Actions request={request} person={person} />,
        ],
      ]}
    />
    <h2>Add a viewer</h2>
    <p>The next page shows a link for that person, which sets the password.</p>
    <Form request={request} action="add-viewer" button="Add the viewer" needsPassword>
      <Field
        request={request}
        name="name"
        label="Name"
        help="With this name the person signs in, and the audit log names them."
        attributes={{ maxlength: maxNameLength, autocomplete: 'off' }}
      />
    </Form>
  </Layout>
);

function signInText({ parts, now }: PageRequest, { id, passwordHash, totpSecret }: Person): string {
  if (passwordHash === '') return 'no password yet';
  const account = parts.records.admin.of(id);
  const passkeys = account.passkeys().length;
  const sessions = account.sessions(now).length;
  return [
    'password',
    ...(totpSecret === null ? [] : ['authenticator app']),
    ...(passkeys === 0 ? [] : [passkeys === 1 ? 'one passkey' : `${passkeys} passkeys`]),
    ...(sessions === 0 ? [] : ['signed in now']),
  ].join(', ');
}

interface ActionsProps {
  readonly request: PageRequest;
  readonly person: Person;
}

const Actions = ({ request, person: { id, name } }: ActionsProps) =>
  id === ownerId ? (
    <a href={accountPath}>Account</a>
  ) : (
    <details>
      <summary>Change</summary>
      <Form
        request={request}
        action="viewer-link"
        button="Make a link"
        label={`A link for ${name}`}
        needsPassword
      >
        <input type="hidden" name="person" value={id} />
        <small>It sets a new password, which ends all sessions of {name}.</small>
      </Form>
      <Form
        request={request}
        action="remove-viewer"
        button="Remove"
        label={`Remove ${name}`}
        isDangerous
        needsPassword
      >
        <input type="hidden" name="person" value={id} />
        <small>Ends all sessions of {name} at once.</small>
      </Form>
    </details>
  );

async function addViewer(request: PageRequest): Promise<ActionResult> {
  const name = field(request, 'name');
  if (name.length > maxNameLength || !plainName.test(name)) {
    const text = `1 to ${maxNameLength} letters, digits, spaces and . , ' @ _ - are expected`;
    throw fieldError('invalid', 'name', text, 'Name');
  }
  await requireRecentPassword(request);
  const { admin, database } = request.parts.records;
  const { id } = await database.write((tx) => {
    if (admin.personNamed(name) !== undefined) {
      throw fieldError('conflict', 'name', 'another person has this name', 'Name');
    }
    if (admin.people().length > maxViewers) {
      throw new PaygateError(
        'conflict',
        `There are ${maxViewers} viewers already. Remove one first.`,
      );
    }
    recordChange(request, tx, 'viewer.add', { viewer: name });
    return admin.addViewer(tx, request.now, name);
  });
  return showLink(request, id, name);
}

/** The viewer of the form. @throws PaygateError not_found */
function viewerIn(request: PageRequest): Person {
  const text = field(request, 'person');
  const id = /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
  const person = id === ownerId ? undefined : request.parts.records.admin.of(id).person();
  if (person === undefined) throw new PaygateError('not_found', 'This viewer was removed.');
  return person;
}

async function makeLink(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { id, name } = viewerIn(request);
  await request.parts.records.database.write((tx) =>
    recordChange(request, tx, 'viewer.link', { viewer: name }),
  );
  return showLink(request, id, name);
}

async function showLink(request: PageRequest, id: number, name: string): Promise<ActionResult> {
  const { parts, transport } = request;
  const origin = URL.parse(parts.publicUrl ?? '')?.origin ?? transport.origins[0] ?? '';
  const link = await createSignInLink(parts.records, parts.world, origin, id);
  return {
    show: (
      <SecretPage title={`A link for ${name}`} secret={link} back={peoplePath}>
        Send it to {name} alone. It works once, within {signInLinkMinutes(id) / 60} hours, and sets
        the password. The name to sign in with is {name}.
      </SecretPage>
    ),
  };
}

async function removeViewer(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { id, name } = viewerIn(request);
  const { admin, database } = request.parts.records;
  await database.write((tx) => {
    if (admin.removeViewer(tx, id) === undefined) return;
    recordChange(request, tx, 'viewer.remove', { viewer: name });
  });
  return { to: `${peoplePath}?done=viewer-removed` };
}
