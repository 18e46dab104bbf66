// The real World: the system's clocks, chance, sockets, DNS and HTTP, and JSON log lines on standard
// error (standard output is for the person at the terminal). Imported by cli/ alone.
// It retries nothing and judges no certificate: it says what a peer showed, the caller decides.

import { createHash, randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { connect as dialTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as dialTls, type TLSSocket } from 'node:tls';
import { createTask } from 'node-cron';
import { type DestinationStream, destination, pino, stdTimeFunctions } from 'pino';
import { Agent } from 'undici';
import { PaygateError, reasonOf } from './errors.ts';
import type {
  Cancel,
  Connection,
  ConnectTarget,
  Logger,
  PeerCertificate,
  Resolver,
  World,
} from './world.ts';

/** The longest delay that a platform timer holds; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1;
/** How soon a schedule notices that the wall clock was set. */
const clockCheckMs = 60_000;
const socketKeepAliveMs = 60_000;
const responseHeaderBytes = 16 * 1024;

export interface NodeWorldOptions {
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** Where log lines go; standard error without one. */
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
    http: createHttpClient,
    log: createLogger(options),
  };
}

function createLogger({ logLevel, logDestination }: NodeWorldOptions): Logger {
  const lines = pino(
    {
      level: logLevel,
      base: null,
      messageKey: 'message',
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    },
    // Written at once, so that the last line before an exit is not lost.
    logDestination ?? destination({ fd: 2, sync: true }),
  );
  return {
    debug: (message, fields) => lines.debug(fields, message),
    info: (message, fields) => lines.info(fields, message),
    warn: (message, fields) => lines.warn(fields, message),
    error: (message, fields) => lines.error(fields, message),
  };
}

function after(delayMs: number, run: () => void): Cancel {
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number): void => {
    const stepMs = Math.min(leftMs, longestTimerMs);
    timer = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : run()), stepMs);
  };
  arm(Math.max(0, delayMs));
  return () => clearTimeout(timer);
}

/**
 * node-cron reads the expression (in UTC); the timer is ours. Its own stands still for as long as the
 * wall clock was set back, and walks through every match that a clock set forward has skipped.
 */
function schedule(expression: string, run: () => void): Cancel {
  const task = createTask(expression, () => {}, { timezone: 'UTC' });
  let cancel: Cancel;
  const arm = (): void => {
    const dueAt = task.getNextRuns(1)[0]?.getTime() ?? Number.POSITIVE_INFINITY;
    cancel = after(Math.min(dueAt - Date.now(), clockCheckMs), () => {
      const due = Date.now() >= dueAt;
      arm();
      if (due) run();
    });
  };
  arm();
  return () => {
    cancel();
    void task.destroy();
  };
}

/**
 * Settles once, on the first of: connected, failed, aborted. The socket keeps a listener for errors, so
 * one that comes before the caller listens does not end the process: it then finds it destroyed.
 */
function connect(target: ConnectTarget, signal: AbortSignal): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void => {
      const message = `cannot connect to ${target.host}:${target.port}: ${connectFault(cause)}`;
      reject(new PaygateError('unavailable', message, { cause }));
    };
    if (signal.aborted) return refuse(signal.reason);
    const socket = (target.tls ? dialSecurely : dialPlainly)(target);
    const settle = (outcome: () => void): void => {
      signal.removeEventListener('abort', abort);
      socket.off(connected, succeed).off('error', fail).off('close', closed);
      outcome();
    };
    const fail = (cause: unknown): void =>
      settle(() => {
        socket.destroy();
        refuse(cause);
      });
    const abort = (): void => fail(signal.reason);
    const closed = (): void => fail(new Error('the connection was closed'));
    const succeed = (): void =>
      settle(() => {
        socket.setNoDelay(true).setKeepAlive(true, socketKeepAliveMs);
        const certificate = 'authorized' in socket ? certificateOf(socket) : undefined;
        resolve(certificate === undefined ? { socket } : { socket, certificate });
      });
    const connected = target.tls ? 'secureConnect' : 'connect';
    signal.addEventListener('abort', abort);
    socket.on('error', () => {});
    socket.on(connected, succeed).on('error', fail).on('close', closed);
  });
}

const dialPlainly = ({ host, port }: ConnectTarget): Socket => dialTcp({ host, port });

/** The handshake is let through whatever the certificate is: the caller judges it. */
function dialSecurely({ host, port }: ConnectTarget): TLSSocket {
  // TLS names hosts, never addresses: RFC 6066 section 3.
  const name = isIP(host) === 0 ? { servername: host } : {};
  return dialTls({ host, port, rejectUnauthorized: false, ...name });
}

function certificateOf(socket: TLSSocket): PeerCertificate {
  const sha256 = createHash('sha256').update(socket.getPeerCertificate().raw).digest('hex');
  if (socket.authorized) return { valid: true, sha256 };
  return { valid: false, fault: String(socket.authorizationError), sha256 };
}

/** An error that gathers the failures of several addresses has a code but no message. */
function connectFault(cause: unknown): string {
  const { code } = Object(cause) as { code?: unknown };
  return typeof code === 'string' ? code : reasonOf(cause);
}

const resolve: Resolver = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
};

/** Follows no redirects (undici does not by itself) and always verifies TLS. */
function createHttpClient(resolver: Resolver, connectTimeoutMs: number): Agent {
  return new Agent({
    allowH2: false,
    maxHeaderSize: responseHeaderBytes,
    connectTimeout: connectTimeoutMs,
    // Said aloud because the environment can change the default.
    connect: { lookup: lookupThrough(resolver), rejectUnauthorized: true },
  });
}

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
