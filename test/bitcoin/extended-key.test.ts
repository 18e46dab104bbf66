import { secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { HDKey } from '@scure/bip32';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addTweak, extendedKey } from '../../src/bitcoin/extended-key.ts';

const { Point } = secp256k1;
const { ORDER } = Point.Fn;

test('children are those of the library, key and chain code', () => {
  const seed = fc.uint8Array({ minLength: 16, maxLength: 64 });
  const step = fc.integer({ min: 0, max: 2 ** 31 - 1 });
  fc.assert(
    fc.property(seed, fc.array(step, { minLength: 1, maxLength: 3 }), (bytes, steps) => {
      let theirs = HDKey.fromMasterSeed(bytes).wipePrivateData();
      let ours = extendedKey(theirs.publicKey as Uint8Array, theirs.chainCode as Uint8Array);
      for (const index of steps) {
        theirs = theirs.deriveChild(index);
        ours = ours.child(index) ?? ours;
        expect(bytesToHex(ours.publicKey)).toBe(bytesToHex(theirs.publicKey as Uint8Array));
        expect(bytesToHex(ours.chainCode)).toBe(bytesToHex(theirs.chainCode as Uint8Array));
      }
    }),
    { numRuns: 40 },
  );
});

test('a tweak at or above the order of the curve, and one that leads to no point, make no child', () => {
  const point = Point.BASE.multiply(7n);
  const added = (tweak: bigint) => addTweak(point, Point.Fn.toBytes(tweak))?.toHex();
  expect(added(5n)).toBe(Point.BASE.multiply(12n).toHex());
  expect(added(0n)).toBe(point.toHex());
  expect(added(ORDER - 6n)).toBe(Point.BASE.toHex());
  expect(added(ORDER - 7n)).toBeUndefined();
  for (const tweak of [ORDER, ORDER + 1n, 2n ** 256n - 1n]) {
    const bytes = Uint8Array.from(tweak.toString(16).match(/../g) ?? [], (pair) =>
      Number(`0x${pair}`),
    );
    expect(addTweak(point, bytes)).toBeUndefined();
  }
});
