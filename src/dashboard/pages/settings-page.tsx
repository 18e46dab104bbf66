// The operator's own things: password, authenticator app, who is signed in, the version.

import { version } from '../../lib/version.ts';
import type { Session } from '../../store/records/admin.ts';
import { note } from '../audit-entry.ts';
import {
  beginSession,
  confirmSession,
  giveCookie,
  requireFresh,
  signedIn,
} from '../dashboard-session.ts';
import { Form, Layout, Time } from '../layout.tsx';
import { base, type Outcome, type Page, type Visit } from '../page.ts';
import { hashOf, NewPasswordFields, newPasswordIn } from './enter-page.tsx';
import { Authenticator, beginTotp, endTotp, finishTotp } from './totp-page.tsx';

const here = `${base}/settings`;

export const settingsPage: Page = {
  path: '/settings',
  show: (visit) => settings(visit),
  actions: {
    'change-password': changePassword,
    'begin-totp': beginTotp,
    'finish-totp': finishTotp,
    'end-totp': endTotp,
    'end-others': endOthers,
  },
};

const settings = (visit: Visit) => (
  <Layout visit={visit} title="Settings">
    <section aria-labelledby="password">
      <h2 id="password">Password</h2>
      <p>A new one signs everybody else out.</p>
      <Form visit={visit} does="change-password" button="Change the password" confirm>
        <input type="text" name="username" value="admin" autocomplete="username" hidden />
        <NewPasswordFields />
      </Form>
    </section>
    <Authenticator visit={visit} />
    <Sessions visit={visit} />
    <section aria-labelledby="about">
      <h2 id="about">About</h2>
      <p>
        paygate {version} on {visit.parts.store.network}.{' '}
        <a href={`${here}/audit`}>What was changed here and through the API</a>.{' '}
        <a href={`${here}/rates`}>Rates</a>. <a href={`${here}/backups`}>Backups</a>
      </p>
    </section>
    <p>
      <a href={`${base}/sign-out`}>Sign out</a>
    </p>
  </Layout>
);

const Sessions = ({ visit }: { readonly visit: Visit }) => (
  <section aria-labelledby="sessions">
    <h2 id="sessions">Signed in</h2>
    <ul class="plain">
      {visit.parts.store.admin.sessions(visit.now).map((session) => (
        <li>
          <SessionLine visit={visit} session={session} />
        </li>
      ))}
    </ul>
    <Form visit={visit} does="end-others" button="Sign all others out" />
  </section>
);

const SessionLine = ({ visit, session }: { readonly visit: Visit; readonly session: Session }) => {
  const isOwn = session.id === visit.session?.id;
  return (
    <p>
      <strong>{session.client}</strong> since <Time at={session.createdAt} />
      {isOwn ? ' (this browser)' : ''}
      <br />
      <small>{session.agent}</small>
    </p>
  );
};

async function changePassword(visit: Visit): Promise<Outcome> {
  const password = newPasswordIn(visit);
  await requireFresh(visit);
  const { admin, database } = visit.parts.store;
  const hash = await hashOf(visit, password);
  const token = await database.write((tx) => {
    // A new password, or who signed all others out, may have ended the session while the hash was made.
    confirmSession(tx, visit);
    admin.setPassword(tx, visit.now, hash);
    note(visit, tx, 'password.set');
    return beginSession(tx, { ...visit, session: undefined });
  });
  giveCookie(visit, token);
  return { to: here };
}

async function endOthers(visit: Visit): Promise<Outcome> {
  const { admin, database } = visit.parts.store;
  await database.write((tx) => admin.endOthers(tx, signedIn(visit).id));
  return { to: here };
}
