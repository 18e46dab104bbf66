// Somebody who comes by HTTPS: what the server showed, and what it answered.

import { createHash } from 'node:crypto';
import { type RequestOptions, request } from 'node:https';
import type { TLSSocket } from 'node:tls';

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
