// Webhooks of a store in the format of BTCPay Server. A plugin reads them at any time, and changes
// them only while "Connect a plugin" is open for its key.

import type { Context } from 'hono';
import * as z from 'zod';
import { type Operation, operation } from '../api/operation.ts';
import { newPluginSecret } from '../delivery/signature.ts';
import { checkWebhookUrl, redactUrl } from '../domain/delivery/callback.ts';
import { BodyProblems } from '../domain/order/body-fields.ts';
import { encodeBars } from '../domain/text/url-text.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Key } from '../store/access/api-keys.ts';
import type { AuditAction } from '../store/access/audit.ts';
import type { Tx } from '../store/db/writer.ts';
import type { WebhookFields, WebhookRow } from '../store/delivery/webhook-records.ts';
import { clientAddressOf } from '../web/limits/request-origin.ts';
import { type RouteOptions, storeOf } from './greenfield-routes.ts';

const authorizedEvents = z.object({
  everything: z.boolean().optional(),
  specificEvents: z.array(z.string().max(100)).max(50).optional(),
});

const body = z.object({
  url: z.string().max(2_048),
  secret: z.string().max(255).optional().describe('Made here by default; kept by a change'),
  enabled: z.boolean().optional(),
  automaticRedelivery: z
    .literal(true, 'paygate always sends again: send true, or leave it out')
    .optional(),
  authorizedEvents: authorizedEvents.optional().describe('All by default'),
});

const answer = z
  .looseObject({
    id: z.string(),
    url: z.string(),
    enabled: z.boolean(),
    automaticRedelivery: z.boolean(),
    authorizedEvents: authorizedEvents.required(),
  })
  .meta({ id: 'Webhook' });

const shown = ({ publicId, url, isEnabled, events }: WebhookRow) => ({
  id: publicId,
  url: url ?? '',
  enabled: isEnabled,
  automaticRedelivery: true,
  authorizedEvents: {
    everything: events === '',
    specificEvents: events.split(',').filter((name) => name !== ''),
  },
});

interface Asked {
  readonly key: Key;
  readonly context: Context;
}

/** @throws PaygateError not_found */
const webhookOf = (options: RouteOptions, { key, context }: Asked): WebhookRow =>
  options.records.webhookRecords.of(storeOf(options, key).id, context.req.param('webhookId') ?? '');

/** @throws BodyProblems */
function fieldsOf(options: RouteOptions, key: Key, given: z.infer<typeof body>) {
  const {
    url,
    enabled = true,
    authorizedEvents: { everything = true, specificEvents = [] } = {},
  } = given;
  try {
    checkWebhookUrl(encodeBars(url), storeOf(options, key), options.surroundings());
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    throw new BodyProblems([['url', error.message]]);
  }
  const names = specificEvents.map((name) => name.replaceAll(/[^\w-]/g, ''));
  // A list without a name asks for nothing.
  const events = everything ? '' : names.join() || 'none';
  return { url, isEnabled: enabled, events };
}

/** Runs a change, and notes it in the audit log. */
function write(
  options: RouteOptions,
  { key, context }: Asked,
  action: AuditAction,
  apply: (tx: Tx) => WebhookRow,
): Promise<WebhookRow> {
  const { records, now, proxies } = options;
  return records.database.write((tx) => {
    const row = apply(tx);
    const client = clientAddressOf(context, proxies);
    const detail = { webhook: row.publicId, url: redactUrl(row.url ?? ''), client };
    records.audit.note(tx, now(), { keyId: key.id, storeId: row.storeId, action, detail });
    return row;
  });
}

const all = {
  tag: 'Webhooks',
  path: '/v1/stores/{storeId}/webhooks',
  permission: 'webhooks.canmodifywebhooks',
  params: z.object({ storeId: z.string() }),
} as const;

const one = {
  ...all,
  path: `${all.path}/{webhookId}`,
  params: all.params.extend({ webhookId: z.string() }),
  answer,
} as const;

export function webhookOperations(options: RouteOptions): Operation[] {
  const { webhookRecords } = options.records;
  return [
    operation({
      ...all,
      name: 'listWebhooks',
      methods: ['GET'],
      summary: 'Webhooks of the store, without their secrets',
      answer: z.array(answer),
      run: ({ key }) => webhookRecords.list(storeOf(options, key).id).map(shown),
    }),
    operation({
      ...one,
      name: 'getWebhook',
      methods: ['GET'],
      summary: 'One webhook, without its secret',
      run: (asked) => shown(webhookOf(options, asked)),
    }),
    operation({
      ...all,
      name: 'createWebhook',
      methods: ['POST'],
      summary: 'A new webhook, with its secret',
      writes: true,
      body,
      answer,
      async run({ body: given, ...asked }) {
        const fields: WebhookFields = {
          ...fieldsOf(options, asked.key, given),
          secret: given.secret || newPluginSecret(options.randomBytes),
        };
        const { id } = storeOf(options, asked.key);
        const row = await write(options, asked, 'webhook.add', (tx) =>
          webhookRecords.add(tx, options.now(), id, fields),
        );
        return { ...shown(row), secret: row.secret };
      },
    }),
    operation({
      ...one,
      name: 'changeWebhook',
      methods: ['PUT'],
      summary: 'Changes a webhook; without a secret it keeps its own',
      writes: true,
      body,
      async run({ body: given, ...asked }) {
        const { id } = webhookOf(options, asked);
        const secret = given.secret ? { secret: given.secret } : {};
        const fields = { ...fieldsOf(options, asked.key, given), ...secret };
        const row = await write(options, asked, 'webhook.change', (tx) =>
          webhookRecords.change(tx, id, fields),
        );
        return shown(row);
      },
    }),
    operation({
      ...one,
      name: 'deleteWebhook',
      methods: ['DELETE'],
      summary: 'Deletes a webhook; some shops sell nothing without theirs',
      writes: true,
      answer: z.object({}),
      async run(asked) {
        const { id } = webhookOf(options, asked);
        await write(options, asked, 'webhook.remove', (tx) =>
          webhookRecords.remove(tx, options.now(), id),
        );
        return {};
      },
    }),
  ];
}
