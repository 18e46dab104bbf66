// The authenticator app as a second factor, and its recovery codes. A new secret is stored only
// after a valid code, so that a failed setup cannot lock the operator out. Until then the form
// contains it.

import {
  newRecoveryCodes,
  recoveryCodeBytes,
  recoveryCodeCount,
} from '../../../domain/access/recovery-code.ts';
import {
  matchingStep,
  newTotpSecret,
  totpSecretBytes,
  totpUri,
} from '../../../domain/access/totp.ts';
import { PaygateError } from '../../../lib/errors.ts';
import { QrCode } from '../../../web/qr-code.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import {
  hasAuthenticator,
  isPasswordRecent,
  requireRecentPassword,
} from '../../guard/dashboard-session.ts';
import { type ActionResult, accountPath, field, type PageRequest } from '../../page.ts';
import { CodeField, Form } from '../../parts/form-parts.tsx';
import { Layout, NarrowPage } from '../../parts/layout.tsx';

export const Authenticator = ({ request }: { readonly request: PageRequest }) => (
  <section aria-labelledby="totp">
    <h2 id="totp">Authenticator app</h2>
    {hasAuthenticator(request) ? (
      <AuthenticatorOn request={request} />
    ) : (
      <>
        <p>
          A code from an app on your phone protects the dashboard even if your password leaks. You
          also get {recoveryCodeCount} recovery codes for the day on which you lose the phone.
        </p>
        {isPasswordRecent(request) ? (
          <Form request={request} action="begin-totp" button="Set up" />
        ) : null}
      </>
    )}
  </section>
);

const AuthenticatorOn = ({ request }: { readonly request: PageRequest }) => {
  const left = request.account.recoveryCodesLeft();
  return (
    <>
      <p>
        On. Signing in with the password and sensitive actions ask for a code from your
        authenticator app.
      </p>
      <p>
        {left} of {recoveryCodeCount} recovery codes left. New codes replace the old ones.
      </p>
      {isPasswordRecent(request) ? (
        <div class="row">
          <Form request={request} action="new-codes" button="Create new recovery codes" />
          <Form request={request} action="end-totp" button="Turn off" isDangerous />
        </div>
      ) : null}
    </>
  );
};

export async function beginEnrolment(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const secret = newTotpSecret(request.parts.world.randomBytes(totpSecretBytes));
  return { show: enrolmentMarkup({ ...request, url: accountPath }, secret) };
}

const enrolmentMarkup = (request: PageRequest, secret: string) => (
  <Layout request={request} title="Authenticator app">
    <p>Scan the QR code with the app, or enter the key. Then enter the code that the app shows.</p>
    <QrCode
      text={totpUri(secret, request.context.req.header('Host') ?? 'paygate')}
      label="QR code of the key for your authenticator app, which is also shown below"
    />
    <p>
      Key: <code>{secret.match(/.{1,4}/g)?.join(' ')}</code>
    </p>
    <Form request={request} action="finish-totp" button="Turn on" needsPassword>
      <input type="hidden" name="secret" value={secret} />
      <CodeField />
    </Form>
    <p>
      <a href={accountPath}>Cancel</a>
    </p>
  </Layout>
);

export async function finishEnrolment(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const secret = field(request, 'secret');
  if (!/^[A-Z2-7]{32}$/.test(secret))
    throw new PaygateError('invalid', 'This authenticator key is invalid. Start again.');
  const step = matchingStep(secret, field(request, 'code'), request.now, 0);
  if (step === undefined) {
    const problem = 'This code does not belong to that key. Is the clock of your phone right?';
    return { show: enrolmentMarkup({ ...request, problem, form: new URLSearchParams() }, secret) };
  }
  const { account } = request;
  const codes = newCodes(request);
  await request.parts.records.database.write((tx) => {
    account.setTotp(tx, secret, step);
    account.setRecoveryCodes(tx, codes);
    recordChange(request, tx, 'totp.on');
  });
  return { show: codesMarkup('The authenticator app is on', codes) };
}

export async function replaceRecoveryCodes(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const codes = newCodes(request);
  await request.parts.records.database.write((tx) => {
    if (!hasAuthenticator(request)) {
      throw new PaygateError('conflict', 'The authenticator app is off. Set it up first.');
    }
    request.account.setRecoveryCodes(tx, codes);
    recordChange(request, tx, 'recovery-codes.new');
  });
  return { show: codesMarkup('New recovery codes', codes) };
}

const newCodes = ({ parts }: PageRequest): string[] =>
  newRecoveryCodes(parts.world.randomBytes(recoveryCodeBytes));

const codesMarkup = (title: string, codes: readonly string[]) => (
  <NarrowPage title={title}>
    <p>
      If you lose your phone, each of these recovery codes works once in place of a code from the
      app. Print them or store them in a password manager now: paygate does not show them again.
    </p>
    <pre>
      <code id="codes">{codes.join('\n')}</code>
    </pre>
    <button type="button" data-copy="codes" class="unready other">
      Copy them
    </button>
    <p>
      <a href={accountPath}>I have stored them</a>
    </p>
  </NarrowPage>
);

export async function disableTotp(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  await request.parts.records.database.write((tx) => {
    request.account.setTotp(tx, null);
    recordChange(request, tx, 'totp.off');
  });
  return { to: `${accountPath}?done=totp-off` };
}
