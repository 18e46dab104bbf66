// `balance` and `searchhistory` (wire §§2-3): sums and lists over whole histories.

import * as z from 'zod';
import {
  type BalanceChange,
  isConfirmed,
  balanceOf as sumOf,
} from '../../domain/payment/balance-change.ts';
import { parseCurrency, worthOf } from '../../domain/payment/currency.ts';
import { sumSat } from '../../domain/payment/money.ts';
import { PaygateError } from '../../lib/errors.ts';
import { unixSeconds } from '../../lib/time-units.ts';
import type { Key } from '../../store/access/api-keys.ts';
import type { Receipt } from '../../store/payments/receipts.ts';
import type { ScriptMovements } from '../../watcher/reader.ts';
import type { ApiOptions } from '../api-parts.ts';
import { type Operation, operation } from '../operation.ts';
import { satoshis, unixTime } from '../shared-schemas.ts';
import { withTimeout } from '../timeout.ts';
import { splitTargets, type Targets } from './balance-targets.ts';

const maxListed = 200;

const addr = z
  .string()
  .optional()
  .describe(
    'Addresses, extended public keys and output descriptors, split by white space, +, or commas; at most 100',
  );
const asked = z.object({ addr });

export const balanceShape = z.object({
  confirmed: satoshis,
  unconfirmed: satoshis.describe('Below 2 confirmations; negative when it is spent'),
});

const balanceAnswer = z
  .object({
    response: z.array(
      z.object({ addr: z.string(), ...balanceShape.shape }).meta({ id: 'AddressBalance' }),
    ),
  })
  .meta({ id: 'Balances' });

const fields = z.object({
  time: unixTime,
  addr: z.array(z.string()),
  value: satoshis.describe('What came in less what went out'),
  txid: z.string(),
});
const entry = fields.meta({ id: 'HistoryEntry' });
const pendingEntry = fields.extend({ status: z.literal([0, 1]) }).meta({ id: 'PendingEntry' });

const pastEntry = entry.extend({
  fiat_value: z
    .number()
    .nullable()
    .optional()
    .meta({ format: 'double' })
    .describe('With `fiat_currency`: the value when paygate saw it first; null if it noted none'),
});

const historyAnswer = z
  .object({
    pending: z.array(pendingEntry),
    history: z
      .array(pastEntry.meta({ id: 'PastEntry' }))
      .describe('2 confirmations and more, newest first, at most 200'),
  })
  .meta({ id: 'History' });

const historyAsked = asked.extend({
  fiat_currency: z
    .string()
    .optional()
    .describe('ISO 4217: adds `fiat_value` to what has 2 confirmations'),
});

function namedIn(query: z.infer<typeof asked>, body: z.infer<typeof asked>): string[] {
  const text = body.addr ?? query.addr;
  if (text === undefined) throw new PaygateError('invalid', 'addr: name an address or an xpub');
  return splitTargets(text);
}

const tipHeightOf = ({ records }: ApiOptions): number => records.headers.tipHeight() ?? 0;

/** The balance of some scripts together, in satoshis. */
export function balanceOf(
  options: ApiOptions,
  scripts: readonly ScriptMovements[],
): z.infer<typeof balanceShape> {
  const movements = scripts.flatMap((script) => script.movements);
  const { confirmedSat, unconfirmedSat } = sumOf(movements, tipHeightOf(options));
  return { confirmed: confirmedSat, unconfirmed: unconfirmedSat };
}

const balance = (options: ApiOptions, targets: Targets): Operation =>
  operation({
    tag: 'Balances',
    methods: ['GET', 'POST'],
    path: '/balance',
    summary: 'The balances of addresses and extended public keys, in the order asked',
    limit: 'balance',
    query: asked,
    body: asked,
    answer: balanceAnswer,
    async run({ query, body, key }) {
      const named = namedIn(query, body);
      const found = await targets.read(named, key);
      return {
        response: named.map((addr, place) => ({
          addr,
          ...balanceOf(options, found[place] ?? []),
        })),
      };
    },
  });

/** The change that one transaction made to all targets together. */
interface Merged extends BalanceChange {
  readonly addresses: Set<string>;
}

function merge(scripts: Iterable<ScriptMovements>): Merged[] {
  const merged = new Map<string, Merged>();
  for (const { address, movements } of scripts) {
    for (const movement of movements) {
      const known = merged.get(movement.txid);
      merged.set(movement.txid, {
        ...movement,
        deltaSat: sumSat([movement.deltaSat, known?.deltaSat ?? 0]),
        addresses: (known?.addresses ?? new Set<string>()).add(address),
      });
    }
  }
  return [...merged.values()].sort((one, other) => sortKeyOf(other) - sortKeyOf(one));
}

const sortKeyOf = ({ height }: BalanceChange): number => height ?? Number.MAX_SAFE_INTEGER;

const searchHistory = (options: ApiOptions, targets: Targets): Operation =>
  operation({
    tag: 'Balances',
    methods: ['GET', 'POST'],
    path: '/searchhistory',
    summary: 'The transactions of addresses and extended public keys',
    limit: 'searchHistory',
    query: historyAsked,
    body: historyAsked,
    answer: historyAnswer,
    async run({ query, body, key }) {
      const currency = currencyIn(body.fiat_currency ?? query.fiat_currency);
      const found = await targets.read(namedIn(query, body), key);
      const tipHeight = tipHeightOf(options);
      // An address counts once, even if its wallet is named, too.
      const scripts = new Map(found.flat().map((script) => [script.address, script]));
      const all = merge(scripts.values());
      const unconfirmed = all.filter((each) => !isConfirmed(each, tipHeight));
      const waiting = newestFirst(options, unconfirmed).slice(0, maxListed);
      const history = all.filter((each) => isConfirmed(each, tipHeight)).slice(0, maxListed);
      const entries = Promise.all([
        Promise.all(waiting.map((each) => describeWaiting(options, each))),
        Promise.all(history.map((each) => describePast(options, each, currency, key))),
      ]);
      const [pending, confirmed] = await withTimeout(options, entries);
      return { pending, history: confirmed };
    },
  });

/** @throws PaygateError invalid */
export function currencyIn(text: string | undefined): string | undefined {
  return text === undefined ? undefined : parseCurrency(text);
}

/** A value at the price that a payment noted, in units such as euros; null without that price. */
export const fiatOf = (
  valueSat: number,
  { currency, priceCents }: Pick<Receipt, 'currency' | 'priceCents'>,
): number | null =>
  currency === null || priceCents === null ? null : Number(worthOf(valueSat, priceCents, currency));

async function describePast(
  options: ApiOptions,
  each: Merged,
  currency: string | undefined,
  { storeId }: Pick<Key, 'storeId'>,
) {
  const described = await describe(options, each);
  if (currency === undefined) return described;
  const receipts = options.records.receipts.byTxid(each.txid, storeId);
  const priced = receipts.find((receipt) => receipt.currency === currency && receipt.priceCents);
  return { ...described, fiat_value: priced ? fiatOf(each.deltaSat, priced) : null };
}

interface Waiting {
  readonly each: Merged;
  /** Epoch milliseconds, for a transaction in no block. */
  readonly seenAt?: number;
}

const describeWaiting = async (options: ApiOptions, { each, seenAt }: Waiting) => ({
  status: each.height === null ? (0 as const) : (1 as const),
  ...(await describe(options, each, seenAt)),
});

/** When paygate first saw a payment of the transaction; now, if it has none. */
const seenAt = ({ records, now }: ApiOptions, { txid }: Merged): number =>
  records.receipts.byTxid(txid).at(-1)?.firstSeenAt ?? now();

/** Sorts transactions in no block by when they were seen; the others are in order already. */
function newestFirst(options: ApiOptions, unconfirmed: readonly Merged[]): Waiting[] {
  const mempool = unconfirmed
    .filter(({ height }) => height === null)
    .map((each) => ({ each, seenAt: seenAt(options, each) }))
    .sort((one, other) => other.seenAt - one.seenAt);
  const mined = unconfirmed.filter(({ height }) => height !== null);
  return [...mempool, ...mined.map((each) => ({ each }))];
}

/** @param seenAt epoch milliseconds, for a transaction in no block */
async function describe({ reader }: ApiOptions, each: Merged, seenAt = 0) {
  const { txid, height, deltaSat, addresses } = each;
  return {
    time: height === null ? unixSeconds(seenAt) : await reader.timeOf(height),
    addr: [...addresses],
    value: deltaSat,
    txid,
  };
}

export const balanceOperations = (options: ApiOptions, targets: Targets): Operation[] => [
  balance(options, targets),
  searchHistory(options, targets),
];
