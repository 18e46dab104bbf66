// Public Electrum servers of long standing, used where the operator names none. All speak TLS; the
// lists are parts of those that Electrum itself carries.

import type { NetworkName } from '../bitcoin/network.ts';
import { parseServerAddress, type ServerAddress } from './trust.ts';

const mainnet: readonly string[] = [
  'ssl://electrum.blockstream.info:50002',
  'ssl://blockstream.info:700',
  'ssl://electrum.emzy.de:50002',
  'ssl://electrum.bitaroo.net:50002',
  'ssl://electrum.hsmiths.com:50002',
  'ssl://electrum.jochen-hoenicke.de:50006',
  'ssl://electrum.qtornado.com:50002',
  'ssl://fortress.qtornado.com:443',
  'ssl://bitcoin.lu.ke:50002',
  'ssl://bitcoin.aranguren.org:50002',
  'ssl://fulcrum.grey.pw:51002',
  'ssl://btc.electroncash.dk:60002',
  'ssl://tardis.bauerj.eu:50002',
];

const testnet3: readonly string[] = [
  'ssl://electrum.blockstream.info:60002',
  'ssl://blockstream.info:993',
  'ssl://blackie.c3-soft.com:57006',
  'ssl://testnet.aranguren.org:51002',
  'ssl://testnet.qtornado.com:51002',
];

const testnet4: readonly string[] = [
  'ssl://mempool.space:40002',
  'ssl://blackie.c3-soft.com:57010',
  'ssl://testnet4-electrumx.wakiyamap.dev:51002',
];

const signet: readonly string[] = [
  'ssl://mempool.space:60602',
  'ssl://electrum.emzy.de:53002',
  'ssl://signet-electrumx.wakiyamap.dev:50002',
];

const lists: Readonly<Record<NetworkName, readonly string[]>> = {
  mainnet,
  testnet3,
  testnet4,
  signet,
  regtest: [],
};

/** Empty where a network has no servers that we would name. */
export const builtInServers = (network: NetworkName): readonly ServerAddress[] =>
  lists[network].map(parseServerAddress);
