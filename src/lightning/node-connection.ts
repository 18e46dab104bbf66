// HTTP with a node: bounded answers under a deadline, each on a connection of its own. A
// certificate that does not validate is pinned at first use, as an Electrum server's. No error has
// the credential.

import { errorCodeOf, networkErrorText } from '../domain/delivery/network-error.ts';
import { isOnion, onionNeedsProxy } from '../domain/delivery/onion.ts';
import type { TlsIdentity } from '../domain/payment/server-record.ts';
import { plainText } from '../domain/text/format.ts';
import { withoutSecrets } from '../domain/text/redaction.ts';
import { isOwnHost } from '../electrum/server-address.ts';
import { judge } from '../electrum/trust.ts';
import { PaygateError } from '../lib/errors.ts';
import { secondMs } from '../lib/time-units.ts';
import { readBounded, requestOnce } from '../world/bounded-request.ts';
import type { PeerCertificate, SocksProxy, World } from '../world/world.ts';
import type { KnownNode, NodeSettings } from './node.ts';

const defaultDeadlineMs = 10 * secondMs;
const maxBodyBytes = 4_000_000;
const maxErrorLength = 200;

export interface NodeRequest {
  readonly path: string;
  /** Sent by POST. */
  readonly body?: string | undefined;
  readonly deadlineMs?: number;
  /** What a late answer rejects with. */
  readonly timeoutError?: PaygateError;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

export type Body = AsyncIterable<Buffer>;

export class NodeConnection {
  readonly #world: Pick<World, 'after' | 'http' | 'resolve'>;
  readonly #node: NodeSettings;
  readonly #headers: Record<string, string>;
  readonly #proxy: SocksProxy | undefined;
  #certificate: TlsIdentity | undefined;

  /** @param headers those that authorise, and the type of bodies */
  constructor(
    world: Pick<World, 'after' | 'http' | 'resolve'>,
    node: NodeSettings & Partial<KnownNode>,
    headers: Record<string, string>,
    proxy: SocksProxy | undefined,
  ) {
    this.#world = world;
    this.#node = node;
    this.#headers = headers;
    this.#proxy = proxy;
    this.#certificate = node.certificate ?? undefined;
  }

  /** The certificate of the connections so far; null without TLS. */
  get certificate(): TlsIdentity | null {
    return this.#certificate ?? null;
  }

  /** JSON, or a text that is none, with any status. */
  ask(request: NodeRequest): Promise<Answer<unknown>> {
    return this.exchange(request, async (body) => {
      const text = await readBounded(body, maxBodyBytes, tooLarge());
      return parseJson(text) ?? text;
    });
  }

  /** JSON of a request that the node accepts. */
  async json(request: NodeRequest): Promise<unknown> {
    const answer = await this.ask(request);
    if (answer.status === 200) return answer.body;
    throw this.refusal(answer);
  }

  /** What a node says instead of an answer. */
  refusal({ status, body }: Answer<unknown>): PaygateError {
    const { message, error } = Object(body) as { message?: unknown; error?: { message?: unknown } };
    const said = String(message ?? error?.message ?? body);
    const { credential } = this.#node;
    // The second is what basic authentication encodes.
    const text = plainText(withoutSecrets(said, [credential, `:${credential}`]), maxErrorLength);
    return status === 401 || status === 403 || /permission denied|verification failed/.test(said)
      ? new PaygateError('forbidden', `the node refuses the credential: ${text}`)
      : new PaygateError('unavailable', `the node answered ${status}: ${text}`);
  }

  /** Returns what `read` makes of the body. */
  async exchange<T>(
    { path, body, signal, timeoutError, deadlineMs = defaultDeadlineMs }: NodeRequest,
    read: (body: Body) => Promise<T>,
  ): Promise<Answer<T>> {
    const url = new URL(path, this.#node.url);
    if (isOnion(url.hostname) && this.#proxy === undefined) {
      throw new PaygateError('unavailable', onionNeedsProxy(url.hostname));
    }
    const late = `the node did not answer within ${deadlineMs / secondMs} s`;
    const request = {
      url,
      method: body === undefined ? ('GET' as const) : ('POST' as const),
      body: body ?? null,
      headers: this.#headers,
      deadlineMs,
      connectTimeoutMs: deadlineMs,
      timeoutError: timeoutError ?? new PaygateError('unavailable', late),
      proxy: isOwnHost(url.hostname.replace(/[[\]]/g, '')) ? undefined : this.#proxy,
      judgeCertificate: (certificate: PeerCertificate) => this.#judge(certificate),
      ...(signal && { signal }),
    };
    try {
      return await requestOnce(this.#world, request, async (response) => ({
        status: response.statusCode,
        body: await read(response.body),
      }));
    } catch (error) {
      if (error instanceof PaygateError || signal?.aborted) throw error;
      const code = errorCodeOf(error);
      const why = networkErrorText(code, url.protocol === 'https:') ?? (code || 'it is no HTTP');
      throw new PaygateError('unavailable', `the node cannot be reached: ${why}`);
    }
  }

  #judge(certificate: PeerCertificate): void {
    const judgement = judge(certificate, { tls: true }, this.#certificate);
    if (judgement.accept) this.#certificate = judgement.learn ?? this.#certificate;
    else throw new PaygateError('forbidden', `the node cannot be trusted: ${judgement.reason}`);
  }
}

const tooLarge = (): PaygateError =>
  new PaygateError('invalid', 'the node answered with more than 4 MB');

/** Undefined for what is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The fields of an object in an answer; none of anything else. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => Object(value);

/** The elements of a list in an answer; none of anything else. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A whole number in an answer, which may be a text. @throws PaygateError invalid */
export function wholeNumber(value: unknown): number {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (Number.isSafeInteger(number) && Number(number) >= 0) return Number(number);
  throw new PaygateError('invalid', 'the node answered with something that is no whole number');
}
