// The options that say at which addresses paygate listens. `paygate health` reads them alone.

import {
  namedOption,
  type Option,
  type OptionDefinition,
  optional,
  readOption,
  single,
} from '../text/option.ts';
import {
  type EndpointOptions,
  httpsOnAllAddresses,
  type ListenAddress,
  parseDomain,
  parseListen,
} from './public-endpoint.ts';

/** The part of the endpoint that says where it listens. */
export type Listening = Pick<EndpointOptions, 'listen' | 'listenHttp' | 'domain'>;

export const endpointDefinitions: {
  readonly [K in keyof Listening]-?: OptionDefinition<Listening[K]>;
} = {
  listen: {
    value: 'host:port',
    help: 'listen address; * means every address of this machine (default with --domain: *:443)',
    default: '127.0.0.1:8080',
    parse: single(parseListen),
  },
  domain: {
    value: 'name',
    help: "domain name for HTTPS; paygate fetches and renews its certificates; you agree to the authority's terms",
    parse: optional(parseDomain),
  },
  listenHttp: {
    value: 'host:port',
    help: 'listen address for the challenge of the authority, which it sends to port 80 (default: *:80 with --domain)',
    parse: optional(parseListen),
  },
};

export const listenOf = (
  { listen, domain }: Pick<EndpointOptions, 'listen' | 'domain'>,
  isGiven: boolean,
): ListenAddress => (domain !== undefined && !isGiven ? httpsOnAllAddresses : listen);

/**
 * @param flag the value of `--listen`
 * @throws PaygateError invalid, naming the flag or variable and what is wrong
 */
export function readListening(
  flag: string | undefined,
  env: Record<string, string | undefined>,
): Listening {
  const option = (name: keyof Listening): Option => namedOption(name, endpointDefinitions[name]);
  const read = (name: keyof Listening, texts?: string[]) => readOption(option(name), texts, env);
  const config = {
    listen: read('listen', flag === undefined ? undefined : [flag]),
    domain: read('domain'),
    listenHttp: read('listenHttp'),
  } as Listening;
  const isGiven = flag !== undefined || Boolean(env[option('listen').env]);
  return { ...config, listen: listenOf(config, isGiven) };
}
