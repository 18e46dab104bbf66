// The account of a person: password, passkeys, authenticator app, sessions. Without a recent
// password it has one form that asks for it, and none that changes the account.

import { browserName } from '../../../domain/access/browser-name.ts';
import type { Session } from '../../../store/access/admin.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import {
  beginSession,
  confirmSession,
  isPasswordRecent,
  requireRecentPassword,
  setSessionCookie,
  signedIn,
} from '../../guard/dashboard-session.ts';
import { type ActionResult, accountPath, field, type Page, type PageRequest } from '../../page.ts';
import { Form, UserName } from '../../parts/form-parts.tsx';
import { DoneNote, Layout, Table } from '../../parts/layout.tsx';
import { hashOf, NewPasswordFields, newPasswordIn } from './enter-page.tsx';
import { askPasskey, beginPasskey, finishPasskey, Passkeys } from './passkeys-section.tsx';
import {
  Authenticator,
  beginEnrolment,
  disableTotp,
  finishEnrolment,
  replaceRecoveryCodes,
} from './totp-page.tsx';

export const accountPage: Page = {
  path: '/settings/account',
  viewers: [
    'confirm',
    'change-password',
    'ask-passkey',
    'begin-passkey',
    'finish-passkey',
    'begin-totp',
    'finish-totp',
    'end-totp',
    'new-codes',
    'end-session',
    'end-others',
  ],
  show: (request) => accountMarkup(request),
  actions: {
    confirm: async (request) => {
      await requireRecentPassword(request);
      return { to: accountPath };
    },
    'change-password': changePassword,
    'ask-passkey': askPasskey('confirm'),
    'begin-passkey': beginPasskey,
    'finish-passkey': finishPasskey,
    'begin-totp': beginEnrolment,
    'finish-totp': finishEnrolment,
    'end-totp': disableTotp,
    'new-codes': replaceRecoveryCodes,
    'end-session': endSession,
    'end-others': endOthers,
  },
};

const accountMarkup = (request: PageRequest) => (
  <Layout request={request} title="Account">
    <DoneNote request={request} />
    {isPasswordRecent(request) ? (
      <section aria-labelledby="password">
        <h2 id="password">Password</h2>
        <p>A new password ends all other sessions.</p>
        <Form request={request} action="change-password" button="Change the password">
          <UserName request={request} />
          <NewPasswordFields request={request} />
        </Form>
      </section>
    ) : (
      <section aria-labelledby="confirm">
        <h2 id="confirm">Change your account</h2>
        <p>First confirm that it is you. That lasts for five minutes.</p>
        <Form request={request} action="confirm" button="Continue" needsPassword />
      </section>
    )}
    <Passkeys request={request} />
    <Authenticator request={request} />
    <Sessions request={request} />
  </Layout>
);

async function changePassword(request: PageRequest): Promise<ActionResult> {
  const password = newPasswordIn(request);
  await requireRecentPassword(request);
  const hash = await hashOf(request, password);
  const token = await request.parts.records.database.write((tx) => {
    // A new password or a sign-out of other sessions may have ended this one while we were hashing.
    confirmSession(tx, request);
    request.account.setPassword(tx, request.now, hash);
    recordChange(request, tx, 'password.set');
    return beginSession(tx, { ...request, session: undefined });
  });
  setSessionCookie(request, token);
  return { to: `${accountPath}?done=password-changed` };
}

export const Sessions = ({ request }: { readonly request: PageRequest }) => {
  const sessions = request.account.sessions(request.now);
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <p>A session ends 30 minutes after its last use and 12 hours after its start.</p>
      <Table
        label="Signed-in browsers"
        heads={['Browser', 'Last used', <span class="hidden">Action</span>]}
      >
        {sessions.map((session) => (
          <SessionRow request={request} session={session} />
        ))}
      </Table>
      {sessions.length > 1 ? (
        <Form request={request} action="end-others" button="Sign out all others" />
      ) : null}
    </section>
  );
};

const SessionRow = ({
  request,
  session,
}: {
  readonly request: PageRequest;
  readonly session: Session;
}) => (
  <tr>
    <td title={session.agent}>
      {browserName(session.agent)} <span class="below">{session.client}</span>
    </td>
    <td>
      <Time at={session.seenAt} />{' '}
      <span class="below">
        began <Time at={session.createdAt} />
      </span>
    </td>
    <td>
      {session.id === request.session?.id ? (
        'This browser'
      ) : (
        <Form request={request} action="end-session" button="Sign out" isQuiet>
          <input type="hidden" name="session" value={session.hash.toString('base64url')} />
        </Form>
      )}
    </td>
  </tr>
);

async function endSession(request: PageRequest): Promise<ActionResult> {
  const hash = Buffer.from(field(request, 'session'), 'base64url');
  await request.parts.records.database.write((tx) => {
    if (request.account.endByHash(tx, hash)) recordChange(request, tx, 'session.end');
  });
  return { to: `${accountPath}?done=signed-out` };
}

export async function endOthers(request: PageRequest): Promise<ActionResult> {
  await request.parts.records.database.write((tx) => {
    request.account.endOthers(tx, signedIn(request).id);
    recordChange(request, tx, 'session.end-others');
  });
  return { to: `${accountPath}?done=others-signed-out` };
}
