// One SMTP session: it connects through World, encrypts, signs in, and sends one mail or none. TLS
// certificates are always verified. STARTTLS is required where it was chosen (RFC 8314). Nodemailer
// speaks the protocol and opens no socket by itself.

import { base64 } from '@scure/base';
import type { SendMailOptions, Transporter } from 'nodemailer';
import type { MailServer } from '../domain/delivery/notification-settings.ts';
import { isOnion, onionNeedsProxy } from '../domain/delivery/onion.ts';
import { plainText } from '../domain/text/format.ts';
import { withoutSecrets } from '../domain/text/redaction.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { secondMs } from '../lib/time-units.ts';
import type { SocksProxy, World } from '../world/world.ts';

export interface MailParts {
  readonly world: Pick<World, 'connect' | 'after'>;
  /** SOCKS5, for onion services only. */
  readonly proxy: SocksProxy | undefined;
}

export interface MailFault {
  readonly reason: string;
  /** The server refused this mail or its recipient; it may take others. */
  readonly isOfMail: boolean;
  /** The same mail would be refused again (a 5yz reply, RFC 5321). */
  readonly isPermanent: boolean;
}

export type Mail = Required<
  Pick<SendMailOptions, 'messageId' | 'date' | 'to' | 'subject' | 'text' | 'html'>
> & { readonly fromName: string };

/** From the lookup to the server's last reply. */
const deadlineMs = 30 * secondMs;
const maxReasonLength = 300;

/** Sends one mail. @returns undefined if the server took it */
export const sendMail = (
  parts: MailParts,
  server: MailServer,
  mail: Mail,
  signal: AbortSignal,
): Promise<MailFault | undefined> =>
  inSession(parts, server, signal, async (transport) => {
    const { fromName, ...rest } = mail;
    await transport.sendMail({
      ...rest,
      from: { name: fromName, address: server.from },
      // RFC 3834: no out-of-office reply is wanted.
      headers: { 'Auto-Submitted': 'auto-generated' },
    });
  });

/** Connects and signs in, and sends nothing. @returns undefined if the server accepts that */
export const verifyMailServer = (
  parts: MailParts,
  server: MailServer,
  signal: AbortSignal,
): Promise<MailFault | undefined> =>
  inSession(parts, server, signal, async (transport) => {
    await transport.verify();
  });

async function inSession(
  parts: MailParts,
  server: MailServer,
  signal: AbortSignal,
  work: (transport: Transporter) => Promise<void>,
): Promise<MailFault | undefined> {
  const ending = new AbortController();
  const late = (): void => ending.abort(new Error('the mail server took too long'));
  const cancel = parts.world.after(deadlineMs, late);
  const abort = (): void => ending.abort(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const aborted = new Promise<never>((_resolve, reject) => {
    ending.signal.addEventListener('abort', () => reject(ending.signal.reason));
  });
  aborted.catch(() => {});
  try {
    ending.signal.throwIfAborted();
    const transport = await openTransport(parts, server, ending.signal);
    await Promise.race([work(transport), aborted]);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return faultOf(error, server);
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
    ending.abort(new Error('the session is over'));
  }
}

async function openTransport(
  { world, proxy }: MailParts,
  server: MailServer,
  signal: AbortSignal,
): Promise<Transporter> {
  const { host, port, security, user, password, ca } = server;
  // Loaded on demand, because most sessions of paygate send no mail.
  const { createTransport } = await import('nodemailer');
  return createTransport({
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(user !== null && { auth: { user, pass: password ?? '' }, forceAuth: true }),
    // Explicit, because the environment can change the default.
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(ca !== null && { ca }) },
    greetingTimeout: deadlineMs,
    socketTimeout: deadlineMs,
    connectionTimeout: deadlineMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    socketCloseTimeout: secondMs,
    getSocket(_options, callback) {
      connectTo(world, server, proxy, signal).then(
        (connection) => callback(null, { connection }),
        (error: Error) => callback(error, {}),
      );
    },
  });
}

async function connectTo(
  world: MailParts['world'],
  { host, port, security }: MailServer,
  proxy: SocksProxy | undefined,
  signal: AbortSignal,
) {
  const needsProxy = isOnion(host);
  if (needsProxy && proxy === undefined) {
    throw new PaygateError('forbidden', onionNeedsProxy(host));
  }
  const way = needsProxy && proxy !== undefined ? { proxy } : {};
  const { socket } = await world.connect({ host, port, tls: false, ...way }, signal);
  if (security === 'none' && !isLoopback(socket.remoteAddress)) {
    socket.destroy();
    throw new PaygateError('forbidden', `${host} is not this machine, so mail to it needs TLS`);
  }
  const end = (): void => void socket.destroy();
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  return socket;
}

const isLoopback = (address = ''): boolean =>
  address === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(address);

/** Commands that are about one mail. */
const mailCommands = new Set(['RCPT TO', 'DATA']);

function faultOf(error: unknown, server: MailServer): MailFault {
  const { code, command, response, responseCode } = error as {
    readonly code?: string;
    readonly command?: string;
    readonly response?: string;
    readonly responseCode?: number;
  };
  const isOfMail = mailCommands.has(command ?? '');
  const place = `${server.host}:${server.port}`;
  const said = () => plainText(withoutPassword(reasonOf(error), server), maxReasonLength);
  const reason =
    code === 'EAUTH'
      ? `${place} refused the user or the password: ${codesOf(response) ?? said()}`
      : error instanceof PaygateError
        ? said()
        : `${place}: ${said()}`;
  return { reason, isOfMail, isPermanent: isOfMail && (responseCode ?? 0) >= 500 };
}

/** The status codes of a reply (RFC 5321, RFC 3463). The text after AUTH may be the password. */
function codesOf(reply: string | undefined): string | undefined {
  if (!reply) return undefined;
  const [codes = 'no SMTP reply'] = /^\d{3}\b(?:[ -]\d\.\d{1,3}\.\d{1,3}\b)?/.exec(reply) ?? [];
  return codes.replace('-', ' ');
}

/** A server may repeat what it was sent: here by AUTH PLAIN (RFC 4616) or AUTH LOGIN. */
function withoutPassword(text: string, { user, password }: MailServer): string {
  if (user === null || !password) return text;
  // Rows of one reply repeat its codes.
  const row = text.replaceAll(/\r?\n\d{3}[ -](?:\d\.\d{1,3}\.\d{1,3} )?/g, '\n');
  return withoutSecrets(row, [password, `\0${user}\0${password}`, base64.encode(utf8(user))]);
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
