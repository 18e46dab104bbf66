// Public Electrum servers of long standing, used where the operator names none. All speak TLS; the
// list is a part of the one that Electrum itself carries.

import type { NetworkName } from '../bitcoin/network.ts';
import { parseServerAddress, type ServerAddress } from './trust.ts';

const mainnet = [
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

/** Empty where a network has no servers that we would name. */
export const builtInServers = (network: NetworkName): readonly ServerAddress[] =>
  network === 'mainnet' ? mainnet.map(parseServerAddress) : [];
