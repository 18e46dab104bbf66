// The way of one request to a shop's server, from the look-up of its name to the last byte of a bounded
// answer, under one deadline. It goes to an address that this attempt's own look-up gave and the guard let
// through, over a connection that an earlier delivery has left (connection-reuse.ts) or over a new one.

import type { Dispatcher } from 'undici';
import type { CallbackTarget } from '../domain/callback.ts';
import { type CallbackFlags, literalAddress } from '../domain/callback-url-policy.ts';
import type { ListenAddress } from '../domain/public-endpoint.ts';
import { type AttemptPhase, deadlineCode } from '../domain/retry.ts';
import { PaygateError } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import type { Resolver, SocksProxy, World } from '../world/world.ts';
import type { CallbackConnection, CallbackConnections, Destination } from './connection-reuse.ts';
import { parserFault } from './failure-reason.ts';
import { guardTarget, onionProxy } from './target-guard.ts';

/** What all attempts share. */
export interface RequestParts {
  readonly world: Pick<World, 'monotonic' | 'after' | 'resolve' | 'ownAddresses'>;
  readonly options: RequestOptions;
  readonly connections: CallbackConnections;
}

export interface RequestOptions {
  /** Where paygate itself listens, asked at each attempt: no callback goes there. */
  readonly listeners: () => readonly ListenAddress[];
  /** SOCKS5: the only way to onion services, and to nothing else. */
  readonly proxy?: SocksProxy | undefined;
  /** For the look-up, TCP and TLS; through the proxy the deadline counts. */
  readonly connectTimeoutMs?: number;
}

/** A request as it goes out. */
export interface OutgoingRequest extends Pick<CallbackTarget, 'origin' | 'path'> {
  readonly method: 'GET' | 'HEAD';
  readonly headers: Record<string, string>;
}

/** What the store allows, and who may vouch for its host. */
export interface TargetPolicy extends CallbackFlags {
  /** PEM: no other authority than these. */
  readonly ca?: string | undefined;
}

/** For everything together, from the look-up to the last byte. */
export const deadlineMs = 20_000;
const defaultConnectTimeoutMs = 5_000;
const maxBodyBytes = 16 * 1024;
/** How a connection ends that its server has given up. */
const closeCodes = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** How far an attempt came, and what came back. */
export class AttemptProgress {
  phase: AttemptPhase;
  /** How long each phase took, until the one that is under way. */
  readonly phases: Partial<Record<AttemptPhase, number>> = {};
  address: string | null = null;
  status?: number;
  location?: string | undefined;
  retryAfter?: string | undefined;
  readonly body: Buffer[] = [];
  /** The answer was read to its end. */
  isComplete = false;
  errorCode?: string;
  readonly #monotonic: () => number;
  #enteredAt: number;

  constructor(phase: AttemptPhase, monotonic: () => number) {
    this.phase = phase;
    this.#monotonic = monotonic;
    this.#enteredAt = monotonic();
  }

  /** @param phase what is waited for from now on; itself at the end */
  enter(phase: AttemptPhase): void {
    const at = this.#monotonic();
    this.phases[this.phase] = Math.round(10 * (at - this.#enteredAt)) / 10;
    this.#enteredAt = at;
    this.phase = phase;
  }
}

/**
 * Whatever becomes of it is told by its course.
 * @throws PaygateError what the guard refuses; the signal's reason when that cut it off
 */
export async function sendRequest(
  way: RequestParts,
  allowed: TargetPolicy,
  asked: OutgoingRequest,
  signal: AbortSignal,
): Promise<AttemptProgress> {
  const { origin } = asked;
  const { connectTimeoutMs = defaultConnectTimeoutMs } = way.options;
  const url = new URL(origin);
  const proxy = onionProxy(url, way.options.proxy);
  const place = { origin, ca: allowed.ca };
  const journey =
    proxy === undefined
      ? new NetworkAttempt(
          way,
          { ...place, connectTimeoutMs },
          url.hostname,
          lookUpFor(way, url, allowed),
        )
      : new NetworkAttempt(
          way,
          { ...place, connectTimeoutMs: deadlineMs, proxy },
          url.hostname,
          noResolver,
        );
  const { progress: course } = journey;
  const abort = (): void => journey.abort(signal.reason);
  const cancel = way.world.after(deadlineMs, () => journey.abort(deadlineError()));
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    await journey.run(asked);
  } catch (error) {
    signal.throwIfAborted();
    course.errorCode = errorCodeOf(error);
    course.address ??= dialledAddress(error);
  } finally {
    course.enter(course.phase);
    cancel();
    signal.removeEventListener('abort', abort);
    journey.release();
  }
  return course;
}

/** One look-up an attempt. @throws PaygateError forbidden for a literal address that may not be dialled */
function lookUpFor({ world, options }: RequestParts, url: URL, allowed: TargetPolicy): Resolver {
  const departure = { listeners: options.listeners(), ownAddresses: world.ownAddresses() };
  const lookUp = guardTarget(url, allowed, departure, world.resolve);
  return lazy(() => lookUp(url.hostname));
}

const noResolver: Resolver = () => Promise.reject(new Error('no resolver is asked for this host'));

class NetworkAttempt {
  readonly progress: AttemptProgress;
  readonly #parts: RequestParts;
  readonly #destination: Destination;
  readonly #hostname: string;
  /** No name is looked up. */
  readonly #isLiteral: boolean;
  readonly #resolver: Resolver;
  readonly #aborted = Promise.withResolvers<never>();
  #connection: CallbackConnection | undefined;

  /** @param resolver answers what may be dialled, by one look-up an attempt */
  constructor(way: RequestParts, place: Destination, hostname: string, resolver: Resolver) {
    this.#parts = way;
    this.#destination = place;
    this.#hostname = hostname;
    this.#isLiteral = place.proxy !== undefined || literalAddress(hostname) !== undefined;
    this.#resolver = resolver;
    const first = this.#isLiteral ? 'connect' : 'resolve';
    this.progress = new AttemptProgress(first, () => way.world.monotonic());
    this.#aborted.promise.catch(() => {});
  }

  async run(asked: OutgoingRequest): Promise<void> {
    const kept = this.#parts.connections.hasIdle(this.#destination)
      ? await this.#takeIdle()
      : undefined;
    this.#connection = kept ?? this.#open();
    try {
      await exchange(this.#connection.client, asked, this.progress);
    } catch (error) {
      if (kept === undefined || !this.#closedBeforeResponse(error)) throw error;
      this.progress.enter('connect');
      this.#connection = this.#open();
      await exchange(this.#connection.client, asked, this.progress);
    }
  }

  abort(reason: Error): void {
    this.#aborted.reject(reason);
    void this.#connection?.client.destroy(reason);
  }

  /** A whole answer leaves its connection; nothing else outlives the attempt. */
  release(): void {
    if (this.#connection === undefined) return;
    if (this.progress.isComplete)
      this.#parts.connections.putBack(this.#destination, this.#connection);
    else void this.#connection.client.destroy(attemptEnded);
  }

  async #takeIdle(): Promise<CallbackConnection | undefined> {
    const addresses = this.#isLiteral
      ? undefined
      : await Promise.race([this.#resolver(this.#hostname), this.#aborted.promise]);
    const mayDial = (address: string): boolean => addresses?.includes(address) ?? true;
    const line = this.#parts.connections.takeIdle(this.#destination, this.#hooks(), mayDial);
    if (line === undefined) return undefined;
    this.progress.enter('response');
    this.progress.address = line.address;
    return line;
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

  /** A server may end a kept connection just as the request goes out: that says nothing of the shop. */
  #closedBeforeResponse(error: unknown): boolean {
    const { code } = error as { code?: unknown };
    return this.progress.status === undefined && typeof code === 'string' && closeCodes.has(code);
  }
}

/** Made once: undici would make one for each client, with a stack. */
const attemptEnded = new Error('the attempt is over');

const deadlineError = (): Error => Object.assign(new Error('deadline'), { code: deadlineCode });

/** What the network stack calls the fault. Our guard's refusal goes on, and so does a bug. */
function errorCodeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (name === parserFault) return parserFault;
  if (typeof code !== 'string' || error instanceof PaygateError) throw error;
  return code;
}

/** The last address that a connection was tried to in vain; several failures come gathered in one. */
function dialledAddress(error: unknown): string | null {
  const { errors, address } = error as { errors?: readonly unknown[]; address?: unknown };
  if (typeof address === 'string') return address;
  const last = errors?.at(-1);
  return last === undefined ? null : dialledAddress(last);
}

/** By undici's own callbacks: a stream for each small answer would cost more than the request. */
function exchange(
  client: Dispatcher,
  { origin, path, method, headers }: OutgoingRequest,
  course: AttemptProgress,
): Promise<void> {
  // The one deadline is ours.
  const request = { method, origin, path, headers, headersTimeout: 0, bodyTimeout: 0 };
  return new Promise((resolve, reject) => {
    let length = 0;
    client.dispatch(request, {
      onRequestStart() {},
      onResponseStart(_controller, status, answered) {
        if (status < 200) return; // 1xx: the answer itself comes later
        course.enter('body');
        course.status = status;
        course.location = firstValue(answered.location);
        course.retryAfter = firstValue(answered['retry-after']);
      },
      onResponseData(controller, chunk) {
        course.body.push(chunk.subarray(0, maxBodyBytes - length));
        length += chunk.length;
        if (length < maxBodyBytes) return;
        resolve();
        controller.abort(attemptEnded);
      },
      onResponseEnd() {
        course.isComplete = true;
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
