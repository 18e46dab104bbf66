import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { agree } from '../../src/price/consensus.ts';

const of = (...prices: number[]) =>
  agree(
    prices.map((price, at) => ({ label: String.fromCharCode(97 + at), price })),
    2,
  );

describe('several sources', () => {
  test('the median, to the cent', () => {
    expect(of(67866.85, 67000, 68000).price).toBe(67866.85);
    expect(of(0.1, 0.1, 0.1).price).toBe(0.1);
    expect(of(100.01, 100.02).price).toBe(100.02); // 100.015 lies just above half a cent
    expect(of(1.005, 1.005, 1.005).price).toBe(1); // 1.005 lies just below it
    expect(of(2_900_000_000.12, 2_900_000_000.34, 2_900_000_000.56).price).toBe(2_900_000_000.34);
  });

  test('a source more than 5 % off the median is excluded', () => {
    expect(of(100, 100, 105)).toMatchObject({ price: 100, excluded: [] });
    expect(of(100, 100, 105.01)).toMatchObject({
      price: 100,
      counted: ['a', 'b'],
      excluded: ['c'],
    });
    expect(of(94.99, 100, 100)).toMatchObject({ price: 100, excluded: ['a'] });
    expect(of(100, 101, 102, 103, 1e12)).toMatchObject({ price: 101.5, excluded: ['e'] });
  });

  test('two that disagree give no price, and neither does one alone', () => {
    expect(of(100, 200)).toMatchObject({
      price: undefined,
      counted: [],
      excluded: ['a', 'b'],
      isPair: false,
    });
    expect(of(100).price).toBeUndefined();
    expect(of().price).toBeUndefined();
  });

  test('two sources must agree within 1 %: neither can be outvoted', () => {
    expect(of(100, 101)).toMatchObject({
      price: 100.5,
      counted: ['a', 'b'],
      excluded: [],
      isPair: true,
    });
    expect(of(101, 100).price).toBe(100.5);
    expect(of(67_866.85, 68_545.51).price).toBe(68_206.18);
    for (const lie of [101.01, 104, 105, 110.52, 98.9, 95, 90.5]) {
      expect(of(100, lie).price).toBeUndefined();
    }
    expect(of(100, 101.01)).toMatchObject({
      price: undefined,
      counted: [],
      excluded: ['a', 'b'],
      isPair: true,
    });
    // Also where the others are left out.
    expect(of(100, 104, 200)).toMatchObject({
      price: undefined,
      excluded: ['a', 'b', 'c'],
      isPair: true,
    });
    expect(of(100, 100.5, 200)).toMatchObject({
      price: 100.25,
      counted: ['a', 'b'],
      excluded: ['c'],
      isPair: true,
    });
    expect(of(100, 104, 200, 200).price).toBeUndefined();
  });

  test('three and more need not be as near: the median counts', () => {
    expect(of(100, 102, 104).price).toBe(102);
    expect(of(100, 100.2, 105).price).toBe(100.2);
    expect(of(98, 100, 102, 104).price).toBe(101);
  });

  test('S-20 law: one liar of two moves the price by half a percent at most', () => {
    const honest = 10_000;
    const lie = fc.double({ min: 0.01, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(lie, (liar) => {
        const { price = honest } = of(honest, liar);
        expect(Math.abs(price - honest)).toBeLessThanOrEqual(honest * 0.005 * 1.011);
      }),
    );
  });

  test('a single source, if it is the only one configured', () => {
    expect(agree([{ label: 'own', price: 12.345 }], 1).price).toBe(12.35);
    expect(agree([], 1).price).toBeUndefined();
  });

  test('a source that is configured twice counts once', () => {
    const quote = (label: string, price: number) => ({ label, price });
    expect(agree([quote('a', 100), quote('a', 100)], 2).price).toBeUndefined();
    expect(agree([quote('a', 100), quote('a', 100), quote('b', 101)], 2).price).toBe(100.5);
    const outvoted = [quote('liar', 90), quote('liar', 90), quote('a', 100), quote('b', 101)];
    expect(agree(outvoted, 2)).toMatchObject({ price: 100.5, excluded: ['liar'] });
    const ofTwoMinds = [quote('a', 100), quote('a', 200)];
    expect(agree(ofTwoMinds, 1)).toMatchObject({ price: undefined, excluded: ['a'] });
  });

  test('law: one liar among three or more moves the price no further than the honest ones lie apart', () => {
    const honest = fc.array(fc.integer({ min: 9_800, max: 10_200 }), {
      minLength: 2,
      maxLength: 6,
    });
    const lie = fc.double({ min: 0.01, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(honest, lie, (prices, liar) => {
        const { price = prices[0] } = of(...prices, liar);
        expect(price).toBeGreaterThanOrEqual(Math.min(...prices));
        expect(price).toBeLessThanOrEqual(Math.max(...prices));
      }),
    );
  });
});
