// How many confirmations make a payment final for a store: one number, and larger numbers above
// certain amounts.

import { PaygateError } from '../../lib/errors.ts';

export interface Band {
  /** Applies to payments of more than this many satoshis. */
  readonly aboveSat: number;
  readonly confirmations: number;
}

export interface ConfirmationPolicy {
  readonly confirmations: number;
  readonly bands: readonly Band[];
}

export const maxConfirmations = 100;
export const defaultConfirmations = 2;

/** The confirmations that an amount requires: the maximum of all bands that apply. */
export const requiredConfirmationsFor = (
  { confirmations, bands }: ConfirmationPolicy,
  valueSat: number,
): number =>
  Math.max(
    confirmations,
    ...bands.filter(({ aboveSat }) => valueSat > aboveSat).map((band) => band.confirmations),
  );

/**
 * The confirmations that a payment to an order requires. The order's amount counts where it is
 * larger, so that an order in several parts requires as many as one payment.
 */
export const requiredConfirmationsInOrder = (
  policy: ConfirmationPolicy,
  valueSat: number,
  orderAmountSat: number,
): number => requiredConfirmationsFor(policy, Math.max(valueSat, orderAmountSat));

/** Parses `5000000:6`, satoshis and confirmations. @throws PaygateError invalid */
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

/**
 * @throws PaygateError invalid for a band that requires no more confirmations than the store does
 */
export function checkPolicy({ confirmations, bands }: ConfirmationPolicy): void {
  const redundant = bands.find((band) => band.confirmations <= confirmations);
  if (redundant === undefined) return;
  throw new PaygateError(
    'invalid',
    `${redundant.confirmations} confirmations above ${redundant.aboveSat} sat are no more than the ${confirmations} of every amount`,
  );
}

export const writeBands = (bands: readonly Band[]): string => JSON.stringify(bands);
export const readBands = (text: string): readonly Band[] => JSON.parse(text) as Band[];

export const policyOf = (row: {
  readonly requiredConfirmations: number;
  readonly confirmationBands: string;
}): ConfirmationPolicy => ({
  confirmations: row.requiredConfirmations,
  bands: readBands(row.confirmationBands),
});
