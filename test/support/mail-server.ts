// A mail server on a real socket, with or without TLS and passwords. It stores what it accepts.

import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { freePort } from '../../scripts/ports.mjs';
import type { MailServer } from '../../src/domain/delivery/notification-settings.ts';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** The user that signed in; undefined without one. */
  readonly user: string | undefined;
  readonly isSecure: boolean;
  /** Header and body, as they came. */
  readonly raw: string;
}

export interface MailServerOptions {
  readonly port?: number;
  /** PEM; without it the server offers no TLS. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  /** TLS from the first byte, instead of STARTTLS. */
  readonly isImplicit?: boolean;
  /** Asks for this password of the user `shop`. */
  readonly password?: string;
  /** The reply to a recipient; undefined accepts it. */
  readonly refuse?: (
    address: string,
  ) => { readonly code: number; readonly text: string } | undefined;
}

export interface TestMailServer {
  readonly port: number;
  readonly mails: ReceivedMail[];
  close(): Promise<void>;
}

const refusal = (code: number, text: string): Error =>
  Object.assign(new Error(text), { responseCode: code });

export async function startMailServer(options: MailServerOptions = {}): Promise<TestMailServer> {
  const { port = await freePort(), certificate, isImplicit = false, password, refuse } = options;
  const mails: ReceivedMail[] = [];
  const disabled = [
    ...(password === undefined ? ['AUTH'] : []),
    ...(certificate === undefined ? ['STARTTLS'] : []),
  ];
  const behaviour: SMTPServerOptions = {
    ...certificate,
    secure: isImplicit,
    authOptional: password === undefined,
    allowInsecureAuth: certificate === undefined,
    disabledCommands: disabled,
    disableReverseLookup: true,
    closeTimeout: 100,
    onAuth(auth, _session, callback) {
      if (auth.username === 'shop' && auth.password === password) callback(null, { user: 'shop' });
      else callback(refusal(535, `5.7.8 no ${auth.password} here`));
    },
    onRcptTo({ address }, _session, callback) {
      const reply = refuse?.(address);
      callback(reply === undefined ? null : refusal(reply.code, reply.text));
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          user: session.user,
          isSecure: session.secure,
          raw: Buffer.concat(chunks).toString('utf8'),
        });
        callback(null);
      });
    },
  };
  const server = new SMTPServer(behaviour);
  // A client that refuses our certificate is no failure of the test.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { port, mails, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** Settings with which paygate reaches a mail server of a test, without TLS. */
export const mailSettings = (port: number, changes: Partial<MailServer> = {}): MailServer => ({
  ...{ host: 'localhost', port, security: 'none', user: null, password: null },
  ...{ from: 'paygate@shop.example', ca: null },
  ...changes,
});

/** A header field of a mail, unfolded; undefined without it. */
export function headerOf({ raw }: Pick<ReceivedMail, 'raw'>, name: string): string | undefined {
  const [head = ''] = raw.split('\r\n\r\n');
  const fields = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  const prefix = `${name.toLowerCase()}: `;
  const found = fields.find((field) => field.toLowerCase().startsWith(prefix));
  return found === undefined ? undefined : decodedWords(found.slice(prefix.length));
}

/** RFC 2047: words in another encoding, of which the white space between two is no part. */
const decodedWords = (text: string): string =>
  text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?UTF-8\?B\?(.*?)\?=/gi, (_all, word: string) =>
      Buffer.from(word, 'base64').toString('utf8'),
    )
    .replaceAll(/=\?UTF-8\?Q\?(.*?)\?=/gi, (_all, word: string) =>
      quotedPrintable(word.replaceAll('_', ' ')),
    );

function quotedPrintable(text: string): string {
  const bytes = text
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** The parts of a mail, with quoted-printable and base64 decoded, in their order. */
export function partsOf({ raw }: Pick<ReceivedMail, 'raw'>): string[] {
  const [, boundary = ''] = /boundary="?([^";\r]+)"?/.exec(raw) ?? [];
  const parts = raw.split(`--${boundary}`).slice(1, -1);
  return parts.map((part) => {
    const [head = '', ...rest] = part.split('\r\n\r\n');
    const body = rest.join('\r\n\r\n');
    if (/base64/i.test(head)) return Buffer.from(body, 'base64').toString('utf8');
    return /quoted-printable/i.test(head) ? quotedPrintable(body) : body;
  });
}
