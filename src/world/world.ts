// The interface to time, random numbers, the network and the log. Folders from rank 3 on receive a
// World as an argument. node-world.ts is the real one. In tests, the test moves the clock.

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
  /** The only way to the host. The proxy resolves the host's name, never this machine. */
  readonly proxy?: SocksProxy;
}

/** The result of validating the peer's TLS certificate; the caller decides what follows. */
export interface PeerCertificate {
  /** The chain leads to a trusted root, and name and dates are valid. */
  readonly isValid: boolean;
  /** Why it is invalid: the code of the TLS library. */
  readonly error?: string;
  /** SHA-256 over the DER certificate, lower-case hex. */
  readonly sha256: string;
}

export interface Connection {
  readonly socket: Socket;
  /** Set on a TLS connection. */
  readonly certificate?: PeerCertificate;
}

/** Resolves a host name to the addresses that may be dialled; throws to forbid all of them. */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

export interface HttpTarget {
  readonly origin: string;
  /**
   * New connections dial only addresses that it returns. A literal address never passes through it,
   * so the caller checks that.
   */
  readonly resolver: Resolver;
  /** Timeout of DNS, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** How long an idle connection stays open; undici's default without it. */
  readonly idleMs?: number;
  /** The only way to the host; the resolver is not used then. */
  readonly proxy?: SocksProxy | undefined;
  /** PEM of the only authorities that may certify the host; the system's by default. */
  readonly ca?: string | undefined;
  /** Throws to refuse a certificate before anything is sent. By default it must validate. */
  readonly judgeCertificate?: ((certificate: PeerCertificate) => void) | undefined;
  /** Reads responses as leniently as curl. */
  readonly isLenient?: boolean;
  /** Called after TCP connected to this IP address, or the proxy to this name; before TLS. */
  readonly onConnected?: (address: string) => void;
  /** Called right before the request is sent. */
  readonly onReady?: () => void;
}

export interface World {
  /** Wall clock, epoch milliseconds. It may jump. */
  now(): number;
  /** Monotonic milliseconds; only differences have a meaning. */
  monotonic(): number;
  /** Runs once after the delay, which may exceed the limit of platform timers. */
  after(delayMs: number, run: () => void): Cancel;
  /** Runs at each match of a cron expression of six fields (seconds first). */
  schedule(cron: string, run: () => void): Cancel;
  /** A fraction in [0, 1) for jitter, never for secrets. */
  random(): number;
  /** Random bytes for secrets. */
  randomBytes(length: number): Uint8Array;
  /** Opens a TCP or TLS connection; rejects at an error or when the signal aborts first. */
  connect(target: ConnectTarget, signal: AbortSignal): Promise<Connection>;
  /** Every address of the name, by the system. */
  resolve: Resolver;
  /** IP addresses of this machine's network interfaces. */
  ownAddresses(): readonly string[];
  /** An HTTP client for one host, with one connection at a time. */
  http(target: HttpTarget): Dispatcher;
  readonly log: Logger;
}

/** From the most verbose level to the least. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
