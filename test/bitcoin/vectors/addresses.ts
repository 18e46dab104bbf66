// Addresses and their scripts. Segwit: the test vectors of BIP173 and BIP350. Base58: Bitcoin
// Core's src/test/data/key_io_valid.json.

import type { NetworkName } from '../../../src/bitcoin/network.ts';

interface Pair {
  readonly network: NetworkName;
  readonly address: string;
  readonly script: string;
}

export const validPairs: readonly Pair[] = [
  // BIP350 (those of version 0 are also BIP173's)
  {
    network: 'mainnet',
    address: 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4',
    script: '0014751e76e8199196d454941c45d1b3a323f1433bd6',
  },
  {
    network: 'testnet4',
    address: 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7',
    script: '00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262',
  },
  {
    network: 'mainnet',
    address: 'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y',
    script: '5128751e76e8199196d454941c45d1b3a323f1433bd6751e76e8199196d454941c45d1b3a323f1433bd6',
  },
  { network: 'mainnet', address: 'BC1SW50QGDZ25J', script: '6002751e' },
  {
    network: 'mainnet',
    address: 'bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs',
    script: '5210751e76e8199196d454941c45d1b3a323',
  },
  {
    network: 'testnet3',
    address: 'tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy',
    script: '0020000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433',
  },
  {
    network: 'signet',
    address: 'tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c',
    script: '5120000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433',
  },
  {
    network: 'mainnet',
    address: 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
    script: '512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
  },
  // Bitcoin Core
  {
    network: 'regtest',
    address: 'bcrt1qdavt4j2sd7dlhqsavtnfxvzppw6k7qy97tmnu9',
    script: '00146f58bac9506f9bfb821d62e69330410bb56f0085',
  },
  {
    network: 'mainnet',
    address: '1FsSia9rv4NeEwvJ2GvXrX7LyxYspbN2mo',
    script: '76a914a31c06bd463e3923bc1aadbde48b16976c08071788ac',
  },
  {
    network: 'mainnet',
    address: '36j4NfKv6Akva9amjWrLG6MuSQym1GuEmm',
    script: 'a914373b819a068f32b7a6b38b6b38729647cfde01c287',
  },
  {
    network: 'testnet4',
    address: 'mzK2FFDEhxqHcmrJw1ysqFkVyhUULo45hZ',
    script: '76a914ce28b26c57472737f5c3561a1761185bd8589a4388ac',
  },
  {
    network: 'signet',
    address: '2N1r7aC69VHeE7yQJPDLi9T1PYq4wnwvjuT',
    script: 'a9145e5a35ab44b3efaea5129ba22b88ba3e2976614587',
  },
  {
    network: 'regtest',
    address: 'n4fajahJrAuKbN7uNsKjLjQkz9Qn5ewJXQ',
    script: '76a914fdeca3b08e38af53d7c4c60e3ad208ce5066441088ac',
  },
];

/** What BIP173 and BIP350 say is wrong with each, and a part of what we say. */
export const invalidAddresses = [
  // BIP350
  {
    why: 'unknown human-readable part',
    address: 'tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut',
    refusal: 'unknown beginning',
  },
  {
    why: 'bech32 for version 1',
    address: 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd',
    refusal: 'wrong checksum',
  },
  {
    why: 'bech32 for version 2',
    address: 'tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf',
    refusal: 'wrong checksum',
  },
  {
    why: 'bech32 for version 16',
    address: 'BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL',
    refusal: 'wrong checksum',
  },
  {
    why: 'bech32m for version 0',
    address: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh',
    refusal: 'wrong checksum',
  },
  {
    why: 'bech32m for version 0, 32 bytes',
    address: 'tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47',
    refusal: 'wrong checksum',
  },
  {
    why: 'invalid character in the checksum',
    address: 'bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4',
    refusal: 'wrong characters or checksum',
  },
  {
    why: 'invalid witness version',
    address: 'BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R',
    refusal: 'unknown version',
  },
  { why: 'program of 1 byte', address: 'bc1pw5dgrnzv', refusal: 'wrong length' },
  {
    why: 'program of 41 bytes',
    address: 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav',
    refusal: 'wrong length',
  },
  {
    why: 'program length for version 0',
    address: 'BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P',
    refusal: 'wrong length',
  },
  {
    why: 'mixed case',
    address: 'tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq',
    refusal: 'wrong characters or checksum',
  },
  {
    why: 'zero padding of more than 4 bits',
    address: 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf',
    refusal: 'wrong padding',
  },
  {
    why: 'non-zero padding',
    address: 'tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j',
    refusal: 'wrong padding',
  },
  { why: 'empty data section', address: 'bc1gmk9yu', refusal: 'unknown version' },
  // BIP173, also those that it called valid before BIP350
  {
    why: 'BIP173: unknown human-readable part',
    address: 'tc1qw508d6qejxtdg4y5r3zarvary0c5xw7kg3g4ty',
    refusal: 'unknown beginning',
  },
  {
    why: 'BIP173: invalid checksum',
    address: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5',
    refusal: 'wrong characters or checksum',
  },
  {
    why: 'BIP173: invalid witness version',
    address: 'BC13W508D6QEJXTDG4Y5R3ZARVARY0C5XW7KN40WF2',
    refusal: 'unknown version',
  },
  {
    why: 'BIP173: program length, version 3',
    address: 'bc1rw5uspcuh',
    refusal: 'wrong checksum',
  },
  {
    why: 'BIP173: program length, version 15',
    address: 'bc10w508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kw5rljs90',
    refusal: 'wrong checksum',
  },
  {
    why: 'BIP173: mixed case',
    address: 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sL5k7',
    refusal: 'wrong characters or checksum',
  },
  {
    why: 'BIP173: zero padding of more than 4 bits',
    address: 'bc1zw508d6qejxtdg4y5r3zarvaryvqyzf3du',
    refusal: 'wrong checksum',
  },
  {
    why: 'BIP173: non-zero padding, version 0',
    address: 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3pjxtptv',
    refusal: 'wrong padding',
  },
  {
    why: 'BIP173: version 1 in bech32',
    address: 'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7k7grplx',
    refusal: 'wrong checksum',
  },
  { why: 'BIP173: version 16 in bech32', address: 'BC1SW50QA3JX3S', refusal: 'wrong checksum' },
  {
    why: 'BIP173: version 2 in bech32',
    address: 'bc1zw508d6qejxtdg4y5r3zarvaryvg6kdaj',
    refusal: 'wrong checksum',
  },
  // Bitcoin Core's key_io_invalid.json
  { why: 'empty', address: '', refusal: 'wrong characters or checksum' },
  { why: 'one letter', address: 'x', refusal: 'wrong characters or checksum' },
  {
    why: 'Base58 with another version byte',
    address: 'AZEah8d1EK362okRBS66e8SvdtYkrE8tsX',
    refusal: 'unknown beginning',
  },
  {
    why: 'Base58 that is too long',
    address: '1GAdfviErV2Ew95FPtZyikz2qGP3gyCB6Hyu94sedAkPpA523m3fQwps9YKUZkKgQckGPKhRsFR',
    refusal: 'wrong length',
  },
];
