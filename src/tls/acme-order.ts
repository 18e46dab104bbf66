// One certificate order (RFC 8555) through the library acme-client, with http-01 as the challenge.
// Its requests go through World, each under a deadline and only by https, whatever the directory
// says. The library is loaded with the first order. It waits between requests by its own timers,
// so tests of an order run in real time.

import { generateKeyPairSync } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { AcmeOptions } from '../domain/delivery/public-endpoint.ts';
import { secondMs } from '../lib/time-units.ts';
import { version } from '../lib/version.ts';
import { readBounded, requestOnce } from '../world/bounded-request.ts';
import type { World } from '../world/world.ts';

const deadlineMs = 30 * secondMs;
const connectTimeoutMs = 10 * secondMs;
const maxBodyBytes = 256 * 1024;
/** The library polls the authority after 1, 2, 4 and 8 s, then every 10 s. */
const polling = { backoffAttempts: 12, backoffMin: 1_000, backoffMax: 10_000 };

export interface CertificateOrder extends Pick<AcmeOptions, 'domain' | 'email' | 'directory'> {
  /** PEM. */
  readonly ca: string | undefined;
  readonly accountKey: (make: () => string) => string;
  /** Publishes the answer for a token of the authority. */
  readonly offer: (token: string, answer: string) => void;
  readonly withdraw: (token: string) => void;
}

type CertificatePair = { readonly cert: string; readonly key: string };

/** @throws Error with text of the authority: untrusted, of any length */
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
    // A request to ourselves from inside proves nothing.
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
  const url = new URL(config.url ?? '');
  const { protocol, origin } = url;
  if (protocol !== 'https:') throw new Error(`the directory leads to ${protocol}//, not to https`);
  const timeoutError = new Error(`${origin} did not answer within ${deadlineMs / secondMs} s`);
  const tooLarge = new Error('the authority answers more than 256 KiB');
  const request = {
    url,
    method: (config.method ?? 'GET').toUpperCase() as Dispatcher.HttpMethod,
    headers: { ...headersOf(config), 'user-agent': `paygate/${version}` },
    body: typeof config.data === 'string' ? config.data : null,
  };
  const limits = { ca, connectTimeoutMs, deadlineMs, timeoutError };
  return requestOnce(world, { ...request, ...limits }, async ({ statusCode, headers, body }) => {
    const data = await readBounded(body, maxBodyBytes, tooLarge);
    return { data, status: statusCode, statusText: '', headers, config };
  });
}

const headersOf = ({ headers }: AxiosRequest): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers.toJSON()).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name.toLowerCase(), value]] : [],
    ),
  );
