// How amounts and times are shown to people, wherever: in a terminal, on a page, in a message.

export const satPerBitcoin = 100_000_000;

/** In bitcoin, with all eight places: `0.00050000`. */
export const showBitcoin = (valueSat: number): string => (valueSat / satPerBitcoin).toFixed(8);

/** In UTC, to the second: `2026-11-21 16:26:00 UTC`. */
export const showTime = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
