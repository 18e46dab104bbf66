import { expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import {
  balanceChangesOf,
  balanceOf,
  type ScriptTransaction,
} from '../../../src/domain/payment/balance-change.ts';

const id = (letter: string) => letter.repeat(64) as Txid;

const part = (
  letter: string,
  height: number | null,
  change: Partial<ScriptTransaction>,
): ScriptTransaction => ({
  txid: id(letter),
  height,
  received: [],
  spent: [],
  ...change,
});

test('the sum received less the sum spent, in any order of the history', () => {
  const parts = [
    part('b', 12, { spent: [{ txid: id('a'), vout: 1 }], received: [{ vout: 0, valueSat: 300 }] }),
    part('a', 10, {
      received: [
        { vout: 0, valueSat: 50 },
        { vout: 1, valueSat: 1_000 },
      ],
    }),
    part('c', null, { spent: [{ txid: id('b'), vout: 0 }] }),
  ];
  expect(balanceChangesOf(parts).map(({ deltaSat }) => deltaSat)).toEqual([-700, 1_050, -300]);
});

test('spent outputs of other scripts do not count', () => {
  const [movement] = balanceChangesOf([part('a', 5, { spent: [{ txid: id('f'), vout: 0 }] })]);
  expect(movement?.deltaSat).toBe(0);
});

test('invented values add up to at most all bitcoins', () => {
  const all = 2_100_000_000_000_000;
  const came = [0, 1, 2, 3, 4].map((vout) =>
    part(`${vout}`, null, { received: [{ vout: 0, valueSat: all }] }),
  );
  const spent = came.map(({ txid }) => ({ txid, vout: 0 }));
  const gone = part('a', null, { spent, received: [{ vout: 0, valueSat: 7 }] });
  const changes = balanceChangesOf([...came, gone]);
  expect(changes.at(-1)?.deltaSat).toBe(-all);
  expect(balanceOf(changes.slice(0, -1), 10)).toEqual({ confirmedSat: 0, unconfirmedSat: all });
});

test('confirmed from 2 on; below it the balance may be negative', () => {
  const movements = [
    { txid: id('a'), height: 9, deltaSat: 1_000 },
    { txid: id('b'), height: 10, deltaSat: -400 },
    { txid: id('c'), height: null, deltaSat: -100 },
  ];
  expect(balanceOf(movements, 10)).toEqual({ confirmedSat: 1_000, unconfirmedSat: -500 });
  expect(balanceOf(movements, 11)).toEqual({ confirmedSat: 600, unconfirmedSat: -100 });
});
