// The authenticator app as a second factor. A new secret is kept only once a code of it was typed, so
// that nobody locks themselves out; until then it travels in the form.

import { matchingStep, newTotpSecret, totpSecretBytes, totpUri } from '../../domain/totp.ts';
import { PaygateError } from '../../lib/errors.ts';
import { recordAudit } from '../audit-entry.ts';
import { hasAuthenticator, requireRecentPassword } from '../dashboard-session.ts';
import { CodeField, Form, Layout } from '../layout.tsx';
import { type ActionResult, base, field, type PageRequest } from '../page.ts';
import { QrCode } from '../qr.tsx';

const here = `${base}/settings`;

export const Authenticator = ({ request }: { readonly request: PageRequest }) => {
  const isOn = hasAuthenticator(request);
  return (
    <section aria-labelledby="totp">
      <h2 id="totp">Authenticator app</h2>
      {isOn ? (
        <>
          <p>Signing in, and what could do harm, asks for a code of your authenticator app.</p>
          <Form
            request={request}
            action="end-totp"
            button="Switch it off"
            isDangerous
            needsPassword
          />
        </>
      ) : (
        <>
          <p>A code of an app on your phone, beside the password, keeps out who has learnt that.</p>
          <Form request={request} action="begin-totp" button="Set one up" needsPassword />
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
    <p>Scan this with the app, or type the key into it. Then type the code that it shows.</p>
    <QrCode
      text={totpUri(secret, request.context.req.header('Host') ?? 'paygate')}
      label="The key for your authenticator app, which also stands below"
    />
    <p>
      Key: <code>{secret.match(/.{1,4}/g)?.join(' ')}</code>
    </p>
    <Form request={request} action="finish-totp" button="Switch it on" needsPassword>
      <input type="hidden" name="secret" value={secret} />
      <CodeField />
    </Form>
    <p>
      <a href={here}>Leave it off</a>
    </p>
  </Layout>
);

export async function finishEnrolment(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const secret = field(request, 'secret');
  if (!/^[A-Z2-7]{32}$/.test(secret)) throw new PaygateError('invalid', 'This is no key of ours.');
  const step = matchingStep(secret, field(request, 'code'), request.now, 0);
  if (step === undefined) {
    const problem = 'This is not the code of that key. Is the clock of your phone right?';
    return { show: enrolmentMarkup({ ...request, problem, form: new URLSearchParams() }, secret) };
  }
  const { admin, database } = request.parts.store;
  await database.write((tx) => {
    admin.setTotp(tx, secret, step);
    recordAudit(request, tx, 'totp.on');
  });
  return { to: here };
}

export async function disableTotp(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { admin, database } = request.parts.store;
  await database.write((tx) => {
    admin.setTotp(tx, null);
    recordAudit(request, tx, 'totp.off');
  });
  return { to: here };
}
