// The first words with a server: the version agreed on, then whether it serves our network.
// https://electrum-protocol.readthedocs.io/en/latest/protocol-basics.html#version-negotiation

import { parseHeader } from '../bitcoin/header.ts';
import type { BlockHash } from '../bitcoin/ids.ts';
import type { Channel } from './channel.ts';
import { invalid, ServerError } from './framing.ts';
import type { Call } from './request.ts';
import {
  methods,
  offeredVersions,
  type ProtocolVersion,
  parseFeatures,
  parseHeaders,
  parseServerVersion,
  type ServerVersion,
} from './wire.ts';

const clientName = 'paygate';
const largeFromHeaders = 7;

/** The version first, as protocol 1.6 demands; then whether the server serves our network. */
export async function shakeHands(channel: Channel, genesisHash: BlockHash): Promise<ServerVersion> {
  const greeting = await channel.request({
    method: methods.version,
    params: [clientName, offeredVersions],
    parse: parseServerVersion,
  });
  if ((await genesisOf(channel, greeting.version)) !== genesisHash) {
    throw invalid('the genesis block of another network');
  }
  return greeting;
}

/** By `server.features`, or by the first header where a server keeps those to itself (esplora). */
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
    if (!(error instanceof ServerError)) throw error;
    const [first] = await channel.request(headersCall(0, 1, version));
    if (first === undefined) throw invalid('a chain without a first header');
    return parseHeader(first).hash;
  }
}

export const headersCall = (
  start: number,
  count: number,
  version: ProtocolVersion,
): Call<readonly Uint8Array[]> => ({
  method: methods.headers,
  params: [start, count],
  parse: (answer) => parseHeaders(answer, version, count),
  large: count >= largeFromHeaders,
  headers: count,
});
