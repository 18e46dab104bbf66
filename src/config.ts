// The option table of `paygate serve`: name, default, help, parser. Flags override the environment,
// and the environment overrides defaults. It never reads the process: the caller passes the values.

import {
  type Checkpoint,
  type NetworkName,
  networks,
  parseCheckpoint,
  parseNetworkName,
} from './bitcoin/network.ts';
import { maxMoneySat } from './bitcoin/transaction.ts';
import { type Proxies, parseProxyNetwork } from './domain/access/client-address.ts';
import type { Rate } from './domain/access/rate-limit.ts';
import { endpointDefinitions, listenOf } from './domain/delivery/endpoint-options.ts';
import {
  type EndpointOptions,
  type ListenAddress,
  letsEncrypt,
  parseDirectory,
  parseEmail,
  parseLoopback,
} from './domain/delivery/public-endpoint.ts';
import { scanGap } from './domain/store/allocation.ts';
import {
  fileOption,
  namedOption,
  type Option,
  type OptionDefinition,
  optional,
  parseChoice,
  parseCount,
  parseOneOf,
  parsePath,
  rateOption,
  readOption,
  single,
} from './domain/text/option.ts';
import {
  isSameHost,
  isSameServer,
  parseProxy,
  parseServerAddress,
  type ServerAddress,
} from './electrum/server-address.ts';
import { PaygateError, throwInvalid } from './lib/errors.ts';
import { type PriceSource, parsePriceSource } from './price/sources.ts';
import type { Rates } from './web/limits/request-limits.ts';
import { type LogLevel, logLevels, type SocksProxy } from './world/world.ts';

/** JSON for programs, or coloured text for people. */
const logFormats = ['json', 'pretty'] as const;
type LogFormat = (typeof logFormats)[number];

/** `own` asks only the sources of `--price-source`. */
const priceModes = ['on', 'off', 'own'] as const;
type PriceMode = (typeof priceModes)[number];

export interface Config extends EndpointOptions {
  readonly db: string;
  /** Undefined: the network of the database, or mainnet for a new one. */
  readonly network: NetworkName | undefined;
  /** Undefined: the checkpoint of the database, or the built-in one for a new database. */
  readonly checkpoint?: Checkpoint | undefined;
  /** Empty: the network's built-in list. */
  readonly electrum: readonly ServerAddress[];
  /** The only way to every Electrum server. */
  readonly proxy?: SocksProxy | undefined;
  /** Undefined: the default of an own server. */
  readonly electrumInFlight?: number | undefined;
  /** Satoshis. Above this amount the depth of a block's merkle tree is proven as well. */
  readonly proveDepthAbove: number;
  /** Passwords of the dashboard may travel by plain HTTP in the operator's own network. */
  readonly dashboardPlainHttp?: boolean | undefined;
  /** Read at the first start only. */
  readonly adminPasswordFile?: string | undefined;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxy: Proxies;
  /** Gap limit of the merchant's own wallet. */
  readonly walletGap: number;
  /** After this many unpaid addresses in a row, no address is issued; undefined: no limit. */
  readonly refuseGap: number | undefined;
  /** Whether the API shows balances of addresses that are not ours. */
  readonly foreignBalances: boolean;
  /** Requests of an API key; undefined: no limit. */
  readonly limitNewAddress: Rate | undefined;
  readonly limitBalance: Rate | undefined;
  readonly limitSearchHistory: Rate | undefined;
  readonly limitPrice: Rate | undefined;
  /** Requests of one IP address with an unknown key. */
  readonly limitUnknownKey: Rate | undefined;
  /** Undefined: off. */
  readonly price?: PriceMode | undefined;
  /** Added to the built-in sources, or used instead of them. */
  readonly priceSource?: readonly PriceSource[] | undefined;
  readonly logLevel: LogLevel;
  /** JSON by default. */
  readonly logFormat?: LogFormat | undefined;
  /** Listen address of `/metrics` for Prometheus; undefined: off. */
  readonly metricsListen?: ListenAddress | undefined;
}

type OptionDefinitions = { readonly [K in keyof Config]-?: OptionDefinition<Config[K]> };

const definitions: OptionDefinitions = {
  db: {
    value: 'file',
    help: 'database file',
    default: 'paygate.db',
    parse: single(parsePath),
  },
  listen: endpointDefinitions.listen,
  plainHttp: {
    value: 'choice',
    help: 'allow or refuse plain HTTP on an address that is not loopback; only for a network that only your proxy can reach',
    default: 'refuse',
    choices: ['allow', 'refuse'],
    parse: single(parseChoice),
  },
  tlsCert: fileOption('certificate and chain for HTTPS (PEM), reloaded when the file changes'),
  tlsKey: fileOption('key of that certificate (PEM)'),
  domain: endpointDefinitions.domain,
  acmeEmail: {
    value: 'address',
    help: 'your email address for the certificate authority',
    parse: optional(parseEmail),
  },
  acmeDirectory: {
    value: 'url',
    help: `directory URL of another ACME authority (default: ${letsEncrypt})`,
    parse: optional(parseDirectory),
  },
  acmeCa: fileOption(
    "root certificate of that authority's server (PEM), for an authority of your own",
  ),
  listenHttp: endpointDefinitions.listenHttp,
  network: {
    value: 'name',
    help: 'mainnet, testnet3, testnet4, signet or regtest; fixed for a database (default for a new one: mainnet)',
    choices: Object.keys(networks),
    parse: optional(parseNetworkName),
  },
  checkpoint: {
    value: 'height:hash',
    help: 'trusted block, at least 144 deep, from which headers are verified (default: built in; testnet3 has none)',
    parse: optional(parseCheckpoint),
  },
  electrum: {
    value: 'url',
    help: 'tcp://host:port or ssl://host:port[?pin=SHA256|?insecure|?own]; repeatable (default: public servers)',
    repeatable: true,
    parse: parseServers,
  },
  proxy: {
    value: 'url',
    help: 'socks5://[user:password@]host:port for all Electrum servers and .onion Callback URLs (Tor); the proxy resolves names',
    parse: optional(parseProxy),
  },
  electrumInFlight: {
    value: 'n',
    help: 'in-flight limit of requests to your own Electrum server (default: 100)',
    parse: optional(parseCount),
  },
  proveDepthAbove: {
    value: 'sat',
    help: "amount above which a block's coinbase must also prove the depth of its merkle tree",
    default: '10000000',
    parse: single(parseAmount),
  },
  publicUrl: {
    value: 'url',
    help: 'URL at which shops reach this paygate',
    parse: optional(parsePublicUrl),
  },
  trustedProxy: {
    value: 'address',
    help: 'address or network of a proxy whose X-Forwarded-For is trusted; repeatable (default: none)',
    repeatable: true,
    parse: (texts) => texts.map(parseProxyNetwork),
  },
  dashboardPlainHttp: {
    value: 'choice',
    help: 'allow or refuse the dashboard by plain HTTP from private addresses; everyone on that network can read the password',
    default: 'refuse',
    choices: ['allow', 'refuse'],
    parse: single(parseChoice),
  },
  adminPasswordFile: fileOption(
    'file with the first password of the dashboard, in place of PAYGATE_ADMIN_PASSWORD; not read once a password is set',
  ),
  walletGap: {
    value: 'n',
    help: "gap limit of the merchant's own wallet; /healthz warns before it is reached",
    default: String(scanGap),
    parse: single(parseCount),
  },
  refuseGap: {
    value: 'n',
    help: 'refuse new addresses after this many unpaid ones in a row (default: never)',
    parse: optional(parseCount),
  },
  foreignBalances: {
    value: 'choice',
    help: 'allow or refuse balances and histories of addresses that are not ours',
    default: 'refuse',
    choices: ['allow', 'refuse'],
    parse: single(parseChoice),
  },
  limitNewAddress: rateOption('300:100', 'new_address requests a minute, and at once, of a key'),
  limitBalance: rateOption('30', 'balance requests a minute of a key'),
  limitSearchHistory: rateOption('30', 'searchhistory requests a minute of a key'),
  limitPrice: rateOption('120', 'price requests a minute from one address'),
  limitUnknownKey: rateOption(
    '10',
    'requests a minute from one address with a wrong key, or for an address that is not ours',
  ),
  price: {
    value: 'mode',
    help: 'on (public sources), off, or own (only --price-source); queried for /api/price, for orders, and for stores and links with a currency',
    default: 'on',
    choices: priceModes,
    parse: single(parseOneOf(priceModes)),
  },
  priceSource: {
    value: 'url#path',
    help: 'price source: URL and path to the number, {CODE} for the currency, such as https://www.bitstamp.net/api/v2/ticker/btc{code}#last; repeatable',
    repeatable: true,
    parse: (texts) => texts.map((text) => parsePriceSource(text)),
  },
  logLevel: {
    value: 'level',
    help: logLevels.join(', '),
    default: 'info',
    choices: logLevels,
    parse: single(parseOneOf(logLevels)),
  },
  logFormat: {
    value: 'format',
    help: `${logFormats.join(' or ')}: log lines on standard error (default: pretty on a terminal, else json)`,
    choices: logFormats,
    parse: optional(parseOneOf(logFormats)),
  },
  metricsListen: {
    value: 'host:port',
    help: 'listen address of /metrics for Prometheus, such as 127.0.0.1:9090; loopback only (default: off)',
    parse: optional(parseLoopback),
  },
};

export type OptionName = keyof Config;
export const optionNames = Object.keys(definitions) as OptionName[];

export const options = Object.fromEntries(
  optionNames.map((name) => [name, namedOption(name, definitions[name])]),
) as Readonly<Record<OptionName, Option>>;

/** A first password without a file. It is no flag, because every user of a machine sees those. */
export const passwordVariable = 'PAYGATE_ADMIN_PASSWORD';

/** Environment variables named like options that do not exist, probably mistyped. */
export function unknownVariables(env: Record<string, string | undefined>): string[] {
  const known = new Set([passwordVariable, ...optionNames.map((name) => options[name].env)]);
  return Object.keys(env).filter((name) => name.startsWith('PAYGATE_') && !known.has(name));
}

/** Values of the command line by option. */
export type FlagValues = Partial<Record<OptionName, readonly string[]>>;

/**
 * @param flags values of the command line
 * @param env the process's environment
 * @throws PaygateError invalid, naming the flag or variable and what is wrong
 */
export function readConfig(flags: FlagValues, env: Record<string, string | undefined>): Config {
  const entries = optionNames.map((name) => [name, readOption(options[name], flags[name], env)]);
  const config = Object.fromEntries(entries) as Config;
  const hasListen = flags.listen !== undefined || Boolean(env[options.listen.env]);
  return Object.freeze({ ...config, listen: listenOf(config, hasListen) });
}

/** No server may occur twice, because the agreement of two servers counts as a cross-check. */
function parseServers(texts: readonly string[]): ServerAddress[] {
  const servers = texts.map((text) => parseServerAddress(text));
  const repeated = (isIt: (one: ServerAddress, other: ServerAddress) => boolean) =>
    servers.find((each, at) => servers.slice(0, at).some((one) => isIt(one, each)));
  const twice = repeated(isSameServer);
  if (twice !== undefined) {
    throw new PaygateError('invalid', `${twice.label} is named twice; name each server once`);
  }
  const byPorts = repeated((one, other) => isSameHost(one, other) && !(one.own && other.own));
  if (byPorts === undefined) return servers;
  throw new PaygateError(
    'invalid',
    `${byPorts.host} is named with two ports, which is most likely one server; ` +
      'name it once, or write ?own behind both where it is yours',
  );
}

/** A host alone, because pages, cookies and the shop's plugins begin at its root. */
function parsePublicUrl(text: string): string {
  // The text is not repeated with a password in it.
  if (text.includes('@')) throwInvalid('no user and no password in it: it is shown to everybody');
  const url = URL.parse(text);
  const isHost = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/.test(url?.hostname ?? '');
  if (url === null || !/^https?:$/.test(url.protocol) || !isHost) {
    return throwInvalid(`a URL such as https://pay.example.com expected, not "${text}"`);
  }
  if (`${url.origin}/` !== url.href) {
    throwInvalid(
      `${url.origin} alone expected, without a path: paygate needs a host name or a port of its own, ` +
        'such as https://pay.example.com, whose root its proxy forwards',
    );
  }
  if (/^(0\.0\.0\.0|\[::\])$/.test(url.hostname) || url.port === '0') {
    throwInvalid(`the address at which shops reach paygate expected, not "${text}"`);
  }
  return url.origin;
}

function parseAmount(text: string): number {
  const valueSat = Number(text);
  if (/^\d{1,16}$/.test(text) && valueSat <= maxMoneySat) return valueSat;
  throw new PaygateError(
    'invalid',
    `whole satoshis from 0 to ${maxMoneySat} expected, not "${text}"`,
  );
}

/** The options of the API. */
export const apiSettings = (config: Config) => ({
  rates: ratesOf(config),
  proxies: config.trustedProxy,
  walletGap: config.walletGap,
  refuseGap: config.refuseGap,
  foreignBalances: config.foreignBalances,
});

const ratesOf = (config: Config): Rates => ({
  newAddress: config.limitNewAddress,
  balance: config.limitBalance,
  searchHistory: config.limitSearchHistory,
  price: config.limitPrice,
  unknownKey: config.limitUnknownKey,
  unknownAddress: config.limitUnknownKey,
  // A plugin sets up one shop or a few.
  write: { perMinute: 60, burst: 120 },
});
