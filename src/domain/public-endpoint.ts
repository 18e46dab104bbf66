// How the outside reaches paygate: plain HTTP, HTTPS with files of the operator's, or HTTPS with
// certificates that an authority gives by itself (ACME). Pure: what the options say, and which of it
// must not be.

import { PaygateError } from '../lib/errors.ts';

/** `*` as host is every address of this machine. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface EndpointOptions {
  readonly listen: ListenAddress;
  readonly listenHttp?: ListenAddress | undefined;
  /** Plain HTTP may leave this machine. */
  readonly plainHttp?: boolean | undefined;
  /** HTTPS with a certificate of the operator's. */
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  /** HTTPS with certificates that an authority gives for this name (ACME). */
  readonly domain?: string | undefined;
  readonly acmeEmail?: string | undefined;
  readonly acmeDirectory?: string | undefined;
  readonly acmeCa?: string | undefined;
  /** How the outside reaches us; undefined until the merchant says so. */
  readonly publicUrl: string | undefined;
}

/** Paths of PEM files: the certificate with its chain, and its key. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** What an authority needs to know (RFC 8555). */
export interface AcmeOptions {
  readonly domain: string;
  readonly email: string | undefined;
  readonly directory: string;
  /** A PEM file: the only authorities believed to vouch for the directory's own server. */
  readonly ca: string | undefined;
  /** Where the authority asks whether the domain is ours; it always comes to port 80 of it. */
  readonly listenHttp: ListenAddress;
}

export type PublicEndpoint =
  | { readonly kind: 'plain' }
  | ({ readonly kind: 'files' } & CertificateFiles)
  | ({ readonly kind: 'acme' } & AcmeOptions);

export const letsEncrypt = 'https://acme-v02.api.letsencrypt.org/directory';
export const httpsOnAllAddresses: ListenAddress = { host: '*', port: 443 };
const httpOnAllAddresses: ListenAddress = { host: '*', port: 80 };

/** @throws PaygateError invalid for what contradicts itself, or would show keys to the network */
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
    const directory = acmeDirectory ?? letsEncrypt;
    const listenHttp = options.listenHttp ?? httpOnAllAddresses;
    return { kind: 'acme', domain, email: acmeEmail, directory, ca: acmeCa, listenHttp };
  }
  if (cert !== undefined && key !== undefined) return { kind: 'files', cert, key };
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

/** What a command line calls an option: `--listen-http` for `listenHttp`. */
export const flagOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Where it answers on this machine, the main door first. */
export const listenAddressesOf = ({
  listen,
  listenHttp,
  domain,
}: EndpointOptions): ListenAddress[] =>
  domain === undefined ? [listen] : [listen, listenHttp ?? httpOnAllAddresses];

/** How the outside reaches us, without a slash at the end; undefined where nobody has said so. */
export const publicUrlOf = ({ publicUrl, domain }: EndpointOptions): string | undefined =>
  publicUrl ?? (domain === undefined ? undefined : `https://${domain}`);

/** How a person on this machine writes where paygate answers, without a slash at the end. */
export function baseUrlOf(options: EndpointOptions, port: number): string {
  const { tlsCert, listen } = options;
  const publicUrl = publicUrlOf(options);
  if (publicUrl !== undefined) return publicUrl;
  const host = listen.host === '*' ? 'localhost' : listen.host;
  return `${tlsCert === undefined ? 'http' : 'https'}://${hostAndPort({ host, port })}`;
}

/** As a URL has it. */
export const hostAndPort = ({ host, port }: ListenAddress): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** Where this machine reaches a door of its own: one that is open everywhere has no such address. */
export function localAddressOf({ host, port }: ListenAddress): string {
  if (host === '*' || host === '0.0.0.0') return `127.0.0.1:${port}`;
  return hostAndPort({ host: host === '::' ? '::1' : host, port });
}

const loopback = /^(127(\.\d{1,3}){3}|::1|localhost)$/;

const isLoopback = (host: string): boolean => loopback.test(host);

/** @throws PaygateError invalid, for an address that is not loopback too */
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
  if (url?.protocol === 'https:' && !url.username && !url.hash) return url.href;
  throw new PaygateError('invalid', `an https URL of an ACME directory expected, not "${text}"`);
}
