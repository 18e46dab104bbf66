// The public endpoint: plain HTTP, HTTPS with the operator's certificate files, or HTTPS with
// certificates from an authority (ACME). Parses its options and rejects unsafe combinations.

import { PaygateError, throwInvalid } from '../../lib/errors.ts';

/** A host and port to listen at; host `*` means every address of this machine. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface EndpointOptions {
  readonly listen: ListenAddress;
  readonly listenHttp?: ListenAddress | undefined;
  /** Plain HTTP may leave this machine. See docs/decisions/030. */
  readonly plainHttp?: boolean | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  /** HTTPS with ACME certificates for this name. */
  readonly domain?: string | undefined;
  readonly acmeEmail?: string | undefined;
  readonly acmeDirectory?: string | undefined;
  readonly acmeCa?: string | undefined;
  /** The URL at which shops and people reach paygate, if it is set. */
  readonly publicUrl: string | undefined;
}

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export interface AcmeOptions {
  readonly domain: string;
  readonly email: string | undefined;
  readonly directory: string;
  /** A PEM file with the only authorities that may certify the directory's own server. */
  readonly ca: string | undefined;
  /** Listens for the HTTP-01 challenge, which the authority sends to port 80 of the domain. */
  readonly listenHttp: ListenAddress;
}

export type PublicEndpoint =
  | { readonly kind: 'plain' }
  | ({ readonly kind: 'files' } & CertificateFiles)
  | ({ readonly kind: 'acme' } & AcmeOptions);

export const letsEncrypt = 'https://acme-v02.api.letsencrypt.org/directory';
export const httpsOnAllAddresses: ListenAddress = { host: '*', port: 443 };
const httpOnAllAddresses: ListenAddress = { host: '*', port: 80 };

/** @throws PaygateError invalid for options that contradict, or would expose keys to the network */
export function publicEndpointOf(options: EndpointOptions): PublicEndpoint {
  const { tlsCert: cert, tlsKey: key, domain, acmeEmail, acmeDirectory, acmeCa } = options;
  const refuse = (why: string): PaygateError => new PaygateError('invalid', why);
  if (domain === undefined) {
    const unused = Object.entries({
      acmeEmail,
      acmeDirectory,
      acmeCa,
      listenHttp: options.listenHttp,
    });
    const [name] = unused.find(([, value]) => value !== undefined) ?? [];
    if (name !== undefined) throw refuse(`${flagOf(name)}: needs --domain`);
  } else {
    if (cert !== undefined || key !== undefined) {
      throw refuse('--domain and --tls-cert: one of them, a certificate is fetched or given');
    }
    requireHttps(options);
    const directory = acmeDirectory ?? letsEncrypt;
    const listenHttp = options.listenHttp ?? httpOnAllAddresses;
    return { kind: 'acme', domain, email: acmeEmail, directory, ca: acmeCa, listenHttp };
  }
  if (cert !== undefined && key !== undefined) {
    requireHttps(options);
    return { kind: 'files', cert, key };
  }
  if (cert !== undefined) throw refuse('--tls-cert: needs --tls-key');
  if (key !== undefined) throw refuse('--tls-key: needs --tls-cert');
  if (!isLoopback(options.listen.host) && options.plainHttp !== true) {
    throw refuse(
      `--listen: ${options.listen.host} is not a loopback address, and plain HTTP there shows keys to ` +
        'everyone on the way. Use --domain, or --tls-cert and --tls-key, or a proxy on this machine; ' +
        '--plain-http allow if only a proxy of yours can reach it',
    );
  }
  return { kind: 'plain' };
}

function requireHttps({ publicUrl }: EndpointOptions): void {
  if (publicUrl?.startsWith('http:') !== true) return;
  throwInvalid('--public-url: must start with https://, because paygate serves HTTPS here');
}

/** The flag of an option: `--listen-http` for `listenHttp`. */
export const flagOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** The addresses at which paygate listens, the main one first. */
export const listenAddressesOf = ({
  listen,
  listenHttp,
  domain,
}: Pick<EndpointOptions, 'listen' | 'listenHttp' | 'domain'>): ListenAddress[] =>
  domain === undefined ? [listen] : [listen, listenHttp ?? httpOnAllAddresses];

/** An origin; undefined if it is not set. */
export const publicUrlOf = ({ publicUrl, domain }: EndpointOptions): string | undefined =>
  publicUrl ?? (domain === undefined ? undefined : `https://${domain}`);

/** The public URL, or else the URL at which this machine reaches paygate; an origin. */
export function baseUrlOf(options: EndpointOptions, port: number): string {
  const { tlsCert, listen } = options;
  const publicUrl = publicUrlOf(options);
  if (publicUrl !== undefined) return publicUrl;
  const host = listen.host === '*' ? 'localhost' : listen.host;
  return `${tlsCert === undefined ? 'http' : 'https'}://${hostAndPort({ host, port })}`;
}

/** `host:port` in the syntax of URLs. */
export const hostAndPort = ({ host, port }: ListenAddress): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** The host and port at which this machine reaches one of its own listen addresses. */
export function localTargetOf({ host, port }: ListenAddress): ListenAddress {
  if (host === '*' || host === '0.0.0.0') return { host: '127.0.0.1', port };
  return { host: host === '::' ? '::1' : host, port };
}

export const localAddressOf = (listen: ListenAddress): string => hostAndPort(localTargetOf(listen));

const loopback = /^(127(\.\d{1,3}){3}|::1|localhost)$/;

const isLoopback = (host: string): boolean => loopback.test(host);

/** @throws PaygateError invalid, also for an address that is not loopback */
export function parseLoopback(text: string): ListenAddress {
  const listen = parseListen(text);
  if (isLoopback(listen.host)) return listen;
  throw new PaygateError('invalid', `${listen.host} is not a loopback address`);
}

/** @throws PaygateError invalid */
export function parseListen(text: string): ListenAddress {
  const [, host, portText] = /^(\*|\[[0-9a-f:.]+\]|[^:[\]*\s]+):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(portText);
  if (host === undefined || port > 65_535) {
    throw new PaygateError('invalid', `host:port expected, such as 127.0.0.1:8080, not "${text}"`);
  }
  return { host: host.replace(/^\[|\]$/g, ''), port };
}

const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const domainName = new RegExp(`^(?=.{4,253}$)(${label}\\.)+(?=.*[a-z])${label}$`);

/** A name of the public DNS. @throws PaygateError invalid */
export function parseDomain(text: string): string {
  const name = text.toLowerCase();
  if (domainName.test(name)) return name;
  throw new PaygateError('invalid', `a name such as pay.example.com expected, not "${text}"`);
}

/** @throws PaygateError invalid */
export function parseEmail(text: string): string {
  if (/^[^\s@,?]{1,64}@[^\s@,?]{1,253}$/.test(text)) return text;
  throw new PaygateError('invalid', `an address such as you@example.com expected, not "${text}"`);
}

/** @throws PaygateError invalid */
export function parseDirectory(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.username || url?.password) {
    throwInvalid('an https URL of an ACME directory expected, without user and password');
  }
  if (url?.protocol === 'https:' && !url.hash) return url.href;
  throw new PaygateError('invalid', `an https URL of an ACME directory expected, not "${text}"`);
}
