// The name of a store, for people. Pure.

import { PaygateError } from '../lib/errors.ts';

/** @throws PaygateError invalid */
export function parseStoreName(text: string): string {
  const name = text.trim();
  if (/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,100}$/u.test(name)) return name;
  throw new PaygateError(
    'invalid',
    'name: 1 to 100 characters without control characters expected',
  );
}
