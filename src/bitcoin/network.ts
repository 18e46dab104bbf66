// The parameters of the Bitcoin networks: addresses, genesis block, checkpoint, difficulty. Data
// only: header.ts and address.ts have the rules.
// Sources: Bitcoin Core's src/kernel/chainparams.cpp, BIP94 (testnet4), BIP325 (signet).

import { hexToBytes } from '@noble/hashes/utils.js';
import { PaygateError } from '../lib/errors.ts';
import { type BlockHash, parseBlockHash } from './ids.ts';

export type NetworkName = 'mainnet' | 'testnet3' | 'testnet4' | 'signet' | 'regtest';

/** A trusted block, from which headers are verified. */
export interface Checkpoint {
  readonly height: number;
  readonly hash: BlockHash;
}

export interface Network {
  readonly name: NetworkName;
  /** Human-readable part of segwit addresses (BIP173). */
  readonly hrp: string;
  /** Version bytes of Base58Check addresses. */
  readonly p2pkh: number;
  readonly p2sh: number;
  readonly genesisHash: BlockHash;
  /** The 80 bytes that hash to `genesisHash`. */
  readonly genesisHeader: Uint8Array;
  /** The built-in checkpoint; without one the operator must set it. */
  readonly checkpoint?: Checkpoint;
  /** The target of the minimum difficulty, as compact bits. */
  readonly powLimitBits: number;
  /** The difficulty rule: see `expectedBits`. */
  readonly retarget: 'bitcoin' | 'testnet3' | 'testnet4' | 'none';
}

const mainAddresses = { hrp: 'bc', p2pkh: 0x00, p2sh: 0x05 };
const testAddresses = { hrp: 'tb', p2pkh: 0x6f, p2sh: 0xc4 };

/** The genesis header of a merkle root. @param rest time, bits and nonce in hex */
const genesisHeader = (root: string, rest: string) =>
  hexToBytes(`01000000${'00'.repeat(32)}${root}${rest}`);

/** The coinbase of the genesis block of all networks before testnet4. */
const bitcoinGenesisRoot = '3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a';
const testnet4Root = '4e7b2b9128fe0291db0693af2ae418b767e657cd407e80cb1434221eaea7a07a';

const checkpoint = (height: number, hash: string): Checkpoint => ({
  height,
  hash: parseBlockHash(hash),
});

const regtestGenesis = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';

/** The network of a new database without `--network`. */
export const defaultNetwork: NetworkName = 'mainnet';

export const networks: Readonly<Record<NetworkName, Network>> = {
  mainnet: {
    name: 'mainnet',
    ...mainAddresses,
    genesisHash: parseBlockHash('000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f'),
    genesisHeader: genesisHeader(bitcoinGenesisRoot, '29ab5f49ffff001d1dac2b7c'),
    checkpoint: checkpoint(
      963_647,
      '00000000000000000000d29ee44c13e924c37abcaa80c537609ce70b1fea1f33',
    ),
    powLimitBits: 0x1d00ffff,
    retarget: 'bitcoin',
  },
  testnet3: {
    name: 'testnet3',
    ...testAddresses,
    genesisHash: parseBlockHash('000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943'),
    genesisHeader: genesisHeader(bitcoinGenesisRoot, 'dae5494dffff001d1aa4ae18'),
    powLimitBits: 0x1d00ffff,
    retarget: 'testnet3',
  },
  testnet4: {
    name: 'testnet4',
    ...testAddresses,
    genesisHash: parseBlockHash('00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043'),
    genesisHeader: genesisHeader(testnet4Root, '046f3566ffff001dbb0c7817'),
    checkpoint: checkpoint(
      149_183,
      '00000000007899e1a91526d0258948b023f565a35fe0b0d2f9c898a39906495b',
    ),
    powLimitBits: 0x1d00ffff,
    retarget: 'testnet4',
  },
  signet: {
    name: 'signet',
    ...testAddresses,
    genesisHash: parseBlockHash('00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6'),
    genesisHeader: genesisHeader(bitcoinGenesisRoot, '008f4d5fae77031e8ad22203'),
    checkpoint: checkpoint(
      316_511,
      '00000008e8fedfedb4370fd91bd5e9003b72224da9565ddce09149a7d253fc4a',
    ),
    powLimitBits: 0x1e0377ae,
    // A signet block also has a signature in its coinbase (BIP325). Headers do not contain it, so
    // only the low proof of work is verified.
    retarget: 'bitcoin',
  },
  regtest: {
    name: 'regtest',
    ...testAddresses,
    hrp: 'bcrt',
    genesisHash: parseBlockHash(regtestGenesis),
    genesisHeader: genesisHeader(bitcoinGenesisRoot, 'dae5494dffff7f2002000000'),
    checkpoint: checkpoint(0, regtestGenesis),
    powLimitBits: 0x207fffff,
    retarget: 'none',
  },
};

/**
 * @throws PaygateError invalid, naming the networks
 */
export function parseNetworkName(text: string): NetworkName {
  if (Object.hasOwn(networks, text)) return text as NetworkName;
  if (text === 'testnet') {
    throw new PaygateError('invalid', 'there are two test networks: say testnet3 or testnet4');
  }
  const known = Object.keys(networks).join(', ');
  throw new PaygateError('invalid', `unknown network: it must be one of ${known}`);
}

/**
 * @param text `HEIGHT:HASH`, the hash in display order
 * @throws PaygateError invalid
 */
export function parseCheckpoint(text: string): Checkpoint {
  const [, height = '', hash = ''] = /^(\d{1,8}):([0-9a-f]{64})$/i.exec(text) ?? [];
  if (hash === '') {
    throw new PaygateError(
      'invalid',
      `HEIGHT:HASH expected, a block's height and its hash of 64 hex digits, not "${text}"`,
    );
  }
  return checkpoint(Number(height), hash.toLowerCase());
}

export const formatCheckpoint = ({ height, hash }: Checkpoint): string => `${height}:${hash}`;
