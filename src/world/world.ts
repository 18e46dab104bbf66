// The only door to time, chance and the network. Rooms of rank 3 and up receive a World as an
// argument; the real one is node-world.ts, the tests' one has a clock that the test moves.

import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';

export type Cancel = () => void;

export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** A SOCKS5 proxy, RFC 1928. */
export interface SocksProxy {
  readonly host: string;
  readonly port: number;
  /** RFC 1929. */
  readonly credentials?: { readonly user: string; readonly password: string };
}

export interface ConnectTarget {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** The only way there: it is given the name of the host, which is never looked up here. */
  readonly proxy?: SocksProxy;
}

/** What the peer's TLS certificate is worth; the caller decides whether that is enough. */
export interface PeerCertificate {
  /** The chain leads to a trusted root and the name and dates fit. */
  readonly isValid: boolean;
  /** Why it does not, in the TLS library's words. */
  readonly error?: string;
  /** SHA-256 over the DER certificate, lower-case hex. */
  readonly sha256: string;
}

export interface Connection {
  readonly socket: Socket;
  /** Set on a TLS connection. */
  readonly certificate?: PeerCertificate;
}

/** Resolves a host name to the addresses that may be dialled, or throws to refuse them all. */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

export interface HttpTarget {
  /** Scheme, host and port. */
  readonly origin: string;
  /**
   * New connections dial only what it answers. A literal address never passes through it: the
   * caller checks that.
   */
  readonly resolver: Resolver;
  /** For the look-up, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** How long a connection stays open that is in nobody's use; as long as the library likes without it. */
  readonly idleMs?: number;
  /** The only way there; the resolver is not asked then. */
  readonly proxy?: SocksProxy | undefined;
  /** PEM: the only authorities that may vouch for the host; the usual ones without it. */
  readonly ca?: string | undefined;
  /** Answers are read as curl reads them, not as strictly as the HTTP client does. */
  readonly isLenient?: boolean;
  /** TCP is connected to this IP address, or a proxy to this name; TLS comes next, where the origin asks for it. */
  readonly onConnected?: (address: string) => void;
  /** The request goes out now. */
  readonly onReady?: () => void;
}

export interface World {
  /** Wall clock, epoch milliseconds. It may jump. */
  now(): number;
  /** Milliseconds of a clock that never runs backwards; only differences mean something. */
  monotonic(): number;
  /** Runs once after the delay, which may be longer than a platform timer can hold. */
  after(delayMs: number, run: () => void): Cancel;
  /** Runs at each match of a cron expression of six fields (seconds first). */
  schedule(cron: string, run: () => void): Cancel;
  /** A fraction in [0, 1), for jitter; never for secrets. */
  random(): number;
  /** Bytes fit for secrets. */
  randomBytes(length: number): Uint8Array;
  /** Opens a TCP or TLS connection; rejects when it cannot or when the signal aborts first. */
  connect(target: ConnectTarget, signal: AbortSignal): Promise<Connection>;
  /** Every address of the name, by the system. */
  resolve: Resolver;
  /** IP addresses of this machine's network interfaces. */
  ownAddresses(): readonly string[];
  /** An HTTP client of one host, with one connection at a time. */
  http(target: HttpTarget): Dispatcher;
  readonly log: Logger;
}

/** From the most to the least that is logged. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
