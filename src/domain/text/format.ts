// Formats amounts, times, untrusted texts and shell words for people.

export const satPerBitcoin = 100_000_000;

/** Bitcoins with eight decimals: `0.00050000`. */
export const formatBitcoin = (valueSat: number): string => (valueSat / satPerBitcoin).toFixed(8);

/** Satoshis with separators: `25,000 sat`. */
export const formatSat = (valueSat: number): string => `${valueSat.toLocaleString('en')} sat`;

/** UTC to the second: `2026-11-21 16:26:00 UTC`. */
export const formatTime = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** `2026-11-21T162600Z`: sorts by time, and every file system accepts it. */
export const timeName = (epochMs: number): string =>
  new Date(epochMs).toISOString().slice(0, 19).replaceAll(':', '').concat('Z');

/** Amounts from here on are shown in bitcoins, smaller ones in satoshis. */
const minShownInBitcoin = 100_000;

/** An amount for people: `25,000 sat`, or `0.00100000 BTC` from 100,000 sat on. */
export const formatAmount = (valueSat: number): string =>
  Math.abs(valueSat) < minShownInBitcoin ? formatSat(valueSat) : `${formatBitcoin(valueSat)} BTC`;

/** A decimal text with separators of thousands: `1,234.50`. */
export const formatDecimal = (text: string): string =>
  text.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ',');

const shownStart = 7;
const shownEnd = 4;

/** The start and the end of an address or a hash: `bc1qee2…zcyg`. */
export const formatShort = (text: string): string =>
  text.length <= shownStart + shownEnd + 1
    ? text
    : `${text.slice(0, shownStart)}…${text.slice(-shownEnd)}`;

/** A number with its noun: `1 attempt`, `2 attempts`. */
export const formatCount = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? noun : plural}`;

export const verbOf = (count: number, singular: string, plural: string): string =>
  count === 1 ? singular : plural;

/**
 * Untrusted text in one row, without control and format characters, safe for a terminal.
 * @param maxLength in characters; unlimited by default
 */
export function plainText(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  // Truncated first, because the text can be very long.
  const printable = text.slice(0, 4 * maxLength).replace(/[\s\p{C}]+/gu, ' ');
  return Array.from(printable.trim()).slice(0, maxLength).join('');
}

/** Untrusted text of several rows, which stay as wide as they are. */
export const plainLines = (text: string): string => text.replace(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, ' ');

/** A text, quoted for a shell command. */
export const quoteForShell = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** `5 % discount`, for a price that is adjusted by a percentage other than 0. */
export const formatAdjustment = (percent: number): string =>
  `${Math.abs(percent)} % ${percent < 0 ? 'discount' : 'surcharge'}`;
