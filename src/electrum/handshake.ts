// The first words with a server: the version agreed on, then whether it serves our network.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#version-negotiation

import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Channel } from './channel.ts';
import { invalid, RequestError, ServerError } from './framing.ts';
import type { Call } from './request.ts';
import { isNoAnswer } from './unanswered.ts';
import {
  methods,
  offeredVersions,
  type ProtocolVersion,
  parseFeatures,
  parseHeaders,
  parseOneHeader,
  parseServerVersion,
  type ServerVersion,
} from './wire.ts';

const clientName = 'paygate';
const largeFromHeaders = 7;
/** Asked for one by one, where a server gives no run of headers. */
const maxSingly = 50;

/** The version first, as protocol 1.6 demands; then whether the server serves our network. */
export async function shakeHands(
  channel: Channel,
  genesisHash: BlockHash,
  tls: boolean,
): Promise<ServerVersion> {
  const greeting = await channel
    .request({
      method: methods.version,
      params: [clientName, offeredVersions],
      parse: parseServerVersion,
    })
    .catch((error) => {
      throw tls || error instanceof ServerError ? error : withScheme(error);
    });
  if ((await genesisOf(channel, greeting.version)) !== genesisHash) {
    throw invalid('the genesis block of another network');
  }
  return greeting;
}

/** A port that gives no Electrum server's answer may speak TLS. */
function withScheme(error: unknown): unknown {
  if (!(error instanceof PaygateError)) return error;
  const { code, message } = error;
  return new PaygateError(
    code,
    `${message}; if this port speaks TLS, write ssl:// instead of tcp://`,
  );
}

/** By `server.features`, or by the first header where a server keeps those to itself (esplora, electrs before 0.9). */
async function genesisOf(channel: Channel, version: ProtocolVersion): Promise<BlockHash> {
  try {
    const features = await channel.request({
      method: methods.features,
      params: [],
      parse: parseFeatures,
    });
    if (features.hashFunction !== 'sha256') throw invalid('another hash function than SHA-256');
    return features.genesisHash;
  } catch (error) {
    if (!isNoAnswer(error)) throw error;
    return firstHash(channel, version, error);
  }
}

async function firstHash(
  channel: Channel,
  version: ProtocolVersion,
  { message: before }: RequestError,
): Promise<BlockHash> {
  try {
    const [first] = await askHeaders(channel, 0, 1, version);
    if (first === undefined) throw invalid('a chain without a first header');
    return parseHeader(first).hash;
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    const { code, message } = error;
    const request = error instanceof RequestError ? error.request : methods.headers;
    throw new RequestError(code, `${message}; and before that, ${before}`, request);
  }
}

/** Raw headers from a height on, as of a session; one by one where the server gives them in no other way. */
export async function askHeaders(
  channel: Channel,
  start: number,
  count: number,
  version: ProtocolVersion,
): Promise<readonly Uint8Array[]> {
  try {
    return await channel.request(headersCall(start, count, version));
  } catch (error) {
    if (!isNoAnswer(error)) throw error;
    const heights = Array.from({ length: Math.min(count, maxSingly) }, (_, at) => start + at);
    const singly = heights.map((height) => channel.request(headerCall(height)));
    return Promise.all(singly).catch((failure) => {
      throw isNoAnswer(failure) ? error : failure;
    });
  }
}

const headerCall = (height: number): Call<Uint8Array> => ({
  method: methods.header,
  params: [height],
  parse: parseOneHeader,
});

export const headersCall = (
  start: number,
  count: number,
  version: ProtocolVersion = '1.4',
): Call<readonly Uint8Array[]> => ({
  method: methods.headers,
  params: [start, count],
  parse: (answer) => parseHeaders(answer, version, count),
  large: count >= largeFromHeaders,
  headers: count,
});
