import { hexToBytes } from '@noble/hashes/utils.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bitsToTarget,
  expectedBits,
  type Header,
  medianTimePast,
  meetsTarget,
  minimumTime,
  parseHeader,
  targetToBits,
  workOfBits,
} from '../../src/bitcoin/header.ts';
import { displayHex } from '../../src/bitcoin/ids.ts';
import { type Network, networks } from '../../src/bitcoin/network.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { block1, block170, block100002 } from './vectors/blocks.ts';

const { mainnet, testnet3, testnet4, signet, regtest } = networks;

/** A header of which only time and bits matter. */
const stub = (time: number, bits: number): Header => ({
  ...parseHeader(mainnet.genesisHeader),
  time,
  bits,
});

/** Looks up only the headers of the test; any other height is an error. */
const from = (known: Readonly<Record<number, Header>>) => (height: number) => {
  const header = known[height];
  if (header === undefined) throw new Error(`header ${height} was not to be asked for`);
  return header;
};
const nothing = from({});

describe('parseHeader', () => {
  test('block 170', () => {
    const header = parseHeader(hexToBytes(block170.header));
    expect(header).toMatchObject({
      hash: block170.hash,
      previous: block170.previous,
      time: block170.time,
      bits: 0x1d00ffff,
      raw: hexToBytes(block170.header),
    });
    expect(displayHex(header.merkleRoot)).toBe(block170.merkleRoot);
  });

  test('block 1 follows genesis', () => {
    const header = parseHeader(hexToBytes(block1.header));
    expect(header.hash).toBe(block1.hash);
    expect(header.previous).toBe(mainnet.genesisHash);
    expect(expectedBits(mainnet, 1, parseHeader(mainnet.genesisHeader), header.time, nothing)).toBe(
      header.bits,
    );
  });

  test('nothing is shared with the bytes it came from', () => {
    const raw = Buffer.from(block1.header, 'hex');
    const header = parseHeader(raw);
    raw.fill(0);
    expect(header).toEqual(parseHeader(hexToBytes(block1.header)));
  });

  test.each([0, 79, 81])('%d bytes', (length) => {
    expect(() => parseHeader(new Uint8Array(length))).toThrow(PaygateError);
  });
});

describe('proof of work', () => {
  test.each([block1, block170, block100002])('$hash meets its target', ({ header, hash }) => {
    const parsed = parseHeader(hexToBytes(header));
    expect(parsed.hash).toBe(hash);
    expect(meetsTarget(parsed)).toBe(true);
    const another = hexToBytes(header);
    another[76] = (another[76] ?? 0) ^ 1;
    expect(meetsTarget(parseHeader(another))).toBe(false);
  });

  test('a hash may equal the target, and no more', () => {
    const at = (hash: bigint) => {
      const hex = hash.toString(16).padStart(64, '0');
      return meetsTarget({ ...stub(0, 0x1d00ffff), hash: hex as Header['hash'] });
    };
    const target = bitsToTarget(0x1d00ffff);
    expect(at(target)).toBe(true);
    expect(at(target + 1n)).toBe(false);
  });

  test.each([0, 0x01fedcba, 0xff123456])('bits %i are met by no hash', (bits) => {
    expect(meetsTarget({ ...stub(0, bits), hash: '0'.repeat(64) as Header['hash'] })).toBe(false);
  });

  test('work: what Bitcoin Core shows as chainwork', () => {
    expect(workOfBits(0x1d00ffff)).toBe(0x100010001n);
    expect(171n * workOfBits(0x1d00ffff)).toBe(0xab00ab00abn);
    expect(workOfBits(0x207fffff)).toBe(2n);
    expect(workOfBits(0x01010000)).toBe(2n ** 255n);
    expect(() => workOfBits(0)).toThrow(PaygateError);
  });
});

describe("compact bits: Bitcoin Core's arith_uint256_tests", () => {
  test.each([
    0, 0x00123456, 0x01003456, 0x02000056, 0x03000000, 0x04000000, 0x00923456, 0x01803456,
    0x02800056, 0x03800000, 0x04800000,
  ])('%i is zero', (bits) => {
    expect(() => bitsToTarget(bits)).toThrow('zero');
  });

  test.each([
    [0x01123456, 0x12n, 0x01120000],
    [0x02123456, 0x1234n, 0x02123400],
    [0x03123456, 0x123456n, 0x03123456],
    [0x04123456, 0x12345600n, 0x04123456],
    [0x05009234, 0x92340000n, 0x05009234],
    [0x20123456, 0x123456n << 232n, 0x20123456],
    [0x02008000, 0x80n, 0x02008000],
  ])('%i', (bits, target, shortest) => {
    expect(bitsToTarget(bits)).toBe(target);
    expect(targetToBits(target)).toBe(shortest);
  });

  test.each([0x01fedcba, 0x04923456])('%i is negative', (bits) => {
    expect(() => bitsToTarget(bits)).toThrow('negative');
  });

  test.each([0xff123456, 0x23000001, 0x22000100, 0x21010000])('%i is too large', (bits) => {
    expect(() => bitsToTarget(bits)).toThrow('too large');
  });

  test.each([
    [0x22000001, 1n << 248n],
    [0x220000ff, 0xffn << 248n],
    [0x2100ffff, 0xffffn << 240n],
  ])('%i just fits', (bits, target) => {
    expect(bitsToTarget(bits)).toBe(target);
  });

  test('no 32-bit number', () => {
    for (const bits of [-1, 2 ** 32, 1.5, Number.NaN]) {
      expect(() => bitsToTarget(bits)).toThrow(PaygateError);
    }
  });

  test('targets out of range', () => {
    expect(targetToBits(0n)).toBe(0);
    expect(() => targetToBits(-1n)).toThrow(PaygateError);
    expect(() => targetToBits(1n << 256n)).toThrow(PaygateError);
  });

  test('law: bits survive, and a target loses less than one part in 2^15', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }), (target) => {
        const bits = targetToBits(target);
        const kept = bitsToTarget(bits);
        expect(kept).toBeLessThanOrEqual(target);
        expect((target - kept) << 15n).toBeLessThan(target);
        expect(targetToBits(kept)).toBe(bits);
      }),
    );
  });
});

describe("retarget: Bitcoin Core's pow_tests", () => {
  test.each([
    // The first change of difficulty on mainnet.
    [32_256, 1_261_130_161, 1_262_152_739, 0x1d00ffff, 0x1d00d86a],
    // Not above the limit.
    [2016, 1_231_006_505, 1_233_061_996, 0x1d00ffff, 0x1d00ffff],
    // Not by more than 4 times harder.
    [68_544, 1_279_008_237, 1_279_297_671, 0x1c05a3f4, 0x1c0168fd],
    // Not by more than 4 times easier.
    [46_368, 1_263_163_443, 1_269_211_443, 0x1c387f6f, 0x1d00e1fd],
  ])('block %i', (height, firstTime, lastTime, bits, expected) => {
    const last = stub(lastTime, bits);
    const at = from({ [height - 2016]: stub(firstTime, bits) });
    expect(expectedBits(mainnet, height, last, 0, at)).toBe(expected);
  });

  test('a period that runs backwards counts as the shortest one', () => {
    const at = from({ 0: stub(1_300_000_000, 0x1c05a3f4) });
    const bits = expectedBits(mainnet, 2016, stub(1_200_000_000, 0x1c05a3f4), 0, at);
    expect(bits).toBe(0x1c0168fd);
  });

  test('S-154 signet: the same rule under its own limit', () => {
    const at = from({ 0: stub(0, 0x1e0377ae) });
    const slow = stub(10_000_000, 0x1e0377ae);
    expect(expectedBits(signet, 2016, slow, 0, at)).toBe(0x1e0377ae);
    const fast = stub(14 * 24 * 60 * 60 - 1, 0x1e0377ae);
    expect(expectedBits(signet, 2016, fast, 0, at)).toBeLessThan(0x1e0377ae);
  });

  test('within a period mainnet and signet keep their bits, however late', () => {
    const previous = stub(1000, 0x1c05a3f4);
    for (const network of [mainnet, signet]) {
      expect(expectedBits(network, 2017, previous, 1_000_000, nothing)).toBe(0x1c05a3f4);
    }
  });

  test('regtest never changes', () => {
    const previous = stub(0, regtest.powLimitBits);
    for (const height of [1, 2016, 4031]) {
      expect(expectedBits(regtest, height, previous, 10_000, nothing)).toBe(0x207fffff);
    }
  });
});

describe('testnets: the 20-minute rule', () => {
  const hard = 0x1c05a3f4;
  const easy = 0x1d00ffff;

  test.each([testnet3, testnet4])('$name', (network) => {
    const previous = stub(1_000_000, hard);
    const at = from({ 2016: stub(0, hard) });
    const bits = (time: number) => expectedBits(network, 2020, previous, time, at);
    expect(bits(1_000_000 + 1200)).toBe(hard);
    expect(bits(1_000_000 + 1201)).toBe(easy);
    // In time again after an easy one: back to what the period began with.
    expect(expectedBits(network, 2020, stub(1_000_000, easy), 1_000_600, at)).toBe(hard);
  });

  test('a late first block of a period is not easy', () => {
    const at = from({ 2016: stub(0, hard) });
    const previous = stub(14 * 24 * 60 * 60, hard);
    for (const network of [testnet3, testnet4]) {
      expect(expectedBits(network, 4032, previous, previous.time + 100_000, at)).toBe(hard);
    }
  });

  test('an easy last block: testnet3 starts from it, testnet4 from the first one', () => {
    const at = from({ 2016: stub(0, hard) });
    const previous = stub(14 * 24 * 60 * 60, easy);
    expect(expectedBits(testnet3, 4032, previous, 0, at)).toBe(easy);
    expect(expectedBits(testnet4, 4032, previous, 0, at)).toBe(hard);
  });

  /** Bitcoin Core's GetNextWorkRequired between two periods, word by word. */
  function byWalkingBack(chain: readonly Header[], time: number): number {
    let at = chain.length - 1;
    const last = chain[at] as Header;
    if (time > last.time + 1200) return easy;
    while (at > 0 && at % 2016 !== 0 && chain[at]?.bits === easy) at -= 1;
    return (chain[at] as Header).bits;
  }

  test.each([testnet3, testnet4])('law: $name, as by walking back', (network: Network) => {
    // One gap drives the pace of each period, so that difficulty moves; every block may be late.
    const gaps = fc.array(fc.constantFrom(60, 300, 601, 1300), { minLength: 5, maxLength: 50 });
    fc.assert(
      fc.property(gaps, fc.constantFrom(100, 400, 650), (lateness, pace) => {
        const chain = [parseHeader(network.genesisHeader)];
        while (chain.length < 3 * 2016 + 50) {
          const last = chain.at(-1) as Header;
          const late = chain.length % 97 < lateness.length;
          const gap = late ? (lateness[chain.length % lateness.length] as number) : pace;
          const time = last.time + gap;
          const at = (height: number) => chain[height] as Header;
          const bits = expectedBits(network, chain.length, last, time, at);
          if (chain.length % 2016 !== 0) expect(bits).toBe(byWalkingBack(chain, time));
          chain.push(stub(time, bits));
        }
      }),
      { numRuns: 5 },
    );
  });
});

describe('times', () => {
  test('median of the last ones', () => {
    expect(medianTimePast([5])).toBe(5);
    expect(medianTimePast([9, 1])).toBe(9);
    expect(medianTimePast([3, 1, 2])).toBe(2);
    // Numbers, not text.
    expect(medianTimePast([9, 10, 100])).toBe(10);
    const eleven = [11, 1, 10, 2, 9, 3, 8, 4, 7, 5, 6];
    expect(medianTimePast(eleven)).toBe(6);
    expect(eleven[0]).toBe(11);
    expect(() => medianTimePast([])).toThrow(PaygateError);
  });

  test('BIP94: the first block of a testnet4 period steps back 600 s at most', () => {
    const previous = stub(1_714_900_000, 0x1d00ffff);
    expect(minimumTime(testnet4, 4032, previous)).toBe(1_714_900_000 - 600);
    expect(minimumTime(testnet4, 4031, previous)).toBe(0);
    expect(minimumTime(testnet4, 4033, previous)).toBe(0);
    for (const network of [mainnet, testnet3, signet, regtest]) {
      expect(minimumTime(network, 4032, previous)).toBe(0);
    }
  });
});
