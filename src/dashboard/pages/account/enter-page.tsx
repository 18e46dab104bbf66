// The page of a one-time link: it sets the first or a new password of its person, and signs in.

import { PaygateError } from '../../../lib/errors.ts';
import { ownerId, ownerName } from '../../../store/access/admin.ts';
import type { Tx } from '../../../store/db/writer.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import {
  beginSession,
  hasAuthenticator,
  logSignIn,
  setSessionCookie,
} from '../../guard/dashboard-session.ts';
import { namesOfStores } from '../../guard/first-password.ts';
import { hasPasskeys } from '../../guard/passkeys.ts';
import { minPasswordLength } from '../../guard/password.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { atField, fieldError } from '../../parts/form-fields.ts';
import {
  FaultNote,
  Form,
  faultAttributes,
  Switch,
  UserName,
  ZoneField,
} from '../../parts/form-parts.tsx';
import { NarrowPage, ProblemNote } from '../../parts/layout.tsx';
import { LinkCommand } from './sign-in-page.tsx';
import { isSetupUnfinished, welcomePath } from './welcome-page.tsx';

export const enterPage: Page = {
  path: '/enter',
  open: true,
  show(request) {
    const linked = ofLink(request);
    return linked === undefined ? expiredLink() : passwordMarkup(linked);
  },
  actions: { enter },
};

/** The request with the account of its link; undefined where the link stands no more. */
function ofLink(request: PageRequest): PageRequest | undefined {
  const { admin } = request.parts.records;
  const token = request.context.req.query('token') ?? '';
  const personId = admin.linkedPerson(request.now, token);
  return personId === undefined ? undefined : { ...request, account: admin.of(personId) };
}

const expiredLink = () => (
  <NarrowPage title="This link is no longer valid">
    <p>
      A link works once, within 15 minutes, or a day if the owner made it for you. To print another
      one, run this on the machine of paygate:
    </p>
    <LinkCommand />
    <p>
      <a href={base}>Go to the dashboard</a>
    </p>
  </NarrowPage>
);

function passwordMarkup(request: PageRequest) {
  const devices = devicesOf(request);
  return (
    <NarrowPage title="Set a password">
      <ProblemNote request={request} />
      <Form request={request} action="enter" button="Set password">
        <UserName request={request} />
        <ZoneField />
        <NewPasswordFields request={request} />
        {devices.length === 0 ? null : (
          <Switch
            request={request}
            form="enter"
            name="no-devices"
            label={`Also remove ${devices.join(' and ')}, because a device was lost or stolen`}
            on={false}
          />
        )}
      </Form>
    </NarrowPage>
  );
}

const devicesOf = (request: PageRequest): string[] => [
  ...(hasAuthenticator(request) ? ['the authenticator app with its recovery codes'] : []),
  ...(hasPasskeys(request) ? ['all passkeys'] : []),
];

export const NewPasswordFields = ({ request }: { readonly request: PageRequest }) => (
  <>
    <label>
      New password
      <input
        type="password"
        name="password-new"
        autocomplete="new-password"
        minlength={minPasswordLength}
        required
        {...faultAttributes(request, 'password-new')}
      />
      <small>At least {minPasswordLength} characters, such as four or five words.</small>
    </label>
    <FaultNote request={request} name="password-new" />
    <label>
      Repeat the password
      <input
        type="password"
        name="password-again"
        autocomplete="new-password"
        required
        {...faultAttributes(request, 'password-again')}
      />
    </label>
    <FaultNote request={request} name="password-again" />
  </>
);

/** The new password of the form. @throws FieldErrors */
export function newPasswordIn({ form }: PageRequest): string {
  const password = form.get('password-new') ?? '';
  if (password === (form.get('password-again') ?? '')) return password;
  throw fieldError('invalid', 'password-again', 'The two passwords do not match.');
}

/** The hash of a new password. @throws FieldErrors; PaygateError limited */
export function hashOf(
  { parts, transport, account }: PageRequest,
  password: string,
): Promise<string> {
  const hosts = transport.origins.map((origin) => new URL(origin).hostname);
  const { name = ownerName } = account.person() ?? {};
  return parts.passwords
    .hash(password, [...namesOfStores(parts.records), ...hosts, name])
    .catch((error: unknown) => {
      throw atField('password-new', '', error);
    });
}

function removeDevices(tx: Tx, request: PageRequest): void {
  const { account } = request;
  if (hasAuthenticator(request)) recordChange(request, tx, 'totp.off', { by: 'link' });
  account.setTotp(tx, null);
  for (const { id, name } of account.passkeys()) {
    account.removePasskey(tx, id);
    recordChange(request, tx, 'passkey.remove', { name, by: 'link' });
  }
}

const noLink = (): PaygateError => new PaygateError('forbidden', 'This link is no longer valid.');

async function enter(request: PageRequest): Promise<ActionResult> {
  // A hash is expensive: only a valid link gets one.
  const linked = ofLink(request);
  if (linked === undefined) throw noLink();
  const { account } = linked;
  const hash = await hashOf(linked, newPasswordIn(linked));
  const token = await request.parts.records.database.write((tx) => {
    if (ofLink(request)?.account.personId !== account.personId) throw noLink();
    account.setPassword(tx, request.now, hash);
    recordChange(linked, tx, 'password.set', { by: 'link' });
    if (request.form.has('no-devices')) removeDevices(tx, linked);
    return beginSession(tx, { ...linked, session: undefined });
  });
  const isOwner = account.personId === ownerId;
  logSignIn(linked, 'link');
  setSessionCookie(request, token);
  return { to: isOwner && isSetupUnfinished(request) ? welcomePath : base };
}
