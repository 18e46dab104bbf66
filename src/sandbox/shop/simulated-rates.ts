// Constant, invented exchange rates of the sandbox. paygate fetches them over HTTP, as from any
// price source, so that prices in fiat money work without the internet.

import type { PriceSource } from '../../price/sources.ts';

export const ratesPath = '/rates.json';

/** Price of one bitcoin, by ISO 4217 code. */
export const rates: Readonly<Record<string, number>> = {
  EUR: 50_000,
  USD: 60_000,
  GBP: 40_000,
  CHF: 48_000,
  BRL: 300_000,
  CZK: 1_250_000,
  PLN: 210_000,
  JPY: 9_000_000,
};

/** @param origin of the demo shop, which serves the rates */
export const simulatedRates = (origin: string): PriceSource => ({
  label: 'the sandbox, whose rates are made up',
  url: origin + ratesPath,
  path: ['{CODE}'],
});
