// Formats amounts, times, untrusted texts and shell words for people.

export const satPerBitcoin = 100_000_000;

/** Bitcoins with eight decimals: `0.00050000`. */
export const formatBitcoin = (valueSat: number): string => (valueSat / satPerBitcoin).toFixed(8);

/** Satoshis with separators: `25,000 sat`. */
export const formatSat = (valueSat: number): string => `${valueSat.toLocaleString('en')} sat`;

/** UTC to the second: `2026-11-21 16:26:00 UTC`. */
export const formatTime = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

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
