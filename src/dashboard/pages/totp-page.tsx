// The authenticator app as a second factor. A new secret is stored only after a valid code, so that
// a failed setup cannot lock the operator out. Until then the form contains it.

import { matchingStep, newTotpSecret, totpSecretBytes, totpUri } from '../../domain/totp.ts';
import { PaygateError } from '../../lib/errors.ts';
import { QrCode } from '../../web/qr-code.tsx';
import { recordChange } from '../audit-entry.ts';
import { hasAuthenticator, requireRecentPassword } from '../dashboard-session.ts';
import { CodeField, Form, Layout } from '../layout.tsx';
import { type ActionResult, base, field, type PageRequest } from '../page.ts';

const here = `${base}/settings`;

export const Authenticator = ({ request }: { readonly request: PageRequest }) => {
  const isOn = hasAuthenticator(request);
  return (
    <section aria-labelledby="totp">
      <h2 id="totp">Authenticator app</h2>
      {isOn ? (
        <>
          <p>Signing in and sensitive actions ask for a code from your authenticator app.</p>
          <Form request={request} action="end-totp" button="Turn off" isDangerous needsPassword />
        </>
      ) : (
        <>
          <p>
            A code from an app on your phone protects the dashboard even if your password leaks.
          </p>
          <Form request={request} action="begin-totp" button="Set up" needsPassword />
        </>
      )}
    </section>
  );
};

export async function beginEnrolment(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const secret = newTotpSecret(request.parts.world.randomBytes(totpSecretBytes));
  return { show: enrolmentMarkup({ ...request, url: here }, secret) };
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
      <a href={here}>Cancel</a>
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
  const { admin, database } = request.parts.store;
  await database.write((tx) => {
    admin.setTotp(tx, secret, step);
    recordChange(request, tx, 'totp.on');
  });
  return { to: here };
}

export async function disableTotp(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { admin, database } = request.parts.store;
  await database.write((tx) => {
    admin.setTotp(tx, null);
    recordChange(request, tx, 'totp.off');
  });
  return { to: here };
}
