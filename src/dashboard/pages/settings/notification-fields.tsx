// Recipients of notifications as a form, for the operator or a store, and the result of a test.

import { newWebhookSecret } from '../../../delivery/signature.ts';
import { type NoticeKind, noticeLabels } from '../../../domain/delivery/notice.ts';
import {
  checkTarget,
  type NotifyTarget,
  parseRecipients,
  targetForAudit,
} from '../../../domain/delivery/notification-settings.ts';
import { storeSettings } from '../../../domain/store/store-settings.ts';
import { trimUrl } from '../../../domain/text/url-text.ts';
import type { TestResult } from '../../../notify/notification-sender.ts';
import type { TargetOwner } from '../../../store/file/file-state.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import type { ActionResult, PageRequest } from '../../page.ts';
import { isOn, readFields } from '../../parts/form-fields.ts';
import { Field, Form, Switch } from '../../parts/form-parts.tsx';
import { Layout } from '../../parts/layout.tsx';
import { SecretPage } from '../../parts/shown-secret.tsx';

interface TargetProps {
  readonly request: PageRequest;
  readonly owner: TargetOwner;
  /** The kinds that the owner may receive. */
  readonly kinds: readonly NoticeKind[];
}

/** Recipients, the webhook with its secret, and a test. */
export function NotifyTargetForms(props: TargetProps) {
  const { request, owner } = props;
  const { state } = request.parts.records;
  const { recipients, webhookUrl } = state.notifyTarget(owner).read();
  const hasMail = recipients.length > 0 && state.mailServer.read() !== undefined;
  return (
    <>
      <section aria-labelledby="recipients">
        <h2 id="recipients">Recipients</h2>
        <TargetForm {...props} />
      </section>
      {webhookUrl === null ? null : (
        <section aria-labelledby="signature">
          <h2 id="signature">Signature of the webhook</h2>
          <p>Each request is signed by the Standard Webhooks scheme.</p>
          <Form request={request} action="reveal-secret" button="Show the secret" needsPassword />
        </section>
      )}
      {hasMail || webhookUrl !== null ? (
        <section aria-labelledby="test">
          <h2 id="test">Test</h2>
          <p>Sends a test to each recipient now, and shows the result.</p>
          <Form request={request} action="send-test" button="Send a test" />
        </section>
      ) : null}
    </>
  );
}

function TargetForm({ request, owner, kinds }: TargetProps) {
  const target = request.parts.records.state.notifyTarget(owner).read();
  const form = 'save-recipients';
  return (
    <Form request={request} action={form} button="Save" needsPassword>
      <Field
        request={request}
        name="recipients"
        label="Mail addresses"
        value={target.recipients.join(', ')}
        help="With commas between them; empty for no mail."
        required={false}
        attributes={{ inputmode: 'email', autocomplete: 'off', spellcheck: 'false' }}
      />
      <fieldset>
        <legend>What they receive</legend>
        {kinds.map((kind) => (
          <Switch
            request={request}
            form={form}
            name={`kind-${kind}`}
            label={noticeLabels[kind]}
            on={target.kinds.includes(kind)}
          />
        ))}
      </fieldset>
      <Field
        request={request}
        name="webhook-url"
        label="Webhook URL"
        value={target.webhookUrl ?? undefined}
        help="Receives the same as JSON: ntfy, a chat, a program of yours. Empty for none."
        required={false}
        attributes={{ inputmode: 'url', spellcheck: 'false', autocomplete: 'off' }}
      />
      <Switch
        request={request}
        form={form}
        name="allow-private"
        label={storeSettings.allowPrivateCallback.label}
        on={target.allowPrivateCallback}
      />
      <Switch
        request={request}
        form={form}
        name="allow-http"
        label={storeSettings.allowHttpCallback.label}
        on={target.allowHttpCallback}
      />
    </Form>
  );
}

/** @throws FieldErrors */
function targetIn(
  request: PageRequest,
  kinds: readonly NoticeKind[],
  { webhookSecret }: NotifyTarget,
): NotifyTarget {
  const { parts } = request;
  const secret = webhookSecret ?? newWebhookSecret((length) => parts.world.randomBytes(length));
  const flags = {
    allowPrivateCallback: isOn(request, 'allow-private'),
    allowHttpCallback: isOn(request, 'allow-http'),
  };
  function parseWebhookUrl(text: string): string | null {
    const webhookUrl = trimUrl(text) || null;
    checkTarget({ webhookUrl, ...flags }, parts.callbackSender());
    return webhookUrl;
  }
  return readFields(request, (read) => {
    const recipients = read('recipients', 'Mail addresses', parseRecipients);
    const webhookUrl = read('webhook-url', 'Webhook URL', parseWebhookUrl);
    return {
      recipients,
      webhookUrl,
      ...flags,
      kinds: kinds.filter((kind) => isOn(request, `kind-${kind}`)),
      webhookSecret: webhookUrl === null ? null : secret,
    };
  });
}

export async function saveRecipients(
  request: PageRequest,
  owner: TargetOwner,
  kinds: readonly NoticeKind[],
  here: string,
): Promise<ActionResult> {
  const { state, database } = request.parts.records;
  const target = targetIn(request, kinds, state.notifyTarget(owner).read());
  await requireRecentPassword(request);
  await database.write((tx) => {
    state.notifyTarget(owner).write(tx, target);
    recordChange(request, tx, 'notify.recipients', targetForAudit(target), owner);
  });
  return { to: `${here}?done=saved` };
}

export async function revealNotifySecret(
  request: PageRequest,
  owner: TargetOwner,
  here: string,
): Promise<ActionResult> {
  await requireRecentPassword(request);
  const { state, database } = request.parts.records;
  await database.write((tx) => recordChange(request, tx, 'notify.reveal-secret', {}, owner));
  const { webhookSecret } = state.notifyTarget(owner).read();
  return {
    show: (
      <SecretPage
        title="Secret of the notification webhook"
        secret={webhookSecret ?? 'none'}
        back={here}
      >
        It signs each request to the webhook.
      </SecretPage>
    ),
  };
}

export async function sendNotifyTest(
  request: PageRequest,
  owner: TargetOwner,
  here: string,
): Promise<ActionResult> {
  const results = await request.parts.notifier.test(owner, new AbortController().signal);
  return {
    show: (
      <Layout request={request} title="Test of the notifications">
        {results.map((result) => (
          <TestOutcome result={result} />
        ))}
        <Form request={request} action="send-test" button="Send again" />
        <p>
          <a href={here}>Back to the notifications</a>
        </p>
      </Layout>
    ),
  };
}

const TestOutcome = ({ result: { to, reason } }: { readonly result: TestResult }) =>
  reason === null ? (
    <p class="note">{to}: accepted.</p>
  ) : (
    <p class="problem" role="alert">
      {to}: {reason}
    </p>
  );
