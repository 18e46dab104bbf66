// The operator's settings: password, authenticator app, active sessions, version.

import { version } from '../../lib/version.ts';
import type { Session } from '../../store/records/admin.ts';
import { Time } from '../../web/values.tsx';
import { recordChange } from '../audit-entry.ts';
import {
  beginSession,
  confirmSession,
  requireRecentPassword,
  setSessionCookie,
  signedIn,
} from '../dashboard-session.ts';
import { Form, Layout } from '../layout.tsx';
import { type ActionResult, base, type Page, type PageRequest } from '../page.ts';
import { hashOf, NewPasswordFields, newPasswordIn } from './enter-page.tsx';
import { Authenticator, beginEnrolment, disableTotp, finishEnrolment } from './totp-page.tsx';

const here = `${base}/settings`;

export const settingsPage: Page = {
  path: '/settings',
  show: (request) => settingsMarkup(request),
  actions: {
    'change-password': changePassword,
    'begin-totp': beginEnrolment,
    'finish-totp': finishEnrolment,
    'end-totp': disableTotp,
    'end-others': endOthers,
  },
};

const settingsMarkup = (request: PageRequest) => (
  <Layout request={request} title="Settings">
    <section aria-labelledby="password">
      <h2 id="password">Password</h2>
      <p>A new password ends all other sessions.</p>
      <Form request={request} action="change-password" button="Change the password" needsPassword>
        <input type="text" name="username" value="admin" autocomplete="username" hidden />
        <NewPasswordFields />
      </Form>
    </section>
    <Authenticator request={request} />
    <Sessions request={request} />
    <section aria-labelledby="about">
      <h2 id="about">About</h2>
      <p>
        paygate {version} on {request.parts.store.network}. <a href={`${here}/audit`}>Audit log</a>.{' '}
        <a href={`${here}/rates`}>Rates</a>. <a href={`${here}/backups`}>Backups</a>
      </p>
    </section>
    <p>
      <a href={`${base}/sign-out`}>Sign out</a>
    </p>
  </Layout>
);

const Sessions = ({ request }: { readonly request: PageRequest }) => (
  <section aria-labelledby="sessions">
    <h2 id="sessions">Active sessions</h2>
    <ul class="plain">
      {request.parts.store.admin.sessions(request.now).map((session) => (
        <li>
          <SessionEntry request={request} session={session} />
        </li>
      ))}
    </ul>
    <Form request={request} action="end-others" button="End all other sessions" />
  </section>
);

const SessionEntry = ({
  request,
  session,
}: {
  readonly request: PageRequest;
  readonly session: Session;
}) => {
  const isOwn = session.id === request.session?.id;
  return (
    <p>
      <strong>{session.client}</strong> since <Time at={session.createdAt} />
      {isOwn ? ' (this browser)' : ''}
      <br />
      <small>{session.agent}</small>
    </p>
  );
};

async function changePassword(request: PageRequest): Promise<ActionResult> {
  const password = newPasswordIn(request);
  await requireRecentPassword(request);
  const { admin, database } = request.parts.store;
  const hash = await hashOf(request, password);
  const token = await database.write((tx) => {
    // A new password or a sign-out of other sessions may have ended this one while we were hashing.
    confirmSession(tx, request);
    admin.setPassword(tx, request.now, hash);
    recordChange(request, tx, 'password.set');
    return beginSession(tx, { ...request, session: undefined });
  });
  setSessionCookie(request, token);
  return { to: here };
}

async function endOthers(request: PageRequest): Promise<ActionResult> {
  const { admin, database } = request.parts.store;
  await database.write((tx) => admin.endOthers(tx, signedIn(request).id));
  return { to: here };
}
