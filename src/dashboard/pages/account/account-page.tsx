// The account of the operator: password, passkeys, authenticator app, sessions. Without a recent
// password it has one form that asks for it, and none that changes the account.

import { recordChange } from '../../guard/audit-entry.ts';
import {
  beginSession,
  confirmSession,
  isPasswordRecent,
  requireRecentPassword,
  setSessionCookie,
} from '../../guard/dashboard-session.ts';
import { type ActionResult, accountPath, type Page, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
import { hashOf, NewPasswordFields, newPasswordIn } from './enter-page.tsx';
import { askPasskey, beginPasskey, finishPasskey, Passkeys } from './passkeys-section.tsx';
import { endOthers, endSession, Sessions } from './sessions.tsx';
import {
  Authenticator,
  beginEnrolment,
  disableTotp,
  finishEnrolment,
  replaceRecoveryCodes,
} from './totp-page.tsx';

export const accountPage: Page = {
  path: '/settings/account',
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
          <input type="text" name="username" value="admin" autocomplete="username" hidden />
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
  const { admin, database } = request.parts.records;
  const hash = await hashOf(request, password);
  const token = await database.write((tx) => {
    // A new password or a sign-out of other sessions may have ended this one while we were hashing.
    confirmSession(tx, request);
    admin.setPassword(tx, request.now, hash);
    recordChange(request, tx, 'password.set');
    return beginSession(tx, { ...request, session: undefined });
  });
  setSessionCookie(request, token);
  return { to: `${accountPath}?done=password-changed` };
}
