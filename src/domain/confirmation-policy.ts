// How deep a payment must be before a store takes it as final: one number, and larger ones from
// certain amounts on. Pure.

import { PaygateError } from '../lib/errors.ts';

export interface Band {
  /** Payments of more than this many satoshis … */
  readonly aboveSat: number;
  /** … must be this deep. */
  readonly confirmations: number;
}

export interface ConfirmationPolicy {
  readonly confirmations: number;
  readonly bands: readonly Band[];
}

export const maxConfirmations = 100;
/** Of a store that asks for none. */
export const defaultConfirmations = 2;

/** The depth that an amount asks for: the greatest of all that apply. */
export const requiredConfirmationsFor = (
  { confirmations, bands }: ConfirmationPolicy,
  valueSat: number,
): number =>
  Math.max(
    confirmations,
    ...bands.filter(({ aboveSat }) => valueSat > aboveSat).map((band) => band.confirmations),
  );

/** Reads `5000000:6`, an amount in satoshis and a depth. @throws PaygateError invalid */
export function parseBand(text: string): Band {
  const [, above, depth] = /^(\d{1,16}):(\d{1,3})$/.exec(text) ?? [];
  const band = { aboveSat: Number(above), confirmations: Number(depth) };
  if (above === undefined || band.confirmations < 1 || band.confirmations > maxConfirmations) {
    throw new PaygateError(
      'invalid',
      `an amount in satoshis and 1 to ${maxConfirmations} confirmations expected, such as 5000000:6`,
    );
  }
  return band;
}

/** @throws PaygateError invalid where a larger amount would not have to be deeper than any other */
export function checkPolicy({ confirmations, bands }: ConfirmationPolicy): void {
  const redundant = bands.find((band) => band.confirmations <= confirmations);
  if (redundant === undefined) return;
  throw new PaygateError(
    'invalid',
    `${redundant.confirmations} confirmations above ${redundant.aboveSat} sat are no more than the ${confirmations} of every amount`,
  );
}

/** How bands lie in the file. */
export const writeBands = (bands: readonly Band[]): string => JSON.stringify(bands);
export const readBands = (text: string): readonly Band[] => JSON.parse(text) as Band[];

/** Of a store, as its row has it. */
export const policyOf = (row: {
  readonly requiredConfirmations: number;
  readonly confirmationBands: string;
}): ConfirmationPolicy => ({
  confirmations: row.requiredConfirmations,
  bands: readBands(row.confirmationBands),
});
