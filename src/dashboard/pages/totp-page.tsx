// The authenticator app as a second factor. A new secret is kept only once a code of it was typed, so
// that nobody locks themselves out; until then it travels in the form.

import { matchingStep, newTotpSecret, totpSecretBytes, totpUri } from '../../domain/totp.ts';
import { PaygateError } from '../../lib/errors.ts';
import { note } from '../audit-entry.ts';
import { hasApp, requireFresh } from '../dashboard-session.ts';
import { CodeField, Form, Layout } from '../layout.tsx';
import { base, field, type Outcome, type Visit } from '../page.ts';
import { QrCode } from '../qr.tsx';

const here = `${base}/settings`;

export const Authenticator = ({ visit }: { readonly visit: Visit }) => {
  const isOn = hasApp(visit);
  return (
    <section aria-labelledby="totp">
      <h2 id="totp">Authenticator app</h2>
      {isOn ? (
        <>
          <p>Signing in, and what could do harm, asks for a code of your authenticator app.</p>
          <Form visit={visit} does="end-totp" button="Switch it off" grave confirm />
        </>
      ) : (
        <>
          <p>A code of an app on your phone, beside the password, keeps out who has learnt that.</p>
          <Form visit={visit} does="begin-totp" button="Set one up" confirm />
        </>
      )}
    </section>
  );
};

export async function beginTotp(visit: Visit): Promise<Outcome> {
  await requireFresh(visit);
  const secret = newTotpSecret(visit.parts.world.randomBytes(totpSecretBytes));
  return { show: enrolment({ ...visit, url: here }, secret) };
}

const enrolment = (visit: Visit, secret: string) => (
  <Layout visit={visit} title="Authenticator app">
    <p>Scan this with the app, or type the key into it. Then type the code that it shows.</p>
    <QrCode
      text={totpUri(secret, visit.context.req.header('Host') ?? 'paygate')}
      label="The key for your authenticator app, which also stands below"
    />
    <p>
      Key: <code>{secret.match(/.{1,4}/g)?.join(' ')}</code>
    </p>
    <Form visit={visit} does="finish-totp" button="Switch it on" confirm>
      <input type="hidden" name="secret" value={secret} />
      <CodeField />
    </Form>
    <p>
      <a href={here}>Leave it off</a>
    </p>
  </Layout>
);

export async function finishTotp(visit: Visit): Promise<Outcome> {
  await requireFresh(visit);
  const secret = field(visit, 'secret');
  if (!/^[A-Z2-7]{32}$/.test(secret)) throw new PaygateError('invalid', 'This is no key of ours.');
  const step = matchingStep(secret, field(visit, 'code'), visit.now, 0);
  if (step === undefined) {
    const problem = 'This is not the code of that key. Is the clock of your phone right?';
    return { show: enrolment({ ...visit, problem, form: new URLSearchParams() }, secret) };
  }
  const { admin, database } = visit.parts.store;
  await database.write((tx) => {
    admin.setTotp(tx, secret, step);
    note(visit, tx, 'totp.on');
  });
  return { to: here };
}

export async function endTotp(visit: Visit): Promise<Outcome> {
  await requireFresh(visit);
  const { admin, database } = visit.parts.store;
  await database.write((tx) => {
    admin.setTotp(tx, null);
    note(visit, tx, 'totp.off');
  });
  return { to: here };
}
