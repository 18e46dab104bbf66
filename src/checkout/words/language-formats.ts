// Numbers, money, times and plurals in one language. Digits are 0 to 9 in every language, because
// wallets show and accept those. An amount in a text stands between isolates (Unicode UAX #9),
// which a page turns into elements.

import type { DecimalSeparator } from '../../domain/order/typed-amount.ts';
import { formatBitcoin, satPerBitcoin } from '../../domain/text/format.ts';
import type { Language } from '../../domain/text/language.ts';
import { lazy } from '../../lib/lazy.ts';
import { dayMs, hourMs, minuteMs } from '../../lib/time-units.ts';

/** Begins text that runs from left to right. */
export const leftToRight = '\u2066';
/** Begins text whose direction is that of its first letter. */
export const ownDirection = '\u2068';
export const isolateEnd = '\u2069';
/** Stands in a text for an element. */
export const slot = '\uE000';

const control = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uE000]/g;
const isolated = (start: string, text: string): string =>
  `${start}${text.replaceAll(control, '')}${isolateEnd}`;

/** The unit of a rate. */
export const oneBitcoin = isolated(leftToRight, '1 BTC');

/** A name of strangers in a text. */
export const nameInText = (name: string): string => isolated(ownDirection, name);

/** Smaller amounts are shown in satoshis. */
const minBitcoinSat = 100_000;

type PluralForms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>;

const unitOf = (ms: number): readonly ['minute' | 'hour' | 'day', number] =>
  ms < hourMs ? ['minute', minuteMs] : ms < dayMs ? ['hour', hourMs] : ['day', dayMs];

export type LanguageFormats = ReturnType<typeof createFormats>;

function createFormats(language: Language) {
  const latin = { numberingSystem: 'latn' } as const;
  const whole = lazy(() => new Intl.NumberFormat(language, latin));
  const coins = lazy(() => new Intl.NumberFormat(language, { ...latin, ...eightDecimals }));
  const rules = lazy(() => new Intl.PluralRules(language));
  const clock = lazy(() => new Intl.DateTimeFormat(language, { ...latin, ...timeParts }));
  const currencies = new Map<string, Intl.NumberFormat>();

  /** @param amount decimal text, shown with its decimals */
  function money(amount: string, currency: string): string {
    const [, decimals = ''] = amount.split('.');
    const digits = decimals.length;
    const key = `${currency} ${digits}`;
    const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    const format =
      currencies.get(key) ??
      new Intl.NumberFormat(language, { ...latin, ...options, style: 'currency', currency });
    currencies.set(key, format);
    return isolated(leftToRight, format.format(amount as `${number}`));
  }

  const spanIn = (unit: 'minute' | 'second', count: number): string =>
    new Intl.NumberFormat(language, {
      ...latin,
      style: 'unit',
      unit,
      unitDisplay: 'long',
    }).format(count);
  const number = (value: number): string => whole().format(value);
  const percents = lazy(
    () => new Intl.NumberFormat(language, { ...latin, style: 'percent', maximumFractionDigits: 2 }),
  );
  const sat = (valueSat: number): string => isolated(leftToRight, `${number(valueSat)} sat`);
  const bitcoin = (valueSat: number): string => {
    const text = coins().format(formatBitcoin(valueSat) as `${number}`);
    return isolated(leftToRight, `${text} BTC`);
  };
  return {
    number,
    /** @param basisPoints hundredths of a percent */
    percent: (basisPoints: number): string =>
      isolated(leftToRight, percents().format(basisPoints / 10_000)),
    /** What stands before decimals. */
    decimalSeparator: lazy(() => number(1.5).replaceAll(/\d/g, '') as DecimalSeparator),
    /** `1.000 or 1000.000` */
    either: (texts: readonly string[]): string =>
      new Intl.ListFormat(language, { type: 'disjunction' }).format(texts),
    money,
    sat,
    bitcoin,
    /** In satoshis, or in bitcoins if it is large. */
    amount: (valueSat: number): string =>
      valueSat < minBitcoinSat ? sat(valueSat) : bitcoin(valueSat),
    /** The time in UTC, with its zone. @param at epoch milliseconds */
    time: (at: number): string => clock().format(at),
    /** `3 minutes ago`; of more than an hour, the hours, and of more than a day, the days. */
    ago: (ms: number): string => {
      const [unit, length] = unitOf(ms);
      const format = new Intl.RelativeTimeFormat(`${language}-u-nu-latn`);
      return format.format(-Math.floor(ms / length), unit);
    },
    /** `20 minutes` */
    minutes: (count: number): string => spanIn('minute', count),
    /** `5 seconds` */
    seconds: (count: number): string => spanIn('second', count),
    plural: (count: number, forms: PluralForms): string =>
      forms[rules().select(count)] ?? forms.other,
  };
}

const eightDecimals = {
  minimumFractionDigits: Math.log10(satPerBitcoin),
  maximumFractionDigits: Math.log10(satPerBitcoin),
} as const;

const timeParts = {
  ...({ year: 'numeric', month: 'short', day: 'numeric' } as const),
  ...({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const),
  ...({ timeZone: 'UTC', timeZoneName: 'short' } as const),
};

const made = new Map<Language, LanguageFormats>();

/** One for each language, because the objects of `Intl` are expensive. */
export function formatsOf(language: Language): LanguageFormats {
  const formats = made.get(language) ?? createFormats(language);
  made.set(language, formats);
  return formats;
}
