// Sends one notification, by mail or to a webhook, with the settings of this moment. It decides
// nothing about retries (notifier.ts).

import type { Sender } from '../delivery/sender.ts';
import {
  type CustomerFrame,
  type Decision,
  type Notice,
  testNotice,
} from '../domain/delivery/notice.ts';
import type { MailServer, NotifyTarget } from '../domain/delivery/notification-settings.ts';
import { idBytes, idOf } from '../domain/order/order-id.ts';
import { withoutSecrets } from '../domain/text/redaction.ts';
import { PaygateError } from '../lib/errors.ts';
import type { NotificationRow } from '../store/delivery/notification-queue.ts';
import type { TargetOwner } from '../store/file/file-state.ts';
import type { Records } from '../store/open-records.ts';
import type { World } from '../world/world.ts';
import { decisionToken } from './decision-link.ts';
import { type MailFault, type MailParts, sendMail } from './mail-connection.ts';
import { mailOf, type NoticeToSend, webhookBodyOf } from './notice-text.ts';

export interface NotificationSenderParts extends MailParts {
  readonly world: Pick<World, 'connect' | 'after' | 'now' | 'randomBytes'>;
  readonly records: Pick<Records, 'state' | 'admin' | 'orderView'>;
  readonly sender: Pick<Sender, 'post'>;
  /** Begins links; undefined if it is unknown. */
  readonly publicUrl: string | undefined;
}

export interface NotificationFault extends MailFault {
  readonly retryAfterSeconds?: number | undefined;
}

export type Sent =
  | { readonly kind: 'sent' }
  /** The settings or the order no longer name its recipient. */
  | { readonly kind: 'dropped' }
  | ({ readonly kind: 'failed' } & NotificationFault);

export interface TestResult {
  /** A mail address, or the host of the webhook. */
  readonly to: string;
  /** Null if it was received. */
  readonly reason: string | null;
}

export type NotificationSender = ReturnType<typeof createNotificationSender>;

export function createNotificationSender(parts: NotificationSenderParts) {
  const { state } = parts.records;
  return {
    /** Rejects with the signal's reason if the signal aborted. */
    async send(
      { channel, recipient, storeId, notice, publicId, createdAt }: NotificationRow,
      signal: AbortSignal,
    ): Promise<Sent> {
      const target = state.notifyTarget(storeId).read();
      const message = { notice: JSON.parse(notice) as Notice, publicId, createdAt };
      if (channel === 'webhook') {
        return target.webhookUrl === null ? dropped : toWebhook(parts, target, message, signal);
      }
      const server = state.mailServer.read();
      const { customer } = message.notice;
      const isNamed = target.recipients.includes(recipient);
      const to = customer ? addressOf(parts, customer) : isNamed ? recipient : null;
      if (server === undefined || to === null) return dropped;
      const sent = await toMail(parts, server, to, message, signal);
      return customer ? withoutAddress(sent, to) : sent;
    },
    /**
     * Sends a test to each recipient of a target.
     * @throws PaygateError conflict if there is none
     */
    async test(owner: TargetOwner, signal: AbortSignal): Promise<TestResult[]> {
      const target = state.notifyTarget(owner).read();
      const server = state.mailServer.read();
      const { recipients, webhookUrl } = target;
      if (recipients.length > 0 && server === undefined) throw noMailServer();
      if (recipients.length === 0 && webhookUrl === null) throw nobody();
      const results = server === undefined ? [] : await testMails(parts, server, target, signal);
      if (webhookUrl !== null) {
        const sent = await toWebhook(parts, target, testOf(parts), signal);
        results.push({ to: new URL(webhookUrl).host, reason: reasonOfSent(sent) });
      }
      return results;
    },
  };
}

/** Null once the order forgot it. */
const addressOf = ({ records }: NotificationSenderParts, { orderId }: CustomerFrame) =>
  records.orderView.byPublicId(orderId)?.customerEmail ?? null;

/** What stays of an attempt does not name the customer: a server may repeat the address. */
const withoutAddress = (sent: Sent, address: string): Sent =>
  sent.kind === 'failed' ? { ...sent, reason: withoutSecrets(sent.reason, [address]) } : sent;

const dropped: Sent = { kind: 'dropped' };

const reasonOfSent = (sent: Sent): string | null => (sent.kind === 'failed' ? sent.reason : null);

const noMailServer = (): PaygateError =>
  new PaygateError('conflict', 'no mail server is set, so no mail can be sent');
const nobody = (): PaygateError =>
  new PaygateError('conflict', 'there is no mail address and no webhook to send a test to');

/** A server that fails for one recipient fails for the others as well. */
async function testMails(
  parts: NotificationSenderParts,
  server: MailServer,
  { recipients }: NotifyTarget,
  signal: AbortSignal,
): Promise<TestResult[]> {
  const results: TestResult[] = [];
  let failed: string | undefined;
  for (const to of recipients) {
    const sent = failed ?? (await toMail(parts, server, to, testOf(parts), signal));
    const reason = typeof sent === 'string' ? sent : reasonOfSent(sent);
    if (typeof sent !== 'string' && sent.kind === 'failed' && !sent.isOfMail) failed = sent.reason;
    results.push({ to, reason });
  }
  return results;
}

const testOf = ({ world }: NotificationSenderParts): NoticeToSend => ({
  notice: testNotice(),
  publicId: idOf('ntf', world.randomBytes(idBytes)),
  createdAt: world.now(),
});

async function toMail(
  parts: NotificationSenderParts,
  server: MailServer,
  to: string,
  message: NoticeToSend,
  signal: AbortSignal,
): Promise<Sent> {
  const { publicUrl, records } = parts;
  const { state } = records;
  const tokenOf = ({ accept }: Decision) =>
    accept && decisionToken(records, accept, message.createdAt);
  const frame = { publicUrl, zone: state.zone(), tokenOf };
  const mail = mailOf(message, { from: server.from, to }, frame);
  const fault = await sendMail(parts, server, mail, signal);
  return fault === undefined ? { kind: 'sent' } : { kind: 'failed', ...fault };
}

async function toWebhook(
  { sender, publicUrl }: NotificationSenderParts,
  { webhookUrl, webhookSecret, ...flags }: NotifyTarget,
  message: NoticeToSend,
  signal: AbortSignal,
): Promise<Sent> {
  const { allowPrivateCallback, allowHttpCallback } = flags;
  const attempt = await sender.post(
    {
      webhookUrl: webhookUrl ?? '',
      allowPrivateCallback,
      allowHttpCallback,
      webhookSecrets: webhookSecret === null ? [] : [webhookSecret],
      body: webhookBodyOf(message, publicUrl),
      eventId: message.publicId,
    },
    signal,
  );
  if (attempt.outcome === 'delivered') return { kind: 'sent' };
  const { retryAfterSeconds } = attempt;
  const reason = attempt.reason ?? attempt.outcome;
  return { kind: 'failed', reason, isOfMail: false, isPermanent: false, retryAfterSeconds };
}
