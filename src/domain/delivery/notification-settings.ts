// Settings of notifications: the mail server of the operator, and the recipients of the operator
// and of each store. A parser's error says to the person who typed a value what is wrong with it.

import { throwInvalid } from '../../lib/errors.ts';
import { asciiHost, trimInvisible, withKeyboardSpaces } from '../text/pasted-text.ts';
import { checkWebhookUrl, redactUrl } from './callback.ts';
import {
  addressClassOf,
  type CallbackFlags,
  type CallbackSender,
  literalAddress,
} from './callback-url-policy.ts';
import { type NoticeKind, noticeKinds, usualKinds } from './notice.ts';
import { isOnion, onionError } from './onion.ts';

/** `tls`: from the first byte. `none`: only to this machine. */
export const mailSecurities = ['tls', 'starttls', 'none'] as const;
export type MailSecurity = (typeof mailSecurities)[number];

export interface MailServer {
  readonly host: string;
  readonly port: number;
  readonly security: MailSecurity;
  /** Null for a server that asks for no password; then the password is null. */
  readonly user: string | null;
  readonly password: string | null;
  readonly from: string;
  /** PEM: the only authorities that may certify the server; null for the system's. */
  readonly ca: string | null;
}

/** Recipients and the kinds that they receive: of one store, or of all stores for the operator. */
export interface NotifyTarget extends CallbackFlags {
  readonly recipients: readonly string[];
  readonly kinds: readonly NoticeKind[];
  /** Receives the same as JSON; null for none. */
  readonly webhookUrl: string | null;
  /** `whsec_…`; null without a URL. */
  readonly webhookSecret: string | null;
}

export const noTarget: NotifyTarget = {
  recipients: [],
  kinds: usualKinds,
  webhookUrl: null,
  webhookSecret: null,
  allowPrivateCallback: false,
  allowHttpCallback: false,
};

export const mailPorts: Readonly<Record<MailSecurity, number>> = {
  tls: 465,
  starttls: 587,
  none: 25,
};

const maxRecipients = 10;
const maxAddressLength = 254;
const maxTextLength = 500;

export function parseMailHost(text: string): string {
  const host = asciiHost(withKeyboardSpaces(text.slice(0, maxTextLength)).trim()).toLowerCase();
  const isName = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(host);
  if (host.length > 253 || (!isName && literalAddress(host) === undefined)) {
    throwInvalid('the name of a mail server is expected, such as smtp.example.com');
  }
  const fault = isOnion(host) ? onionError(host) : undefined;
  return fault === undefined ? host : throwInvalid(fault);
}

export function parseMailPort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text.trim()) && port >= 1 && port <= 65_535) return port;
  return throwInvalid('a whole number from 1 to 65535 is expected');
}

/**
 * A mail address without a name: no quotes, no spaces (RFC 5321). Its domain may have letters
 * beyond ASCII, which become `xn--…`. Few servers take them before the @ (RFC 6531).
 * @throws PaygateError invalid
 */
export function parseMailAddress(text: string): string {
  const [name = '', ...rest] = withKeyboardSpaces(text.slice(0, maxTextLength)).trim().split('@');
  const address = [name, ...rest.map(asciiHost)].join('@');
  const local = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@/;
  const domain =
    /@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;
  const isAddress =
    address.length <= maxAddressLength && local.test(address) && domain.test(address);
  if (isAddress && address.split('@').length === 2) return address;
  if (/[^\0-\x7f]/.test(name)) {
    throwInvalid('letters beyond ASCII stand before the @, which few mail servers take');
  }
  return throwInvalid(
    `${JSON.stringify(address.slice(0, 80))} is no mail address such as me@example.com`,
  );
}

/** Mail addresses with commas or spaces between them. @throws PaygateError invalid */
export function parseRecipients(text: string): string[] {
  const addresses = text
    .split(/[\s,;]+/)
    .filter((each) => trimInvisible(each) !== '')
    .map(parseMailAddress);
  const distinct = [...new Set(addresses)];
  if (distinct.length <= maxRecipients) return distinct;
  return throwInvalid(
    `at most ${maxRecipients} addresses; a list of your mail server can have more`,
  );
}

/** User or password: one row of printable text; null for none. @throws PaygateError invalid */
export function parseMailText(text: string): string | null {
  if (/\p{Cc}/u.test(text) || text.length > maxTextLength) {
    throwInvalid(`one row of at most ${maxTextLength} characters is expected`);
  }
  return withKeyboardSpaces(text) || null;
}

/** Kinds with commas between them. @throws PaygateError invalid */
export function parseKinds(text: string): NoticeKind[] {
  const names = text.split(/[\s,]+/).filter((each) => each !== '');
  const unknown = names.find((name) => !(noticeKinds as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throwInvalid(`${JSON.stringify(unknown)} is none of ${noticeKinds.join(', ')}`);
  }
  return noticeKinds.filter((kind) => names.includes(kind));
}

/** Whether a name or an IP address always means this machine. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);

export interface MailServerFault {
  readonly field: 'host' | 'security' | 'user' | 'password';
  readonly text: string;
}

/** What only several settings together show to be wrong; undefined if nothing is. */
export function mailServerFault(server: MailServer): MailServerFault | undefined {
  const { host, security, user, password } = server;
  const address = literalAddress(host);
  if (address !== undefined && addressClassOf(address) === 'never') {
    return { field: 'host', text: `${host} is an address of no mail server` };
  }
  if (security === 'none' && !isLoopbackHost(host)) {
    const text = 'without TLS, mails and passwords go to this machine only (localhost)';
    return { field: 'security', text };
  }
  if (user !== null && password === null) {
    return { field: 'password', text: 'the user needs a password' };
  }
  return user === null && password !== null
    ? { field: 'user', text: 'the password needs a user' }
    : undefined;
}

/** A target for the audit log, without the secrets of the webhook and its URL. */
export const targetForAudit = ({ webhookSecret: _secret, webhookUrl, ...rest }: NotifyTarget) => ({
  ...rest,
  webhookUrl: webhookUrl === null ? null : redactUrl(webhookUrl),
});

/** @throws PaygateError invalid, saying what to do */
export function checkTarget(
  target: Pick<NotifyTarget, 'webhookUrl' | keyof CallbackFlags>,
  sender: CallbackSender,
): void {
  if (target.webhookUrl !== null) checkWebhookUrl(target.webhookUrl, target, sender);
}
