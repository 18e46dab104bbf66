// Settings of notifications: the mail server, and the operator's own recipients. The password of
// the mail server is never shown again.

import { noticeKinds } from '../../../domain/delivery/notice.ts';
import {
  type MailServer,
  mailPorts,
  mailSecurities,
  mailServerFault,
  parseMailAddress,
  parseMailHost,
  parseMailPort,
  parseMailText,
} from '../../../domain/delivery/notification-settings.ts';
import { formatCount, verbOf } from '../../../domain/text/format.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { fieldError, oneOf, readFields } from '../../parts/form-fields.ts';
import {
  chosenBefore,
  FaultNote,
  Field,
  Form,
  faultAttributes,
  Select,
} from '../../parts/form-parts.tsx';
import { DoneNote, Layout } from '../../parts/layout.tsx';
import {
  NotifyTargetForms,
  revealNotifySecret,
  saveRecipients,
  sendNotifyTest,
} from './notification-fields.tsx';

const here = `${base}/settings/notifications`;

export const notificationsPage: Page = {
  path: '/settings/notifications',
  show: (request) => notificationsMarkup(request),
  actions: {
    'save-mail': saveMailServer,
    'end-mail': endMail,
    'save-recipients': (request) => saveRecipients(request, null, noticeKinds, here),
    'reveal-secret': (request) => revealNotifySecret(request, null, here),
    'send-test': (request) => sendNotifyTest(request, null, here),
  },
};

function notificationsMarkup(request: PageRequest) {
  const stores = request.parts.records.catalog.stores();
  return (
    <Layout request={request} title="Notifications">
      <DoneNote request={request} />
      <p>
        paygate writes to you when an order is paid, when a delivery fails, and when an alarm begins
        or ends. You receive the notifications of all stores here.
      </p>
      <QueueState request={request} />
      <MailServerForm request={request} />
      <NotifyTargetForms request={request} owner={null} kinds={noticeKinds} />
      {stores.length === 0 ? null : (
        <section aria-labelledby="stores">
          <h2 id="stores">Recipients of one store</h2>
          <ul>
            {stores.map(({ id, name }) => (
              <li>
                <a href={`${base}/stores/${id}/notifications`}>{name}</a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Layout>
  );
}

function QueueState({ request }: { readonly request: PageRequest }) {
  const { count, reason } = request.parts.records.notifications.waiting();
  return count === 0 ? null : (
    <p class="note">
      {formatCount(count, 'notification')} {verbOf(count, 'waits', 'wait')}
      {reason === null ? '' : `; the last attempt failed: ${reason}`}
    </p>
  );
}

const securityLabels: Readonly<Record<MailServer['security'], string>> = {
  tls: 'TLS (usually port 465)',
  starttls: 'STARTTLS (usually port 587)',
  none: 'None, only for a server on this machine',
};

function MailServerForm({ request }: { readonly request: PageRequest }) {
  const server = request.parts.records.state.mailServer.read();
  const form = 'save-mail';
  const text = { autocomplete: 'off', spellcheck: 'false' };
  return (
    <section aria-labelledby="mail">
      <h2 id="mail">Mail server</h2>
      <Form request={request} action={form} button="Save" needsPassword>
        <Field
          request={request}
          name="host"
          label="Server"
          value={server?.host}
          help="For example smtp.example.com"
          attributes={text}
        />
        <Select
          request={request}
          name="security"
          label="Security"
          options={mailSecurities.map((each) => [each, securityLabels[each]] as const)}
          chosen={chosenBefore(request, form, 'security') ?? server?.security}
        />
        <Field
          request={request}
          name="port"
          label="Port"
          value={server && server.port !== mailPorts[server.security] ? server.port : undefined}
          help="Empty: the usual one of the security above."
          required={false}
          attributes={{ inputmode: 'numeric' }}
        />
        <Field
          request={request}
          name="user"
          label="User"
          value={server?.user ?? undefined}
          help="Often the mail address; empty for a server that asks for no password."
          required={false}
          attributes={text}
        />
        <label>
          Password
          <input
            type="password"
            name="password-mail"
            autocomplete="off"
            {...faultAttributes(request, 'password-mail')}
          />
          <small>
            {server?.password === undefined || server.password === null
              ? 'Many providers make a password for programs (app password).'
              : 'Leave it empty to keep the present one. A new user needs a new password.'}
          </small>
        </label>
        <FaultNote request={request} name="password-mail" />
        <Field
          request={request}
          name="from"
          label="Sender"
          value={server?.from}
          help="The mail address that mails come from."
          attributes={{ ...text, inputmode: 'email' }}
        />
      </Form>
      {server === undefined ? null : (
        <Form request={request} action="end-mail" button="Send no mail" isDangerous needsPassword />
      )}
    </section>
  );
}

/** Each field of the form, by the name of its value, with its label. */
const fields = {
  host: ['host', 'Server'],
  port: ['port', 'Port'],
  security: ['security', 'Security'],
  user: ['user', 'User'],
  password: ['password-mail', 'Password'],
  from: ['from', 'Sender'],
} as const;

/** @throws FieldErrors */
function mailServerIn(request: PageRequest, before: MailServer | undefined): MailServer {
  const typed = readFields(request, (read) => ({
    host: read(...fields.host, parseMailHost),
    port: read(...fields.port, (text) => (text === '' ? undefined : parseMailPort(text))),
    security: read(...fields.security, oneOf(mailSecurities)),
    user: read(...fields.user, parseMailText),
    // White space may be a part of it.
    password: read(...fields.password, () =>
      parseMailText(request.form.get('password-mail') ?? ''),
    ),
    from: read(...fields.from, parseMailAddress),
  }));
  // The stored password goes to no other server than the one that it was typed for.
  const isSame = before?.host === typed.host && before.user === typed.user;
  const storedPassword = isSame && typed.user !== null ? before.password : null;
  const ca = before?.host === typed.host ? before.ca : null;
  const port = typed.port ?? mailPorts[typed.security];
  const server = { ...typed, port, password: typed.password ?? storedPassword, ca };
  const fault = mailServerFault(server);
  if (fault === undefined) return server;
  const [name, label] = fields[fault.field];
  throw fieldError('invalid', name, fault.text, label);
}

async function saveMailServer(request: PageRequest): Promise<ActionResult> {
  const { state, database } = request.parts.records;
  const server = mailServerIn(request, state.mailServer.read());
  await requireRecentPassword(request);
  await database.write((tx) => {
    state.mailServer.write(tx, server);
    const { password: _password, ca: _ca, ...detail } = server;
    recordChange(request, tx, 'notify.mail', detail);
  });
  return { to: `${here}?done=saved` };
}

async function endMail(request: PageRequest): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { state, database } = request.parts.records;
  await database.write((tx) => {
    state.mailServer.write(tx, undefined);
    recordChange(request, tx, 'notify.mail-off');
  });
  return { to: `${here}?done=saved` };
}
