// One HTTP request to a shop's server, from the name lookup to the end of a bounded response, under
// one deadline. It dials only addresses that this attempt looked up and that the guard allows. It
// uses an idle connection of an earlier callback (connection-reuse.ts) or opens a new one.

import type { Dispatcher } from 'undici';
import type { CallbackTarget } from '../domain/delivery/callback.ts';
import { type CallbackFlags, literalAddress } from '../domain/delivery/callback-url-policy.ts';
import type { ListenAddress } from '../domain/delivery/public-endpoint.ts';
import { type AttemptPhase, deadlineCode } from '../domain/delivery/retry.ts';
import { PaygateError } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import type { Resolver, SocksProxy, World } from '../world/world.ts';
import type { CallbackConnection, CallbackConnections, Destination } from './connection-reuse.ts';
import { parserFault } from './failure-reason.ts';
import { guardTarget, onionProxy } from './target-guard.ts';

/** Shared by all attempts. */
export interface RequestParts {
  readonly world: Pick<World, 'monotonic' | 'after' | 'resolve' | 'ownAddresses'>;
  readonly options: RequestOptions;
  readonly connections: CallbackConnections;
}

export interface RequestOptions {
  /** Addresses on which paygate listens. Each attempt reads them: no callback may go there. */
  readonly listeners: () => readonly ListenAddress[];
  /** SOCKS5, for onion services only. */
  readonly proxy?: SocksProxy | undefined;
  /** For lookup, TCP and TLS. Through the proxy, only the deadline applies. */
  readonly connectTimeoutMs?: number;
}

export interface OutgoingRequest extends Pick<CallbackTarget, 'origin' | 'path'> {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string | undefined;
}

export interface TargetPolicy extends CallbackFlags {
  /** PEM. If present, no other authority is trusted. */
  readonly ca?: string | undefined;
}

/** The deadline of an attempt, from the lookup to the last byte. */
export const deadlineMs = 20_000;
const defaultConnectTimeoutMs = 5_000;
const maxBodyBytes = 16 * 1024;
/** Error codes of a connection that the server closed. */
const closeCodes = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** How far an attempt has come, and the response so far. */
export class AttemptProgress {
  phase: AttemptPhase;
  /** Milliseconds of each phase that has ended. */
  readonly phases: Partial<Record<AttemptPhase, number>> = {};
  address: string | null = null;
  status?: number;
  location?: string | undefined;
  retryAfter?: string | undefined;
  readonly body: Buffer[] = [];
  /** The response was read to its end. */
  isComplete = false;
  errorCode?: string;
  readonly #monotonic: () => number;
  #enteredAt: number;

  constructor(phase: AttemptPhase, monotonic: () => number) {
    this.phase = phase;
    this.#monotonic = monotonic;
    this.#enteredAt = monotonic();
  }

  /** @param phase the phase that begins; the current phase at the end of the attempt */
  enter(phase: AttemptPhase): void {
    const at = this.#monotonic();
    this.phases[this.phase] = Math.round(10 * (at - this.#enteredAt)) / 10;
    this.#enteredAt = at;
    this.phase = phase;
  }
}

/**
 * A network error is the `errorCode` of the result.
 * @throws PaygateError if the guard refuses the address. The signal's reason if it aborted.
 */
export async function sendRequest(
  parts: RequestParts,
  policy: TargetPolicy,
  request: OutgoingRequest,
  signal: AbortSignal,
): Promise<AttemptProgress> {
  const { origin } = request;
  const { connectTimeoutMs = defaultConnectTimeoutMs } = parts.options;
  const url = new URL(origin);
  const proxy = onionProxy(url, parts.options.proxy);
  const target = { origin, ca: policy.ca };
  const [destination, resolver] =
    proxy === undefined
      ? [{ ...target, connectTimeoutMs }, guardedLookup(parts, url, policy)]
      : [{ ...target, connectTimeoutMs: deadlineMs, proxy }, noResolver];
  const attempt = new NetworkAttempt(parts, destination, url.hostname, resolver);
  const { progress } = attempt;
  const abort = (): void => attempt.abort(signal.reason);
  const cancel = parts.world.after(deadlineMs, () => attempt.abort(deadlineError()));
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    await attempt.run(request);
  } catch (error) {
    signal.throwIfAborted();
    progress.errorCode = errorCodeOf(error);
    progress.address ??= dialledAddress(error);
  } finally {
    progress.enter(progress.phase);
    cancel();
    signal.removeEventListener('abort', abort);
    attempt.release();
  }
  return progress;
}

/**
 * A resolver that makes one lookup for each attempt.
 * @throws PaygateError forbidden for a literal address that must not be dialled
 */
function guardedLookup({ world, options }: RequestParts, url: URL, policy: TargetPolicy): Resolver {
  const local = { listeners: options.listeners(), ownAddresses: world.ownAddresses() };
  const lookUp = guardTarget(url, policy, local, world.resolve);
  return lazy(() => lookUp(url.hostname));
}

const noResolver: Resolver = () => Promise.reject(new Error('this host is not looked up'));

/** The connection of one attempt, and the exchange over it. */
class NetworkAttempt {
  readonly progress: AttemptProgress;
  readonly #parts: RequestParts;
  readonly #destination: Destination;
  readonly #hostname: string;
  /** The host is an IP address, or the proxy looks it up. */
  readonly #isLiteral: boolean;
  readonly #resolver: Resolver;
  readonly #aborted = Promise.withResolvers<never>();
  #connection: CallbackConnection | undefined;

  /** @param resolver returns only addresses that may be dialled */
  constructor(parts: RequestParts, destination: Destination, hostname: string, resolver: Resolver) {
    this.#parts = parts;
    this.#destination = destination;
    this.#hostname = hostname;
    this.#isLiteral = destination.proxy !== undefined || literalAddress(hostname) !== undefined;
    this.#resolver = resolver;
    const first = this.#isLiteral ? 'connect' : 'resolve';
    this.progress = new AttemptProgress(first, () => parts.world.monotonic());
    this.#aborted.promise.catch(() => {});
  }

  async run(request: OutgoingRequest): Promise<void> {
    const hasIdle = this.#parts.connections.hasIdle(this.#destination);
    const idle = hasIdle ? await this.#takeIdle() : undefined;
    this.#connection = idle ?? this.#open();
    try {
      await exchange(this.#connection.client, request, this.progress);
    } catch (error) {
      if (idle === undefined || !this.#closedBeforeResponse(error)) throw error;
      this.progress.enter('connect');
      this.#connection = this.#open();
      await exchange(this.#connection.client, request, this.progress);
    }
  }

  abort(reason: Error): void {
    this.#aborted.reject(reason);
    void this.#connection?.client.destroy(reason);
  }

  /** After a complete response the connection stays open. Otherwise it is destroyed. */
  release(): void {
    if (this.#connection === undefined) return;
    const { connections } = this.#parts;
    if (this.progress.isComplete) connections.putBack(this.#destination, this.#connection);
    else void this.#connection.client.destroy(attemptEnded);
  }

  async #takeIdle(): Promise<CallbackConnection | undefined> {
    const addresses = this.#isLiteral
      ? undefined
      : await Promise.race([this.#resolver(this.#hostname), this.#aborted.promise]);
    const mayDial = (address: string): boolean => addresses?.includes(address) ?? true;
    const { connections } = this.#parts;
    const connection = connections.takeIdle(this.#destination, this.#hooks(), mayDial);
    if (connection === undefined) return undefined;
    this.progress.enter('response');
    this.progress.address = connection.address;
    return connection;
  }

  #open(): CallbackConnection {
    return this.#parts.connections.open(this.#destination, this.#hooks());
  }

  #hooks() {
    const { progress } = this;
    return {
      resolver: async (name: string): Promise<readonly string[]> => {
        const addresses = await this.#resolver(name);
        progress.enter('connect');
        return addresses;
      },
      onConnected: (address: string): void => {
        progress.address = address;
        if (/^https:/i.test(this.#destination.origin)) progress.enter('tls');
      },
      onReady: (): void => progress.enter('response'),
    };
  }

  /** A server may close an idle connection at any time. The shop did not refuse the callback. */
  #closedBeforeResponse(error: unknown): boolean {
    const { code } = error as { code?: unknown };
    return this.progress.status === undefined && typeof code === 'string' && closeCodes.has(code);
  }
}

/** One for all: without it, undici makes an error with a stack for each client. */
const attemptEnded = new Error('the attempt is over');

const deadlineError = (): Error => Object.assign(new Error('deadline'), { code: deadlineCode });

/** The network stack's code of an error. @throws PaygateError of the guard, and any bug */
function errorCodeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (name === parserFault) return parserFault;
  if (typeof code !== 'string' || error instanceof PaygateError) throw error;
  return code;
}

/** The last address that was dialled. Node gathers several failures in one error. */
function dialledAddress(error: unknown): string | null {
  const { errors, address } = error as { errors?: readonly unknown[]; address?: unknown };
  if (typeof address === 'string') return address;
  const last = errors?.at(-1);
  return last === undefined ? null : dialledAddress(last);
}

/** Uses undici's handler: a stream for each small body costs more than the request. */
function exchange(
  client: Dispatcher,
  { origin, path, method, headers, body }: OutgoingRequest,
  progress: AttemptProgress,
): Promise<void> {
  // The deadline of the attempt covers both.
  const timeouts = { headersTimeout: 0, bodyTimeout: 0 };
  const request = { method, origin, path, headers, body: body ?? null, ...timeouts };
  return new Promise((resolve, reject) => {
    let length = 0;
    client.dispatch(request, {
      onRequestStart() {},
      onResponseStart(_controller, status, answered) {
        if (status < 200) return; // 1xx: the response follows
        progress.enter('body');
        progress.status = status;
        progress.location = firstValue(answered.location);
        progress.retryAfter = firstValue(answered['retry-after']);
      },
      onResponseData(controller, chunk) {
        progress.body.push(chunk.subarray(0, maxBodyBytes - length));
        length += chunk.length;
        if (length < maxBodyBytes) return;
        resolve();
        controller.abort(attemptEnded);
      },
      onResponseEnd() {
        progress.isComplete = true;
        resolve();
      },
      onResponseError(_controller, error) {
        reject(error);
      },
    });
  });
}

const firstValue = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;
