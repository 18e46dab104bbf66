// One order of a certificate (RFC 8555), by the library acme-client; http-01 is the challenge. Its requests
// go out through World, each under a deadline and to https alone, whatever the directory names. The library is
// loaded with the first order.

import { generateKeyPairSync } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { AcmeOptions } from '../domain/public-endpoint.ts';
import { version } from '../lib/version.ts';
import type { World } from '../world/world.ts';

const deadlineMs = 30_000;
const connectTimeoutMs = 10_000;
const maxBodyBytes = 256 * 1024;
/** How the library asks whether the authority is done: after 1, 2, 4, 8 s, then every 10 s. */
const polling = { backoffAttempts: 12, backoffMin: 1_000, backoffMax: 10_000 };

export interface CertificateOrder extends Pick<AcmeOptions, 'domain' | 'email' | 'directory'> {
  /** PEM. */
  readonly ca: string | undefined;
  readonly accountKey: (make: () => string) => string;
  /** The answer that the authority must find for a token. */
  readonly offer: (token: string, answer: string) => void;
  readonly withdraw: (token: string) => void;
}

type CertificatePair = { readonly cert: string; readonly key: string };

/** @throws Error in the authority's words: not to be trusted, not even to be short */
export async function orderCertificate(
  order: CertificateOrder,
  world: World,
): Promise<CertificatePair> {
  const { default: acme } = await import('acme-client');
  type Adapter = Extract<typeof acme.axios.defaults.adapter, (config: never) => unknown>;
  acme.axios.defaults.adapter = ((config) => exchange(config, order.ca, world)) as Adapter;
  const client = new acme.Client({
    directoryUrl: order.directory,
    accountKey: order.accountKey(newKey),
    ...polling,
  });
  const key = newKey();
  const [, csr] = await acme.crypto.createCsr({ altNames: [order.domain] }, key);
  const cert = await client.auto({
    csr,
    ...(order.email !== undefined && { email: order.email }),
    termsOfServiceAgreed: true,
    challengePriority: ['http-01'],
    // Whether we reach ourselves from within says nothing.
    skipChallengeVerification: true,
    async challengeCreateFn(_authorization, { type, token }, answer) {
      if (type !== 'http-01') throw new Error(`the authority offers ${type}, not http-01`);
      order.offer(token, answer);
    },
    challengeRemoveFn: async (_authorization, { token }) => order.withdraw(token),
  });
  return { cert, key };
}

const newKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();

interface AxiosRequest {
  readonly url?: string;
  readonly method?: string;
  readonly data?: unknown;
  readonly headers: { toJSON(): Record<string, unknown> };
}

/** What axios has for an answer. */
interface AxiosResponse {
  readonly data: string;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly config: AxiosRequest;
}

async function exchange(
  config: AxiosRequest,
  ca: string | undefined,
  world: World,
): Promise<AxiosResponse> {
  const { protocol, origin, pathname, search } = new URL(config.url ?? '');
  if (protocol !== 'https:') throw new Error(`the directory leads to ${protocol}//, not to https`);
  const { resolve: resolver } = world;
  const client = world.http({ origin, resolver, connectTimeoutMs, ca });
  const late = new Error(`${origin} did not answer within ${deadlineMs / 1000} s`);
  const cancel = world.after(deadlineMs, () => void client.destroy(late));
  try {
    const { statusCode, headers, body } = await client.request({
      method: (config.method ?? 'GET').toUpperCase() as Dispatcher.HttpMethod,
      path: pathname + search,
      headers: { ...headersOf(config), 'user-agent': `paygate/${version}` },
      body: typeof config.data === 'string' ? config.data : null,
      // The one deadline is ours.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const data = await readBounded(body);
    return { data, status: statusCode, statusText: '', headers, config };
  } finally {
    cancel();
    void client.destroy();
  }
}

const headersOf = ({ headers }: AxiosRequest): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers.toJSON()).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name.toLowerCase(), value]] : [],
    ),
  );

async function readBounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBodyBytes) throw new Error('the authority answers more than 256 KiB');
  }
  return Buffer.concat(chunks).toString('utf8');
}
