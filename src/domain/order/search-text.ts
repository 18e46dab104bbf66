// What a text may be that a merchant searches orders and payments for. It can have several
// meanings: `1007` is a part of a reference, and an amount.

import { isCurrency } from '../payment/currency.ts';
import { minorDigitsOf } from '../payment/money.ts';
import { pastedAddress, trimInvisible } from '../text/pasted-text.ts';
import { readTypedAmount } from './typed-amount.ts';

export interface SearchText {
  readonly whole: string;
  /** For a part of a folded text. */
  readonly folded: string;
  /** The beginning of the id of an order. */
  readonly orderId: string | undefined;
  /** The beginning of a txid, and its end where a list shortens it. */
  readonly txid: Ends | undefined;
  /** What an address begins and ends with. */
  readonly address: Ends | undefined;
  readonly amounts: readonly SearchedAmount[];
}

export interface Ends {
  readonly start: string;
  readonly end: string;
}

/** Units of the last decimal. `digits` is null for satoshis. */
export interface SearchedAmount {
  readonly minor: number;
  readonly digits: number | null;
  /** Only amounts in this currency; undefined for any. */
  readonly currency: string | undefined;
}

/** Fewer characters of a txid would fit many. */
const minTxidLength = 6;
/** How many characters of the end of an address an index has: those that a list shows. */
export const addressEndLength = 4;

/** Without accents, in lower case. */
export const foldText = (text: string): string =>
  text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

export function readSearchText(text: string): SearchText {
  const whole = trimInvisible(text);
  const packed = pastedAddress(text);
  return {
    whole,
    folded: foldText(whole),
    orderId: /^ord_[\w-]*$/.test(packed) ? packed : undefined,
    ...endsIn(packed),
    amounts: amountsIn(text),
  };
}

function endsIn(text: string): Pick<SearchText, 'txid' | 'address'> {
  const [, start = '', end = ''] = /^([0-9a-z]+)(?:…|\.\.\.)([0-9a-z]+)$/i.exec(text) ?? [];
  const isPart = /^[0-9a-z]{4,}$/i.test(text);
  const address = start === '' ? { start: '', end: isPart ? text : '' } : { start, end };
  const txid = start === '' ? { start: text, end: '' } : { start, end };
  const isTxid = /^[0-9a-f]+$/i.test(txid.start + txid.end);
  const { length } = txid.start + txid.end;
  return {
    address: address.end.length < addressEndLength ? undefined : address,
    txid:
      isTxid && length >= minTxidLength && length <= 64
        ? { start: txid.start.toLowerCase(), end: txid.end.toLowerCase() }
        : undefined,
  };
}

/** Decimals that amounts in currencies have. */
const fiatDigits = [0, 2, 3] as const;

function amountsIn(text: string): SearchedAmount[] {
  const bare = text.normalize('NFKC').replace(/[\p{Sc}\s]/gu, '');
  const [, before = '', number = '', after = ''] =
    /^([a-z]{3})?([\d.,٫'’٠-٩۰-۹]+)([a-z]{3,8})?$/i.exec(bare) ?? [];
  const unit = (before + after).toUpperCase();
  if (number === '' || (before !== '' && after !== '')) return [];
  const isSat = /^(SATS?|SATOSHIS?)$/.test(unit);
  const read = (digits: number, place: Omit<SearchedAmount, 'minor'>): SearchedAmount[] =>
    minorsOf(number, digits).map((minor) => ({ minor, ...place }));
  const satoshis = { digits: null, currency: undefined };
  const currency = unit === '' ? undefined : unit;
  const isFiat = currency === undefined || isCurrency(currency);
  return [
    ...(isSat || unit === '' ? read(0, satoshis) : []),
    ...(unit === 'BTC' || unit === '' ? read(8, satoshis) : []),
    ...fiatDigits
      .filter((digits) => isFiat && (!currency || minorDigitsOf(currency) === digits))
      .flatMap((digits) => read(digits, { digits, currency })),
  ];
}

/** All that a number may mean, also with separators of thousands. */
function minorsOf(number: string, digits: number): number[] {
  const grouped = /^\d{1,3}(?:([,.'’])\d{3})(?:\1\d{3})*(?:[.,]\d+)?$/.exec(number);
  const separator = grouped?.[1] ?? '';
  const texts = [number, ...(separator === '' ? [] : [number.replaceAll(separator, '')])];
  const found = texts.flatMap((text) => {
    const { minor, meanings = [] } = readTypedAmount(text, digits, '.');
    return minor === undefined ? meanings : [minor];
  });
  return [...new Set(found.map(Number))].filter(
    (minor) => minor > 0 && Number.isSafeInteger(minor),
  );
}
