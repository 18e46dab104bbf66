// The steps that connect one plugin for BTCPay Server: the values to type, a key of the right
// shape, a test. It adds the webhook of a plugin that makes none itself.

import type { Child } from 'hono/jsx';
import { newPluginSecret } from '../../../delivery/signature.ts';
import { readApiKey } from '../../../domain/access/api-key.ts';
import { checkWebhookUrl, redactUrl } from '../../../domain/delivery/callback.ts';
import { encodeBars, trimUrl } from '../../../domain/text/url-text.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { WebhookRow } from '../../../store/delivery/webhook-records.ts';
import { requireRunning } from '../../../store/wallets/catalog.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, field, type Page, type PageRequest } from '../../page.ts';
import { fieldError, readFields } from '../../parts/form-fields.ts';
import { chosenBefore, Field, Form, Select } from '../../parts/form-parts.tsx';
import { type CheckLine, checkPlugin, pluginUrl } from './plugin-check.ts';
import { type Platform, platforms } from './plugin-platforms.ts';
import { type StoreProps, storeMarkup, storeOf, storePath } from './store-layout.tsx';
import { addPluginKey } from './store-plugin-page.tsx';

export const storePlatformPage: Page = {
  path: '/stores/:id/plugin/:platform',
  show: (request) => platformMarkup(request, {}),
  actions: {
    'add-plugin-key': addKey,
    'check-plugin': check,
    'add-webhook': addWebhook,
    'delete-webhook': deleteWebhook,
  },
};

/** @throws PaygateError not_found */
function platformOf({ context }: PageRequest): Platform {
  const name = context.req.param('platform') ?? '';
  const platform = Object.hasOwn(platforms, name) ? platforms[name] : undefined;
  if (platform !== undefined) return platform;
  throw new PaygateError('not_found', 'Page not found.');
}

/** What an action adds to the page, once. */
interface Answer {
  readonly apiKey?: string;
  readonly webhook?: WebhookRow;
  readonly lines?: readonly CheckLine[];
}

const platformMarkup = (request: PageRequest, answer: Answer) => {
  const platform = platformOf(request);
  return storeMarkup(request, '/plugin', (props) => (
    <PlatformSteps {...props} platform={platform} answer={answer} />
  ));
};

interface CopiedProps {
  readonly id: string;
  /** Undefined if the plugin has no such field. */
  readonly label: string | undefined;
  readonly value: string | undefined;
  /** In place of a value that is not there. */
  readonly otherwise?: Child;
}

const Copied = ({ id, label, value, otherwise }: CopiedProps) =>
  label === undefined ? null : (
    <>
      <dt>{label}</dt>
      <dd>
        {value === undefined ? (
          otherwise
        ) : (
          <>
            <code id={id}>{value}</code>{' '}
            <button type="button" data-copy={id} class="unready other">
              Copy
            </button>
          </>
        )}
      </dd>
    </>
  );

const PlatformSteps = (
  props: StoreProps & { readonly platform: Platform; readonly answer: Answer },
) => {
  const { request, row, platform, answer } = props;
  const { apiKey, webhook, lines } = answer;
  const key = apiKey === undefined ? undefined : `${platform.keyPrefix ?? ''}${apiKey}`;
  return (
    <section aria-labelledby="platform">
      <h2 id="platform">Connect {platform.name}</h2>
      <ol>
        {platform.key === undefined ? (
          <li>The plugin asks paygate for its key itself.</li>
        ) : (
          <li>
            Create a key for the plugin. For 15 minutes it may also set up its store.
            <Form
              request={request}
              action="add-plugin-key"
              button={`Create a key for ${platform.name}`}
              needsPassword
            />
          </li>
        )}
        {platform.webhook === undefined ? null : (
          <WebhookStep {...props} url={platform.webhook.url} />
        )}
        <li>
          Open <strong>{platform.at}</strong>, and type these values:
          <dl class="facts">
            <Copied id="copy-url" label={platform.url} value={pluginUrl(request)} />
            <Copied
              id="copy-key"
              label={platform.key}
              value={key}
              otherwise="the key that you create above; it is shown once"
            />
            <Copied id="copy-store" label={platform.store} value={row.publicId} />
            <Copied
              id="copy-secret"
              label={platform.webhook?.secret}
              value={webhook?.secret ?? undefined}
              otherwise="the secret of the webhook that you add above; it is shown once"
            />
          </dl>
        </li>
        {platform.steps.map((step) => (
          <li>{step.split('*').map((part, at) => (at % 2 === 1 ? <b>{part}</b> : part))}</li>
        ))}
        <li>
          Test what the plugin finds. Nothing is changed.
          {lines === undefined ? null : <Lines lines={lines} />}
          <Form request={request} action="check-plugin" button="Test">
            <Field
              request={request}
              name="api-key"
              label="API key"
              value={apiKey}
              attributes={{ autocomplete: 'off', spellcheck: 'false' }}
            />
          </Form>
        </li>
      </ol>
      <Webhooks request={request} row={row} />
      <p>
        <a href={storePath(row.id, '/plugin')}>Other platforms</a>
      </p>
    </section>
  );
};

const Lines = ({ lines }: { readonly lines: readonly CheckLine[] }) => (
  <ul role="status">
    {lines.map(({ what, problem }) => (
      <li>
        {what}: {problem ?? 'ok'}
      </li>
    ))}
  </ul>
);

const WebhookStep = ({ request, url }: StoreProps & { readonly url: string }) => (
  <li>
    Add the webhook of the plugin, because it makes none itself. Its URL is {url}.
    <Form request={request} action="add-webhook" button="Add this webhook" needsPassword>
      <Field request={request} name="url" label="URL of the webhook" type="url" />
    </Form>
  </li>
);

const Webhooks = ({ request, row }: StoreProps) => {
  const rows = request.parts.records.webhookRecords.list(row.id);
  return rows.length === 0 ? null : (
    <>
      <h3>Webhooks of plugins</h3>
      <p>A shop without its webhook learns of no payment, and some stop to sell.</p>
      <Form
        request={request}
        action="delete-webhook"
        button="Delete this webhook"
        isDangerous
        needsPassword
      >
        <Select
          name="webhook"
          label="Webhook"
          options={rows.map(({ publicId, url }) => [publicId, redactUrl(url ?? '')] as const)}
          chosen={chosenBefore(request, 'delete-webhook', 'webhook')}
        />
      </Form>
    </>
  );
};

async function addKey(request: PageRequest): Promise<ActionResult> {
  const { plugin = 'standard', name } = platformOf(request);
  const row = storeOf(request);
  await requireRecentPassword(request);
  const apiKey = await request.parts.records.database.write((tx) =>
    addPluginKey(request, tx, row, plugin, { for: name }),
  );
  return { show: platformMarkup(request, { apiKey }) };
}

async function check(request: PageRequest): Promise<ActionResult> {
  const text = field(request, 'api-key');
  // Medusa has a word before it.
  const apiKey = text.replace(/^token\s+/i, '');
  if (readApiKey(apiKey) === undefined) {
    throw fieldError('invalid', 'api-key', 'This is no API key of paygate: copy it whole.');
  }
  const lines = await checkPlugin(request, storeOf(request), platformOf(request), apiKey);
  return { show: platformMarkup(request, { apiKey, lines }) };
}

async function addWebhook(request: PageRequest): Promise<ActionResult> {
  const { webhook: { events } = { events: [] } } = platformOf(request);
  const row = storeOf(request);
  const { parts } = request;
  const url = readFields(request, (read) =>
    read('url', 'URL of the webhook', (text) => {
      checkWebhookUrl(encodeBars(trimUrl(text)), row, parts.callbackSender());
      return trimUrl(text);
    }),
  );
  await requireRecentPassword(request);
  const { webhookRecords, catalog, database } = parts.records;
  const secret = newPluginSecret(parts.world.randomBytes);
  const fields = { url, secret, isEnabled: true, events: events.join() };
  const webhook = await database.write((tx) => {
    requireRunning(catalog.store(row.id));
    const added = webhookRecords.add(tx, request.now, row.id, fields);
    const detail = { webhook: added.publicId, url: redactUrl(url) };
    recordChange(request, tx, 'webhook.add', detail, row.id);
    return added;
  });
  return { show: platformMarkup(request, { webhook }) };
}

async function deleteWebhook(request: PageRequest): Promise<ActionResult> {
  const row = storeOf(request);
  const { webhookRecords, database } = request.parts.records;
  const id = field(request, 'webhook');
  await requireRecentPassword(request);
  await database.write((tx) => {
    const found = webhookRecords.list(row.id).find(({ publicId }) => publicId === id);
    // Another click or the plugin has already deleted it.
    if (found === undefined) return;
    webhookRecords.remove(tx, request.now, found.id);
    const detail = { webhook: id, url: redactUrl(found.url ?? '') };
    recordChange(request, tx, 'webhook.remove', detail, row.id);
  });
  return { to: request.url };
}
