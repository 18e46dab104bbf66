// How amounts, times and a stranger's words are shown to people, wherever: in a terminal, on a page, in a message.

export const satPerBitcoin = 100_000_000;

/** In bitcoin, with all eight places: `0.00050000`. */
export const formatBitcoin = (valueSat: number): string => (valueSat / satPerBitcoin).toFixed(8);

/** In UTC, to the second: `2026-11-21 16:26:00 UTC`. */
export const formatTime = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/**
 * What a stranger wrote, in one line that no terminal acts on: without control or format characters.
 * @param maxLength in characters; all of it without one
 */
export function plainText(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  // Cut first: the text can be very long.
  const printable = text.slice(0, 4 * maxLength).replace(/[\s\p{C}]+/gu, ' ');
  return Array.from(printable.trim()).slice(0, maxLength).join('');
}

/** The same of several lines, which stay as they are, and as wide. */
export const plainLines = (text: string): string => text.replace(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, ' ');
