import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addressToScript,
  scriptForKey,
  scripthash,
  scriptToAddress,
} from '../../src/bitcoin/address.ts';
import { type Network, type NetworkName, networks } from '../../src/bitcoin/network.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { invalidAddresses, validPairs } from './vectors/addresses.ts';

/** The network that a test address claims by its first letters. */
function claimed(address: string): Network {
  const lower = address.toLowerCase();
  return networks[lower.startsWith('tb') ? 'testnet4' : 'mainnet'];
}

describe('vectors', () => {
  test.each(validPairs)('$address', ({ network, address, script }) => {
    expect(bytesToHex(addressToScript(address, networks[network]))).toBe(script);
    const segwit = address.toLowerCase().match(/^(bc|tb|bcrt)1/);
    const canonical = segwit ? address.toLowerCase() : address;
    expect(scriptToAddress(hexToBytes(script), networks[network])).toBe(canonical);
  });

  test.each(invalidAddresses)('refuses $why', ({ address, refusal }) => {
    const parse = () => addressToScript(address, claimed(address));
    expect(parse).toThrow(PaygateError);
    expect(parse).toThrow(refusal);
  });

  test('the key of the BIP173 examples, by every type', () => {
    const generator = hexToBytes(
      '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    );
    const at = (type: Parameters<typeof scriptForKey>[1]) =>
      bytesToHex(scriptForKey(generator, type));
    expect(at('p2pkh')).toBe('76a914751e76e8199196d454941c45d1b3a323f1433bd688ac');
    expect(at('p2wpkh')).toBe('0014751e76e8199196d454941c45d1b3a323f1433bd6');
    expect(at('p2sh-p2wpkh')).toBe('a914bcfeb728b584253d5f3f70bcb780e9ef218a68f487');
  });

  test('BIP86: internal key to output key', () => {
    const internal = hexToBytes(
      '02cc8a4bc64d897bddc5fbc2f670f7a8ba0b386779106cf1223c6fc5d7cd6fc115',
    );
    const output = '5120a60869f0dbcf1dc659c9cecbaf8050135ea9e8cdc487053f1dc6880949dc684c';
    expect(bytesToHex(scriptForKey(internal, 'p2tr'))).toBe(output);
    // Only the x coordinate counts.
    expect(bytesToHex(scriptForKey(Uint8Array.of(3, ...internal.slice(1)), 'p2tr'))).toBe(output);
  });

  test("scripthash: the Electrum protocol's own example, the genesis coinbase", () => {
    const script = hexToBytes('76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac');
    expect(addressToScript('1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', networks.mainnet)).toEqual(script);
    expect(scripthash(script)).toBe(
      '8b01df4e368ea28f8dc0423bcf7a4923e3a12d307c875e47a0cfbf90b5c39161',
    );
  });
});

describe('another network', () => {
  const cases: [NetworkName, string, string][] = [
    ['testnet4', 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu', 'is of mainnet, not of testnet4'],
    ['mainnet', 'bcrt1qdavt4j2sd7dlhqsavtnfxvzppw6k7qy97tmnu9', 'is of regtest, not of mainnet'],
    [
      'regtest',
      'tb1qcrh3yqn4nlleplcez2yndq2ry8h9ncg3qh7n54',
      'is of testnet3 or testnet4 or signet',
    ],
    ['signet', '1FsSia9rv4NeEwvJ2GvXrX7LyxYspbN2mo', 'is of mainnet, not of signet'],
    ['mainnet', '2N1r7aC69VHeE7yQJPDLi9T1PYq4wnwvjuT', 'or regtest, not of mainnet'],
  ];
  test.each(cases)('%s refuses %s', (network, address, refusal) => {
    expect(() => addressToScript(address, networks[network])).toThrow(refusal);
  });

  test('test networks share their addresses, except regtest with bech32', () => {
    const address = 'tb1qcrh3yqn4nlleplcez2yndq2ry8h9ncg3qh7n54';
    for (const name of ['testnet3', 'testnet4', 'signet'] as const) {
      expect(addressToScript(address, networks[name])).toHaveLength(22);
    }
  });
});

describe('bounds', () => {
  test.each([
    ['nothing', ''],
    ['an OP_RETURN', '6a0568656c6c6f'],
    ['a bare public key', `21${'02'.repeat(33)}ac`],
    ['P2PKH without its end', `76a914${'11'.repeat(20)}88`],
    ['P2PKH with another end', `76a914${'11'.repeat(20)}88ad`],
    ['P2SH with another end', `a914${'11'.repeat(20)}88`],
    ['P2SH with one byte more', `a914${'11'.repeat(21)}87`],
    ['P2PKH with one byte more', `76a914${'11'.repeat(21)}88ac`],
    ['version 0 with 24 bytes', `0018${'11'.repeat(24)}`],
    ['version 0 with 19 bytes', `0013${'11'.repeat(19)}`],
    ['version 1 with 41 bytes', `5129${'11'.repeat(41)}`],
    ['version 1 with one byte', '510111'],
    ['a program with more behind it', `0014${'11'.repeat(21)}`],
    ['the opcode before version 1', `5020${'11'.repeat(32)}`],
    ['the opcode after version 16', `6120${'11'.repeat(32)}`],
  ])('%s has no address', (_, script) => {
    expect(() => scriptToAddress(hexToBytes(script), networks.mainnet)).toThrow('has no address');
  });

  test('text of any length is refused at once', () => {
    const parse = () => addressToScript('1'.repeat(1_000_000), networks.mainnet);
    expect(parse).toThrow('too long');
  });

  test('a key that is not compressed', () => {
    expect(() => scriptForKey(new Uint8Array(65).fill(4), 'p2wpkh')).toThrow(
      'not a public key of 33 bytes',
    );
  });
});

describe('laws', () => {
  const network = fc.constantFrom(...Object.values(networks));
  const hash = fc.uint8Array({ minLength: 20, maxLength: 20 });
  const script = fc.oneof(
    hash.map((bytes) => Uint8Array.of(0x76, 0xa9, 20, ...bytes, 0x88, 0xac)),
    hash.map((bytes) => Uint8Array.of(0xa9, 20, ...bytes, 0x87)),
    hash.map((bytes) => Uint8Array.of(0, 20, ...bytes)),
    fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Uint8Array.of(0, 32, ...bytes)),
    fc
      .tuple(fc.integer({ min: 0x51, max: 0x60 }), fc.uint8Array({ minLength: 2, maxLength: 40 }))
      .map(([version, program]) => Uint8Array.of(version, program.length, ...program)),
  );

  test('script to address and back', () => {
    fc.assert(
      fc.property(script, network, (bytes, on) => {
        expect(addressToScript(scriptToAddress(bytes, on), on)).toEqual(bytes);
      }),
    );
  });

  test('one changed letter is never another address', () => {
    const letters = '023456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const change = fc.tuple(fc.nat(), fc.constantFrom(...letters));
    fc.assert(
      fc.property(script, network, change, (bytes, on, [place, letter]) => {
        const address = scriptToAddress(bytes, on);
        const at = place % address.length;
        fc.pre(address[at] !== letter);
        const changed = address.slice(0, at) + letter + address.slice(at + 1);
        expect(() => addressToScript(changed, on)).toThrow(PaygateError);
      }),
    );
  });
});
