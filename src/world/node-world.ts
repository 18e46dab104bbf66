// The real World: clocks, random numbers, sockets, DNS and HTTP of the system, and the log on
// standard error. Only cli/ imports it. It never retries and never judges a certificate: the caller
// does.

import { createHash, randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { connect as dialTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as dialTls, type TLSSocket } from 'node:tls';
import { type DestinationStream, destination, pino, stdTimeFunctions } from 'pino';
import { SocksClient } from 'socks';
import request from 'undici/lib/api/api-request.js';
import buildConnector from 'undici/lib/core/connect.js';
import Client from 'undici/lib/dispatcher/client.js';
import { portOf } from '../domain/delivery/callback-url-policy.ts';
import { errorCodeOf, networkErrorText } from '../domain/delivery/network-error.ts';
import { connectTimeoutCode, proxyDownCode, proxyRefusedCode } from '../domain/delivery/retry.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import { lazy } from '../lib/lazy.ts';
import { nextMatch } from './cron.ts';
import { LenientSocket } from './lenient-socket.ts';
import {
  type Cancel,
  type Connection,
  type ConnectTarget,
  type HttpTarget,
  type Logger,
  type LogLevel,
  logLevels,
  type PeerCertificate,
  type Resolver,
  type SocksProxy,
  type World,
} from './world.ts';

// Its index does that, with all its methods.
Client.prototype.request = request;

/** A platform timer with a longer delay fires at once. */
const maxTimerMs = 2 ** 31 - 1;
/** A schedule notices a changed wall clock within this time. */
const clockCheckMs = 60_000;
const socketKeepAliveMs = 60_000;
/**
 * Timeout of each address of a server but the last. Node's 250 ms are too short for far servers.
 */
const addressTimeoutMs = 1_500;
/** Longer than any caller's timeout: the abort signal comes first. */
const proxyHandshakeTimeoutMs = 60_000;
const responseHeaderBytes = 16 * 1024;

export interface NodeWorldOptions {
  readonly logLevel: LogLevel;
  /** Receives each log entry as JSON; standard error by default. */
  readonly logDestination?: DestinationStream;
}

export function createNodeWorld(options: NodeWorldOptions): World {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after,
    schedule,
    random: () => Math.random(),
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    connect,
    resolve,
    ownAddresses: cachedOwnAddresses(),
    http: createHttpClient,
    log: createLogger(options),
  };
}

const ownAddressesTtlMs = 1_000;

function cachedOwnAddresses(): World['ownAddresses'] {
  let addresses: readonly string[] = [];
  let until = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now < until) return addresses;
    until = now + ownAddressesTtlMs;
    addresses = Object.values(networkInterfaces()).flatMap((each) =>
      (each ?? []).map(({ address }) => address),
    );
    return addresses;
  };
}

function createLogger({ logLevel, logDestination = standardError() }: NodeWorldOptions): Logger {
  const lines = lazy(() =>
    pino(
      {
        level: logLevel,
        base: null,
        messageKey: 'message',
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (level) => ({ level }) },
      },
      logDestination,
    ),
  );
  const at = (level: keyof Logger): Logger[typeof level] =>
    logLevels.indexOf(level) < logLevels.indexOf(logLevel)
      ? () => {}
      : (message, fields) => lines()[level](fields, message);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/**
 * Standard error, written synchronously, so that the last entry before an exit is not lost. An
 * entry that cannot be written, as on a full disk, is dropped.
 */
export function standardError(): DestinationStream {
  let lines: ReturnType<typeof open> | undefined;
  function open() {
    return destination({ fd: 2, sync: true }).on('error', () => {
      // A failed destination buffers for ever, so a new one replaces it.
      lines = open();
    });
  }
  return {
    write(line) {
      lines ??= open();
      lines.write(line);
    },
  };
}

function after(delayMs: number, run: () => void): Cancel {
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    const stepMs = Math.min(leftMs, maxTimerMs);
    timer = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : run()), stepMs);
  };
  arm(Math.max(0, delayMs));
  return () => clearTimeout(timer);
}

/**
 * A replacement of node-cron's timer. That one stops after the wall clock was set back, and replays
 * all matches after it was set forward.
 */
function schedule(expression: string, run: () => void): Cancel {
  const next = nextMatch(expression);
  let cancel: Cancel;
  const arm = (): void => {
    const dueAt = next(Date.now());
    cancel = after(Math.min(dueAt - Date.now(), clockCheckMs), () => {
      const due = Date.now() >= dueAt;
      arm();
      if (due) run();
    });
  };
  arm();
  return () => cancel();
}

/**
 * Rejects at the first error, close or abort, and leaves no socket open. The socket has a listener
 * for errors. An error before the caller listens does not end the process; the caller finds a
 * destroyed socket.
 */
async function connect(target: ConnectTarget, signal: AbortSignal): Promise<Connection> {
  try {
    signal.throwIfAborted();
    const { proxy, tls } = target;
    if (proxy === undefined && /\.onion\.?$/i.test(target.host)) {
      throw new Error('a .onion name can be reached only through a proxy (Tor)');
    }
    const tunnel = proxy && (await openTunnel(target, proxy, signal));
    const socket = tls ? dialSecurely(target, tunnel) : (tunnel ?? dialPlainly(target));
    if (tls) await waitForEvent(socket, 'secureConnect', signal);
    else if (tunnel === undefined) await waitForEvent(socket, 'connect', signal);
    socket.setNoDelay(true).setKeepAlive(true, socketKeepAliveMs);
    return isSecure(socket) ? { socket, certificate: certificateOf(socket) } : { socket };
  } catch (cause) {
    const message = `cannot connect to ${target.host}:${target.port}: ${connectErrorText(cause, target.tls)}`;
    throw new PaygateError('unavailable', message, { cause });
  }
}

/** Waits for an event. Destroys the socket at an error, close or abort before it. */
function waitForEvent(socket: Socket, event: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void): void => {
      signal.removeEventListener('abort', abort);
      socket.off(event, succeed).off('error', fail).off('close', closed);
      outcome();
    };
    const fail = (cause: unknown): void =>
      settle(() => {
        socket.destroy();
        reject(cause);
      });
    const abort = (): void => fail(signal.reason);
    const closed = (): void => fail(new Error('the connection was closed'));
    const succeed = (): void => settle(resolve);
    signal.addEventListener('abort', abort);
    socket.on('error', () => {});
    socket.on(event, succeed).on('error', fail).on('close', closed);
  });
}

class ProxyError extends Error {
  readonly proxyCode: string;

  /** @param proxyCode in the words of the callbacks' reasons */
  constructor(message: string, proxyCode: string) {
    super(message);
    this.proxyCode = proxyCode;
  }
}

/** A socket to the target through the proxy. The proxy resolves the name, never this machine. */
async function openTunnel(
  { host, port }: ConnectTarget,
  { credentials, ...proxy }: SocksProxy,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = dialPlainly(proxy);
  let code = proxyDownCode;
  const abort = (): void => void socket.destroy();
  const login = credentials && { userId: credentials.user, password: credentials.password };
  try {
    await waitForEvent(socket, 'connect', signal);
    code = proxyRefusedCode;
    signal.addEventListener('abort', abort);
    // Loaded on demand, because most installations have no proxy.
    await SocksClient.createConnection({
      command: 'connect',
      proxy: { ...proxy, ...login, type: 5 },
      destination: { host, port },
      existing_socket: socket,
      timeout: proxyHandshakeTimeoutMs,
    });
    signal.throwIfAborted();
    return socket;
  } catch (cause) {
    socket.destroy();
    // Not as the cause, because the library's error contains the password.
    if (signal.aborted) throw signal.reason;
    const message = `through ${proxy.host}:${proxy.port}: ${connectErrorText(cause)}`;
    throw new ProxyError(message, code);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

const dialPlainly = ({ host, port }: { host: string; port: number }): Socket =>
  dialTcp({ host, port, autoSelectFamilyAttemptTimeout: addressTimeoutMs });

/** Accepts any certificate; the caller judges it. */
function dialSecurely({ host, port }: ConnectTarget, tunnel: Socket | undefined): TLSSocket {
  // RFC 6066, section 3: the server name is never an IP address.
  const name = isIP(host) === 0 ? { servername: host } : {};
  // `host` is also what the certificate is checked against.
  const way =
    tunnel === undefined
      ? { autoSelectFamilyAttemptTimeout: addressTimeoutMs }
      : { socket: tunnel };
  return dialTls({ host, port, ...way, rejectUnauthorized: false, ...name });
}

function certificateOf(socket: TLSSocket): PeerCertificate {
  const sha256 = createHash('sha256').update(socket.getPeerCertificate().raw).digest('hex');
  if (socket.authorized) return { isValid: true, sha256 };
  return { isValid: false, error: String(socket.authorizationError), sha256 };
}

/** An aggregate error of several addresses has a code but no message. */
function connectErrorText(cause: unknown, tls = false): string {
  const code = errorCodeOf(cause);
  return networkErrorText(code, tls) ?? (reasonOf(cause) || code);
}

/** Follows no redirects, which is undici's default. */
function createHttpClient(target: HttpTarget): Client {
  const { origin, resolver, connectTimeoutMs, idleMs, ca, onConnected, onReady } = target;
  const dial = buildConnector({
    allowH2: false,
    timeout: connectTimeoutMs,
    lookup: lookupThrough(resolver),
    // Explicit, because the environment can change the default.
    rejectUnauthorized: target.judgeCertificate === undefined,
    autoSelectFamily: true,
    // Node's 250 ms for each address but the last are too short for far hosts.
    autoSelectFamilyAttemptTimeout: Math.ceil(connectTimeoutMs / 4),
    ...(ca === undefined ? {} : { ca }),
  });
  return new Client(origin, {
    allowH2: false,
    maxHeaderSize: responseHeaderBytes,
    ...(idleMs === undefined ? {} : { keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs }),
    connect(options, callback) {
      const done: typeof callback = (...outcome) => {
        const [error, connected] = outcome;
        const refusal = error === null ? refusalOf(connected, target) : undefined;
        if (refusal !== undefined) return callback(refusal, null);
        if (error === null) onReady?.();
        if (error !== null || target.isLenient !== true) callback(...outcome);
        // It implements all that undici uses of a socket.
        else callback(null, new LenientSocket(connected) as unknown as Socket);
      };
      if (target.proxy !== undefined) {
        dialThrough(target, target.proxy).then(
          (tunnel) => {
            if (options.protocol === 'https:') dial({ ...options, httpSocket: tunnel }, done);
            else done(null, tunnel);
          },
          (error: Error) => done(error, null),
        );
        return;
      }
      // The connector returns its socket, which its types omit.
      const socket = dial(options, done) as unknown as Socket;
      socket.once('connect', () => onConnected?.(socket.remoteAddress ?? ''));
    },
  });
}

/** Why the certificate of a connection is refused; it is closed then. */
function refusalOf(socket: Socket, { judgeCertificate }: HttpTarget): Error | undefined {
  if (judgeCertificate === undefined || !isSecure(socket)) return undefined;
  try {
    judgeCertificate(certificateOf(socket));
    return undefined;
  } catch (error) {
    socket.destroy();
    return error as Error;
  }
}

const isSecure = (socket: Socket): socket is TLSSocket => 'authorized' in socket;

/** Rejects with an error code, like undici's connector. */
async function dialThrough(
  { origin, connectTimeoutMs, onConnected }: HttpTarget,
  proxy: SocksProxy,
): Promise<Socket> {
  const url = new URL(origin);
  const host = url.hostname.replace(/\.$/, '');
  const target = { host, port: portOf(url), tls: false };
  const timeout = AbortSignal.timeout(connectTimeoutMs);
  try {
    const socket = await openTunnel(target, proxy, timeout);
    onConnected?.(host);
    return socket.setNoDelay(true);
  } catch (cause) {
    const code = cause instanceof ProxyError ? cause.proxyCode : connectTimeoutCode;
    throw Object.assign(new Error(reasonOf(cause)), { code });
  }
}

/** By the system (getaddrinfo), in a thread of libuv's pool. */
const resolve: Resolver = async (name) => {
  const found = await lookup(name, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
};

function lookupThrough(resolver: Resolver): LookupFunction {
  return (hostname, options, callback) => {
    const answer = (addresses: readonly string[]): void => {
      const found = addresses.map((address) => ({ address, family: isIP(address) }));
      const [first] = found;
      if (first === undefined) callback(new Error(`${hostname} has no address`), '');
      else if (options.all) callback(null, found);
      else callback(null, first.address, first.family);
    };
    const refuse = (cause: unknown): void =>
      callback(cause instanceof Error ? cause : new Error(String(cause)), '');
    resolver(hostname).then(answer, refuse);
  };
}
