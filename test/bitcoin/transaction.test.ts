import { createHash } from 'node:crypto';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isRelayable,
  isTransaction,
  parseTransaction,
  valuePaidTo,
  withoutWitness,
} from '../../src/bitcoin/transaction.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { block170, genesisCoinbase, nativeSegwit, nestedSegwit } from './vectors/blocks.ts';

const parse = (hex: string) => parseTransaction(hexToBytes(hex));

/** A txid, computed independently of the code under test. */
function txidOf(strippedHex: string): string {
  const once = createHash('sha256').update(hexToBytes(strippedHex)).digest();
  return createHash('sha256').update(once).digest().reverse().toString('hex');
}

describe('vectors', () => {
  test('the genesis coinbase', () => {
    const transaction = parse(genesisCoinbase.raw);
    expect(transaction).toMatchObject({
      txid: genesisCoinbase.txid,
      isCoinbase: true,
      signalsRbf: false,
      strippedSize: 204,
      size: 204,
    });
    expect(transaction.outputs.map((output) => output.valueSat)).toEqual([50e8]);
  });

  test('block 170: coinbase and first payment', () => {
    expect(parse(block170.coinbase).txid).toBe(block170.txids[0]);
    const payment = parse(block170.payment);
    expect(payment.txid).toBe(block170.txids[1]);
    expect(payment.inputs).toEqual([{ txid: block170.spends, vout: 0, sequence: 0xffffffff }]);
    expect(payment.outputs.map((output) => output.valueSat)).toEqual([10e8, 40e8]);
    expect(payment).toMatchObject({ isCoinbase: false, signalsRbf: false, size: 275 });
    expect(valuePaidTo(payment, hexToBytes(block170.toFinney))).toBe(10e8);
  });

  test('BIP143: P2SH-P2WPKH', () => {
    const transaction = parse(nestedSegwit.raw);
    expect(transaction).toMatchObject({
      txid: nestedSegwit.txid,
      signalsRbf: false,
      size: 251,
      strippedSize: 142,
    });
    expect(transaction.inputs[0]?.sequence).toBe(0xfffffffe);
  });

  test('BIP143: native P2WPKH, with one empty witness', () => {
    const transaction = parse(nativeSegwit.raw);
    expect(transaction.txid).toBe(txidOf(nativeSegwit.stripped));
    expect(transaction.strippedSize).toBe(nativeSegwit.stripped.length / 2);
    expect(transaction.signalsRbf).toBe(true);
    expect(parse(nativeSegwit.stripped).txid).toBe(transaction.txid);
  });
});

describe('a witness', () => {
  const whole = [genesisCoinbase.raw, block170.coinbase, block170.payment];
  const signed = [nestedSegwit.raw, nativeSegwit.raw];

  test('is present if the input needs one, and only then', () => {
    for (const raw of [...whole, ...signed]) expect(isRelayable(parse(raw))).toBe(true);
    for (const raw of signed) {
      const stripped = parseTransaction(withoutWitness(hexToBytes(raw)));
      expect(stripped).toMatchObject({ txid: parse(raw).txid, witness: 'partial' });
      expect(isRelayable(stripped)).toBe(false);
    }
    expect(bytesToHex(withoutWitness(hexToBytes(nativeSegwit.raw)))).toBe(nativeSegwit.stripped);
  });

  test('of an input with a signature in its script is not relayed', () => {
    const { payment } = block170;
    const padded = `${payment.slice(0, 8)}0001${payment.slice(8, -8)}010101${payment.slice(-8)}`;
    expect(parse(padded)).toMatchObject({ txid: block170.txids[1], witness: 'excess' });
    expect(bytesToHex(withoutWitness(hexToBytes(padded)))).toBe(payment);
  });
});

/** Parts of a small transaction, each of which can be replaced by an invalid one. */
interface Parts {
  readonly version?: string;
  readonly marker?: string;
  readonly inputs?: string;
  readonly outputs?: string;
  readonly witness?: string;
  readonly lockTime?: string;
}

const input = (script = '025151', sequence = 'ffffffff') =>
  `${'aa'.repeat(32)}00000000${script}${sequence}`;
const output = (value = '0100000000000000', script = '0151') => `${value}${script}`;

function build(parts: Parts): string {
  const { version = '02000000', marker = '', witness = '', lockTime = '00000000' } = parts;
  const { inputs = `01${input()}`, outputs = `01${output('0100000000000000', '03515151')}` } =
    parts;
  return `${version}${marker}${inputs}${outputs}${witness}${lockTime}`;
}

const le64 = (value: bigint) => {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytesToHex(bytes);
};
const maxMoney = 21n * 10n ** 14n;

describe('strictness', () => {
  test('the parts make a transaction if none is wrong', () => {
    expect(parse(build({})).outputs[0]?.valueSat).toBe(1);
    expect(parse(build({ marker: '0001', witness: '010151' })).txid).toBe(parse(build({})).txid);
  });

  const wrong: [string, Parts, string][] = [
    ['nothing at all', { version: '', inputs: '', outputs: '', lockTime: '' }, 'ends too early'],
    ['something behind it', { lockTime: '0000000000' }, 'follows its end'],
    ['no input and no output', { inputs: '00', outputs: '00' }, 'unknown form'],
    ['no input behind a marker', { marker: '0001', inputs: '00', witness: '' }, 'no input'],
    ['no output', { outputs: '00' }, 'no output'],
    ['an unknown flag', { marker: '0002', witness: '010151' }, 'unknown form'],
    ['a marker without witness', { marker: '0001', witness: '00' }, 'with a witness, but none'],
    ['a witness cut off', { marker: '0001', witness: '0105', lockTime: '00000000' }, 'too early'],
    ['a count in 3 bytes that fits 1', { inputs: `fd0100${input()}` }, 'shortest form'],
    ['a count in 5 bytes that fits 3', { inputs: `fe00010000${input()}` }, 'shortest form'],
    ['a count in 5 bytes that fits 1', { outputs: `fe01000000${output()}` }, 'shortest form'],
    ['a count in 9 bytes', { inputs: `ff0100000000000000${input()}` }, 'too large'],
    ['a length in 3 bytes that fits 1', { inputs: `01${input('fdfc0051')}` }, 'shortest form'],
    ['more inputs than there is room for', { inputs: `feffffffff${input()}` }, 'ends too early'],
    ['a script longer than the rest', { outputs: `01${output('00'.repeat(8), '7551')}` }, 'early'],
    ['too much value', { outputs: `01${output(le64(maxMoney + 1n))}` }, 'too much value'],
    ['a negative value', { outputs: `01${output(le64(2n ** 64n - 1n))}` }, 'too much value'],
    [
      'too much value in sum',
      { outputs: `02${output(le64(maxMoney))}${output(le64(1n))}` },
      'too much value',
    ],
  ];
  test.each(wrong)('refuses %s', (_, parts, refusal) => {
    expect(() => parse(build(parts))).toThrow(PaygateError);
    expect(() => parse(build(parts))).toThrow(refusal);
  });

  test('the largest possible value', () => {
    expect(parse(build({ outputs: `01${output(le64(maxMoney))}` })).outputs[0]?.valueSat).toBe(
      21e14,
    );
  });

  test('longer lengths in their shortest form', () => {
    const script = `fdfd00${'51'.repeat(0xfd)}`;
    expect(parse(build({ outputs: `01${output(le64(1n), script)}` })).outputs[0]?.script).toEqual(
      new Uint8Array(0xfd).fill(0x51),
    );
    const long = `fe00000100${'51'.repeat(0x10000)}`;
    expect(parse(build({ inputs: `01${input(long)}` })).size).toBeGreaterThan(0x10000);
  });

  test('heavier than a block', () => {
    const script = `fe40420f00${'51'.repeat(1_000_000)}`;
    expect(() => parse(build({ outputs: `01${output(le64(1n), script)}` }))).toThrow('heavier');
    expect(() => parseTransaction(new Uint8Array(4_000_001))).toThrow('larger than a block');
  });

  test('64 bytes without witness, with and without one', () => {
    const small: Parts = {
      inputs: `01${input('0151')}`,
      outputs: `01${output('0100000000000000', '03515151')}`,
    };
    const withWitness = { ...small, marker: '0001', witness: '010151' };
    for (const parts of [small, withWitness]) {
      // 60 bytes and the two scripts: 1 + 3.
      expect(() => parse(build(parts))).toThrow('size of a merkle node');
      expect(isTransaction(hexToBytes(build(parts)))).toBe(true);
    }
    expect(parse(build({ ...small, inputs: `01${input('025151')}` })).strippedSize).toBe(65);
  });

  test('coinbase: one input, of nothing', () => {
    const nothing = '00'.repeat(32);
    const of = (txid: string, vout: string) => `${txid}${vout}025151ffffffff`;
    const isCoinbase = (inputs: string) => parse(build({ inputs })).isCoinbase;
    expect(isCoinbase(`01${of(nothing, 'ffffffff')}`)).toBe(true);
    expect(isCoinbase(`01${of(nothing, '00000000')}`)).toBe(false);
    expect(isCoinbase(`01${of('aa'.repeat(32), 'ffffffff')}`)).toBe(false);
    expect(isCoinbase(`02${of(nothing, 'ffffffff')}${of(nothing, 'ffffffff')}`)).toBe(false);
  });

  test('BIP125: any input may signal', () => {
    const signals = (...sequences: string[]) => {
      const inputs = sequences.map((sequence) => input('025151', sequence)).join('');
      return parse(build({ inputs: `0${sequences.length}${inputs}` })).signalsRbf;
    };
    expect(signals('feffffff')).toBe(false);
    expect(signals('fdffffff')).toBe(true);
    expect(signals('ffffffff', '00000000')).toBe(true);
  });
});

describe('valuePaidTo', () => {
  const script = hexToBytes('51515151');
  const outputs = [
    output(le64(1n), '0451515151'),
    output(le64(20n), '0451515152'),
    output(le64(300n), '0451515151'),
    output(le64(4000n), '055151515151'),
  ];
  const transaction = parse(build({ outputs: `04${outputs.join('')}` }));

  test('adds up the outputs to exactly that script', () => {
    expect(valuePaidTo(transaction, script)).toBe(301);
    expect(valuePaidTo(transaction, Buffer.from(script))).toBe(301);
    expect(valuePaidTo(transaction, hexToBytes('515151'))).toBe(0);
    expect(valuePaidTo(transaction, new Uint8Array())).toBe(0);
  });

  test('scripts do not share memory with the bytes they came from', () => {
    const raw = Buffer.from(build({ outputs: `01${output(le64(1n), '0451515151')}` }), 'hex');
    const parsed = parseTransaction(raw);
    const { txid } = parsed;
    raw.fill(0);
    expect(parsed.outputs[0]?.script).toEqual(script);
    expect(parsed.txid).toBe(txid);
    expect(parsed.inputs[0]?.txid).toBe('aa'.repeat(32));
  });
});

describe('laws', () => {
  const samples = [genesisCoinbase.raw, block170.payment, nestedSegwit.raw, nativeSegwit.raw];
  const sample = fc.constantFrom(...samples.map(hexToBytes));

  /** Parses, or returns undefined for a PaygateError. */
  function outcome(raw: Uint8Array): string | undefined {
    try {
      return parseTransaction(raw).txid;
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(PaygateError);
      return undefined;
    }
  }

  test('random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (raw) => {
        expect(outcome(raw)).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });

  test('a changed byte outside the witness is refused or makes another transaction', () => {
    fc.assert(
      fc.property(sample, fc.nat(), fc.integer({ min: 1, max: 255 }), (raw, place, flip) => {
        const changed = raw.slice();
        const at = place % raw.length;
        changed[at] = (changed[at] ?? 0) ^ flip;
        const original = parseTransaction(raw);
        const result = outcome(changed);
        if (original.size === original.strippedSize) expect(result).not.toBe(original.txid);
      }),
      { numRuns: 2000 },
    );
  });

  test('a cut or a longer one is refused', () => {
    fc.assert(
      fc.property(
        sample,
        fc.nat(),
        fc.uint8Array({ minLength: 1, maxLength: 50 }),
        (raw, at, more) => {
          expect(outcome(raw.slice(0, at % raw.length))).toBeUndefined();
          expect(outcome(Uint8Array.of(...raw, ...more))).toBeUndefined();
        },
      ),
    );
  });
});

describe('the check for a transaction', () => {
  test('depends on a complete parse, not on the first bytes', () => {
    const small = fc.integer({ min: 0, max: 3 }).map((byte) => Uint8Array.of(byte));
    const rest = fc.uint8Array({ minLength: 40, maxLength: 140 });
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), small, small, rest, (...parts) => {
        const raw = concatBytes(...parts);
        const sized = /size of a merkle node/;
        let isOne = true;
        try {
          parseTransaction(raw);
        } catch (thrown) {
          isOne = sized.test((thrown as Error).message);
        }
        expect(isTransaction(raw)).toBe(isOne);
      }),
    );
  });
});
