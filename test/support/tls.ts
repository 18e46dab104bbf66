// An HTTPS client: the server's certificate, and its response.

import { createHash } from 'node:crypto';
import { type RequestOptions, request } from 'node:https';
import { connect, getCiphers, type TLSSocket } from 'node:tls';

export interface TlsAnswer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  /** SHA-256 of the certificate that was shown. */
  readonly sha256: string;
  readonly protocol: string | null;
}

/** Validates the certificate; each request is a connection of its own. @throws what TLS says */
export const askByTls = (options: RequestOptions, body = ''): Promise<TlsAnswer> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', agent: false, ...options }, (response) => {
      const socket = response.socket as TLSSocket;
      const { raw } = socket.getPeerCertificate();
      const sha256 = createHash('sha256').update(raw).digest('hex');
      const protocol = socket.getProtocol();
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('end', () => {
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, text, sha256, protocol });
      });
    });
    sent.once('error', reject).end(body);
  });

/** OpenSSL names of the TLS 1.2 cipher suites that a local port accepts, each offered alone. */
export async function suitesOf(port: number): Promise<string[]> {
  const taken: string[] = [];
  for (const suite of getCiphers().filter((name) => !name.startsWith('tls_'))) {
    if (await isTaken(port, suite)) taken.push(suite.toUpperCase());
  }
  return taken;
}

const isTaken = (port: number, suite: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({
      ...{ port, host: '127.0.0.1', rejectUnauthorized: false },
      ...{ minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' },
      // At a higher level OpenSSL would not offer the suite.
      ciphers: `${suite.toUpperCase()}:@SECLEVEL=0`,
    });
    const end = (taken: boolean) => {
      socket.destroy();
      resolve(taken);
    };
    socket.once('secureConnect', () => end(true)).once('error', () => end(false));
  });
