// Which server an address names and whether the certificate it shows is enough. Pure: what was learnt
// of a server comes in as a value, what is learnt now goes out as one; the store keeps it.
// A certificate that validates makes validation required from then on; a self-signed one is pinned by
// its SHA-256 at first use, and a changed one refused. An explicit pin stands above both.

import ipaddr from 'ipaddr.js';
import { faultText } from '../domain/network-error.ts';
import type { Trust } from '../domain/server-record.ts';
import { PaygateError } from '../lib/errors.ts';
import type { PeerCertificate } from '../world/world.ts';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** The only certificate accepted: SHA-256 over its DER, lower-case hex. */
  readonly pin?: string;
  /** Any certificate is accepted; for tests. */
  readonly insecure?: boolean;
  /** The operator's own, which may be asked as fast as it answers; a public one is spared. */
  readonly own: boolean;
  /** What the server is called in logs, pages and the store: `ssl://host:port`. */
  readonly label: string;
}

export type Judgement =
  | { readonly accept: true; readonly learn?: Trust }
  | {
      readonly accept: false;
      readonly reason: string;
      /** SHA-256 of the certificate, where a person can accept it. */
      readonly shown?: string;
    };

/** Names that never lead to the public Internet: RFC 6761, 6762, 8375, and what ICANN reserved in 2024. */
const ownNames = /(^|\.)(localhost|local|internal|home\.arpa)$/;
const ownRanges = new Set(['loopback', 'private', 'linkLocal', 'uniqueLocal']);

interface Choices {
  pin?: string;
  insecure?: boolean;
  own?: boolean;
}

/**
 * Reads `tcp://host:port` or `ssl://host:port`, and behind a `?`, joined by `&`: `own`, and for ssl
 * either `pin=SHA256` or `insecure`. A private address and a local name are the operator's own anyway.
 * @throws PaygateError invalid, saying what to write instead
 */
export function parseServerAddress(text: string): ServerAddress {
  const refuse = (why: string): PaygateError =>
    new PaygateError('invalid', `Electrum server "${text}": ${why}`);
  const parts = /^(tcp|ssl):\/\/(\[[^\]]*\]|[^:/?#[\]]*)(?::([0-9]*))?(?:\?(.*))?$/i.exec(text);
  if (parts === null) throw refuse('write tcp://host:port or ssl://host:port');
  const [, scheme = '', bracketed = '', portText = '', choice] = parts;
  const host = parseHost(bracketed);
  if (host === undefined) throw refuse('the host is not a name, an IPv4 or an [IPv6] address');
  const port = Number(portText);
  if (portText === '') throw refuse('the port is missing (there is no default)');
  if (port < 1 || port > 65_535) throw refuse('the port is not between 1 and 65535');
  const tls = scheme.toLowerCase() === 'ssl';
  const choices = choice === undefined ? {} : parseChoices(choice, tls, refuse);
  return {
    host,
    port,
    tls,
    own: isOwn(host),
    label: `${tls ? 'ssl' : 'tcp'}://${bracketed.toLowerCase()}:${port}`,
    ...choices,
  };
}

function parseChoices(text: string, tls: boolean, refuse: (why: string) => PaygateError): Choices {
  const choices: Choices = {};
  for (const choice of text.split('&')) {
    if (choice !== 'own' && !tls) throw refuse(`?${choice} is for ssl:// only`);
    const [, pin] = /^pin=([0-9a-f]{64})$/i.exec(choice.replaceAll(':', '')) ?? [];
    if (choice === 'own' && !choices.own) choices.own = true;
    else if (choices.pin !== undefined || choices.insecure) throw refuse('one choice too many');
    else if (choice === 'insecure') choices.insecure = true;
    else if (pin !== undefined) choices.pin = pin.toLowerCase();
    else throw refuse('write ?pin= and the 64 hex digits of the SHA-256, ?insecure or ?own');
  }
  return choices;
}

function isOwn(host: string): boolean {
  if (ipaddr.isValid(host)) return ownRanges.has(ipaddr.process(host).range());
  return ownNames.test(host) || !host.includes('.');
}

/** Whether two are one server, however its host is spelled. */
export const isSame = (one: ServerAddress, other: ServerAddress): boolean =>
  one.tls === other.tls && one.port === other.port && isOnHostOf(one, other);

export function isOnHostOf({ host }: ServerAddress, other: ServerAddress): boolean {
  const spelled = (name: string): string =>
    ipaddr.isValid(name) ? ipaddr.process(name).toString() : name.replace(/\.$/, '');
  return spelled(host) === spelled(other.host);
}

/** Whether two names are of one domain, and most likely of one operator: as far as its last two parts say. */
export function isKin({ host }: ServerAddress, other: ServerAddress): boolean {
  const domainOf = (name: string): string => name.split('.').slice(-2).join('.');
  return domainOf(host) === domainOf(other.host);
}

/** Decides on the certificate of a connection; `known` is what was learnt of this server before. */
export function judge(
  certificate: PeerCertificate | undefined,
  address: ServerAddress,
  known: Trust | undefined,
): Judgement {
  if (!address.tls || address.insecure) return { accept: true };
  if (certificate === undefined) return refuse('it shows no certificate');
  const { valid, sha256, fault = '' } = certificate;
  if (address.pin !== undefined) {
    return sha256 === address.pin ? { accept: true } : refuse(changed(sha256, address.pin));
  }
  if (valid) return known?.kind === 'valid' ? { accept: true } : learn({ kind: 'valid' });
  if (known === undefined) return learn({ kind: 'pinned', sha256 });
  if (known.kind === 'valid') {
    const why = faultText(fault, true) ?? (fault || 'it does not validate');
    const reason = `its certificate validated before and no longer does (${why})`;
    return { ...refuse(`${reason}; it has the SHA-256 ${sha256}`), shown: sha256 };
  }
  if (sha256 === known.sha256) return { accept: true };
  return { ...refuse(changed(sha256, known.sha256)), shown: sha256 };
}

/** A certificate that was refused: its SHA-256, undefined where the pin is an option of the operator. */
export interface Refused {
  readonly shown: string | undefined;
}

/** Whether a person has accepted it since, or what was known is forgotten. */
export const isAccepted = ({ shown }: Refused, known: Trust | undefined): boolean =>
  known === undefined || (known.kind === 'pinned' && known.sha256 === shown);

const learn = (trust: Trust): Judgement => ({ accept: true, learn: trust });

const refuse = (reason: string) => ({ accept: false, reason }) as const;

const changed = (shown: string, pinned: string): string =>
  `its certificate has the SHA-256 ${shown}, pinned is ${pinned}`;

/** A name, an IPv4 or an [IPv6] address, as Node takes it; undefined when it is none of them. */
export function parseHost(bracketed: string): string | undefined {
  if (bracketed.startsWith('[')) {
    const host = bracketed.slice(1, -1).toLowerCase();
    return host.includes(':') && URL.canParse(`tcp://${bracketed}`) ? host : undefined;
  }
  return /^[a-z0-9_][a-z0-9._-]{0,252}$/i.test(bracketed) ? bracketed.toLowerCase() : undefined;
}
