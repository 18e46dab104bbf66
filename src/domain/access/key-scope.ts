// What an API key may do, by its scope. Checked before any route runs.

import { PaygateError } from '../../lib/errors.ts';

/**
 * `payments`: everything. `address-only`: new addresses, orders and quotes alone. `read`: GET and
 * HEAD, no new address.
 */
export const keyScopes = ['payments', 'address-only', 'read'] as const;
export type KeyScope = (typeof keyScopes)[number];

/**
 * The plugins that a key suits below `/api/v1`. PrestaShop expects one more permission, and the
 * payment methods as BTCPay Server 1 had them (docs/plugins.md).
 */
export const keyPlugins = ['standard', 'prestashop'] as const;
export type KeyPlugin = (typeof keyPlugins)[number];

/** The names that BTCPay Server has for what an operation of the Greenfield API needs. */
export type Permission =
  | 'canviewinvoices'
  | 'cancreateinvoice'
  | 'canviewstoresettings'
  | 'canmodifyinvoices'
  | 'canmodifystoresettings'
  | 'webhooks.canmodifywebhooks'
  | 'cancreatenonapprovedpullpayments';

/** Plugins compare the list: one name more or less, and they refuse the key. */
const permissions: Readonly<Record<KeyScope, readonly Permission[]>> = {
  payments: [
    'canviewinvoices',
    'cancreateinvoice',
    'canviewstoresettings',
    'canmodifyinvoices',
    'webhooks.canmodifywebhooks',
  ],
  'address-only': ['cancreateinvoice'],
  read: ['canviewinvoices', 'canviewstoresettings'],
};

export interface KeyShape {
  readonly scope: KeyScope;
  readonly plugin: KeyPlugin;
}

export const permissionsFor = ({ scope, plugin }: KeyShape, storeId: string): string[] => {
  const sixth: readonly Permission[] =
    scope === 'payments' && plugin === 'prestashop' ? ['canmodifystoresettings'] : [];
  return [...permissions[scope], ...sixth].map((name) => `btcpay.store.${name}:${storeId}`);
};

export interface ApiUse {
  readonly method: string;
  /** Whether the request issues an address, with any method, or is a quote for one. */
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
  'address-only': 'may only make orders and ask for new addresses',
  read: 'may only read, by GET, and asks for no address',
};

/** @throws PaygateError forbidden */
export function requireScope(scope: KeyScope, use: ApiUse): void {
  if (isAllowed(scope, use)) return;
  throw new PaygateError('forbidden', `This key ${meanings[scope]}; use another key for this`);
}
