// What a key may do, by its scope (wire §3). Pure. The door asks before a route sees anything.

import { PaygateError } from '../lib/errors.ts';

/** `payments` is the whole API, `address-only` new addresses alone, `read` every GET (and HEAD) but those. */
export const keyScopes = ['payments', 'address-only', 'read'] as const;
export type KeyScope = (typeof keyScopes)[number];

export interface ApiUse {
  /** Upper case. */
  readonly method: string;
  /** Hands out an address, by whatever method: no key for reading does. */
  readonly issues: boolean;
}

export function isAllowed(scope: KeyScope, { method, issues }: ApiUse): boolean {
  switch (scope) {
    case 'payments':
      return true;
    case 'address-only':
      return issues;
    case 'read':
      return (method === 'GET' || method === 'HEAD') && !issues;
  }
}

const meanings: Readonly<Record<KeyScope, string>> = {
  payments: 'may do everything',
  'address-only': 'may only ask for new addresses',
  read: 'may only read, by GET, and asks for no address',
};

/** @throws PaygateError forbidden */
export function requireScope(scope: KeyScope, use: ApiUse): void {
  if (isAllowed(scope, use)) return;
  throw new PaygateError('forbidden', `This key ${meanings[scope]}; use another key for this`);
}
