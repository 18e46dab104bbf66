// HTTP with a node: bounded answers under a deadline, each on a connection of its own. A
// certificate that does not validate is pinned at first use, as an Electrum server's. No error has
// the credential.

import { errorCodeOf, networkErrorText } from '../domain/delivery/network-error.ts';
import { isOnion, onionNeedsProxy } from '../domain/delivery/onion.ts';
import type { TlsIdentity } from '../domain/payment/server-record.ts';
import type { KnownNode, NodeSettings } from '../domain/store/lightning-node.ts';
import { plainText } from '../domain/text/format.ts';
import { withoutSecrets } from '../domain/text/redaction.ts';
import { isOwnHost } from '../electrum/server-address.ts';
import { judge } from '../electrum/trust.ts';
import { PaygateError } from '../lib/errors.ts';
import { secondMs } from '../lib/time-units.ts';
import { readBounded, requestOnce } from '../world/bounded-request.ts';
import type { PeerCertificate, SocksProxy, World } from '../world/world.ts';

const defaultDeadlineMs = 10 * secondMs;
/** More TLS handshakes at once keep a small node from answering any. */
const maxRunning = 8;
const maxBodyBytes = 4_000_000;
const maxErrorLength = 200;

export interface NodeRequest {
  readonly path: string;
  /** Sent by POST. */
  readonly body?: string | undefined;
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ExchangeRequest extends NodeRequest {
  readonly deadlineMs: number;
  /** What a late answer rejects with. */
  readonly timeoutError: PaygateError;
}

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

type ConnectionWorld = Pick<World, 'after' | 'http' | 'monotonic' | 'resolve'>;

export type Body = AsyncIterable<Buffer>;

export class NodeConnection {
  readonly #world: ConnectionWorld;
  readonly #node: NodeSettings;
  readonly #headers: Record<string, string>;
  readonly #proxy: SocksProxy | undefined;
  #certificate: TlsIdentity | undefined;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** @param headers those that authorise, and the type of bodies */
  constructor(
    world: ConnectionWorld,
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

  /** JSON, or a text that is none, with any status. Many requests at once wait for each other. */
  async ask({ deadlineMs = defaultDeadlineMs, ...request }: NodeRequest): Promise<Answer<unknown>> {
    const dueAt = this.#world.monotonic() + deadlineMs;
    if (this.#running >= maxRunning) await new Promise<void>((run) => this.#waiting.push(run));
    else this.#running += 1;
    try {
      const leftMs = dueAt - this.#world.monotonic();
      if (leftMs <= 0) throw lateError(deadlineMs);
      return await this.exchange(
        { ...request, deadlineMs: leftMs, timeoutError: lateError(deadlineMs) },
        async (body) => {
          const text = await readBounded(body, maxBodyBytes, tooLarge());
          return parseJson(text) ?? text;
        },
      );
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
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
    // What basic authentication encodes, and a macaroon as its bytes.
    const bytes = Buffer.from(/^([0-9a-f]{2})+$/i.test(credential) ? credential : '', 'hex');
    const forms = [`:${credential}`, bytes.toString('base64url'), bytes.toString('base64')];
    const text = plainText(withoutSecrets(said, [credential, ...forms]), maxErrorLength);
    return status === 401 || status === 403 || /permission denied|verification failed/.test(said)
      ? new PaygateError('forbidden', `the node refuses the credential: ${text}`)
      : new PaygateError('unavailable', `the node answered ${status}: ${text}`);
  }

  /** Returns what `read` makes of the body. */
  async exchange<T>(
    { path, body, signal, timeoutError, deadlineMs }: ExchangeRequest,
    read: (body: Body) => Promise<T>,
  ): Promise<Answer<T>> {
    const url = new URL(path, this.#node.url);
    if (isOnion(url.hostname) && this.#proxy === undefined) {
      throw new PaygateError('unavailable', onionNeedsProxy(url.hostname));
    }
    const request = {
      url,
      method: body === undefined ? ('GET' as const) : ('POST' as const),
      body: body ?? null,
      headers: this.#headers,
      deadlineMs,
      connectTimeoutMs: deadlineMs,
      timeoutError,
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

const lateError = (deadlineMs: number): PaygateError =>
  new PaygateError('unavailable', `the node did not answer within ${deadlineMs / secondMs} s`);

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
