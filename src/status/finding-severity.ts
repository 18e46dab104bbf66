// How grave a finding is. An error needs a person: money, addresses, deliveries or the file are at
// risk. A warning passes by itself or may wait.

export type Severity = 'error' | 'warning';

const severities = {
  'restored-database': 'error',
  'disk-low': 'error',
  'disk-refuses': 'error',
  'no-server': 'error',
  'catching-up': 'warning',
  'reduced-trust': 'warning',
  'server-doubt': 'warning',
  'server-banned': 'warning',
  'changed-certificate': 'error',
  'promotion-held': 'error',
  'addresses-stuck': 'error',
  'reversed-payment': 'error',
  'fallen-payment': 'error',
  'unclaimed-payment': 'error',
  'wallet-scan': 'warning',
  'exhausted-callbacks': 'error',
  'foreign-use': 'error',
  'file-displaced': 'error',
  'database-damaged': 'error',
  'snapshot-failed': 'error',
  'wallet-gap': 'warning',
  'gap-reached': 'error',
  'links-stopped': 'error',
  'no-price': 'error',
  'unlisted-proxy': 'warning',
  'shop-unreachable': 'error',
  'shop-refuses': 'error',
  'unknown-callback-url': 'error',
  'shop-doubtful': 'error',
  'own-certificate': 'error',
  'clock-wrong': 'error',
  'notifications-failed': 'warning',
  'lightning-down': 'error',
  'lightning-refused': 'error',
} as const satisfies Readonly<Record<string, Severity>>;

/** It never changes: monitoring and translations know it. */
export type FindingCode = keyof typeof severities;

export const severityOf = (code: FindingCode): Severity => severities[code];

export const findingCodes = Object.keys(severities) as readonly FindingCode[];
