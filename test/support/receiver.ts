// A merchant's server on a real socket: it records every request and responds by a script, well or
// badly. Nothing here sleeps.

import {
  createServer as createPlainServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { freePort } from '../../scripts/ports.mjs';

export interface ReceivedRequest {
  readonly method: string;
  /** The request target, byte for byte. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The body of a POST. */
  readonly body?: string;
}

export type Answer =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** Keeps the connection and says nothing. */
  | 'hang'
  /** Resets the connection without an answer. */
  | 'reset'
  /** 200, and a body that never ends. */
  | 'endless'
  /** These bytes, then the connection is closed, reset or stays open. */
  | { readonly bytes: string; readonly end: 'close' | 'reset' | 'hang' };

export interface ReceiverOptions {
  /** An address of this machine; 127.0.0.1 without it. */
  readonly host?: string;
  /** One that stays free when it is closed, without it. */
  readonly port?: number;
  /** Speaks TLS: with a certificate that it signed itself, or with this one. */
  readonly tls?: boolean | { readonly key: string; readonly cert: string };
  /** Answers what no script is left for, perhaps later; 200 without it. */
  readonly answer?: (request: ReceivedRequest) => Answer | Promise<Answer>;
}

export interface Receiver {
  readonly port: number;
  /** Scheme, host and port. */
  readonly origin: string;
  /** In the order in which they came. */
  readonly requests: ReceivedRequest[];
  /** How many requests were unanswered at the same time, at most. */
  readonly peak: number;
  /** Sets the answers to the next requests, one each. */
  script(...answers: Answer[]): void;
  /** Resolves when so many requests have come in since the start. */
  waitFor(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const scripted: Answer[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  let unanswered = 0;
  let peak = 0;

  async function take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = incoming;
    const headers = incoming.headers as ReceivedRequest['headers'];
    const body = method === 'POST' ? await bodyOf(incoming).catch(() => undefined) : undefined;
    // The client was killed while it sent its request.
    if (method === 'POST' && body === undefined) return;
    const request = { method, url, headers, ...(body !== undefined && { body }) };
    requests.push(request);
    unanswered += 1;
    peak = Math.max(peak, unanswered);
    response.once('close', () => {
      unanswered -= 1;
    });
    for (const { count, resolve } of waiting) if (requests.length >= count) resolve();
    reply((scripted.shift() ?? (await options.answer?.(request))) || { status: 200 }, response);
  }

  const { tls, host = '127.0.0.1', port = await freePort() } = options;
  const selfSigned = { key: selfSignedKey, cert: selfSignedCertificate };
  const server = tls
    ? createTlsServer(tls === true ? selfSigned : { key: tls.key, cert: tls.cert }, take)
    : createPlainServer(take);
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    port,
    origin: `${tls ? 'https' : 'http'}://${host}:${port}`,
    requests,
    get peak() {
      return peak;
    },
    script: (...answers) => void scripted.push(...answers),
    waitFor: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function reply(answer: Answer, response: ServerResponse): void {
  const { socket } = response;
  if (answer === 'hang') return;
  if (answer === 'reset') {
    socket?.resetAndDestroy();
  } else if (answer === 'endless') {
    response.writeHead(200);
    const more = (): void => {
      while (response.write('and so on '.repeat(500))) {}
    };
    response.on('drain', more);
    more();
  } else if ('bytes' in answer) {
    socket?.write(answer.bytes, () => {
      if (answer.end === 'reset') socket.resetAndDestroy();
      if (answer.end === 'close') socket.end();
    });
  } else {
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }
}

const selfSignedCertificate = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUCyYNpXEZ+vL9LNGnDBSXQIaroDAwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA4MzgxNVoYDzIxMjYxMDI4
MDgzODE1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQ3QUJakyW7iDowORWG98HYNct35ENrRqdZY6pUZSRDKC5JBXRohWR3
FAuVocUjszRV0jOEYqWKINcUNDV+Yf7To28wbTAdBgNVHQ4EFgQUoPvSOsLh7EKu
pUmxNsHxzohopy0wHwYDVR0jBBgwFoAUoPvSOsLh7EKupUmxNsHxzohopy0wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhANEwpQe0E0JoxOYK1LejgoZGBqcFrCcK4IugHx+Q0aOAAiBZ
pFuZLY56gyqEx+nBKN875y0xZxn0UB8nf7lSUJA4Zg==
-----END CERTIFICATE-----`;

const selfSignedKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwoGMzZogDe5OhUtE
VNJtMe3ByT3zqQXg7dHF2nCnSI+hRANCAAQ3QUJakyW7iDowORWG98HYNct35ENr
RqdZY6pUZSRDKC5JBXRohWR3FAuVocUjszRV0jOEYqWKINcUNDV+Yf7T
-----END PRIVATE KEY-----`;
