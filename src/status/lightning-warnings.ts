// What is wrong with the Lightning nodes of stores: one that is down, and reports that are not
// believed. Neither stops an order, because orders are paid on chain, too.

import { dayMs } from '../lib/time-units.ts';
import type { DownNode } from '../lightning/store-nodes.ts';
import type { Records } from '../store/open-records.ts';
import type { Finding } from './findings.ts';

type Warning = Pick<Finding, 'subject' | 'since' | 'fact' | 'hint' | 'storeId'>;

/** How long a report that is not believed is shown. */
const refusedShownMs = 30 * dayMs;

export const downWarnings = (
  { catalog }: Pick<Records, 'catalog'>,
  down: readonly DownNode[],
): Warning[] =>
  down.map(({ storeId, url, since, reason }) => ({
    subject: `store ${storeId}`,
    storeId,
    since,
    fact: `store ${storeId} ${JSON.stringify(catalog.store(storeId).name)}: its Lightning node ${url} is down: ${reason}`,
    hint:
      '; its orders have no Lightning invoice meanwhile. What was paid is recorded when the node ' +
      `is back. Start it, or set it anew: \`paygate store lightning ${storeId}\``,
  }));

export const refusedWarnings = (
  { lightningInvoices }: Pick<Records, 'lightningInvoices'>,
  now: number,
): Warning[] =>
  lightningInvoices
    .faults(now - refusedShownMs)
    .map(({ paymentHash, storeId, publicId, fault, endedAt }) => ({
      subject: paymentHash,
      storeId,
      since: endedAt ?? now,
      fact: `store ${storeId}: its Lightning node reported the invoice ${paymentHash} as paid, but ${fault}`,
      hint: `; the order ${publicId.slice(0, 8)}… does not count it. Compare it with the node`,
    }));
