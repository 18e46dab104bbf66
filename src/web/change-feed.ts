// Announces committed changes to listeners in this process: of the payments of one address, or of
// anything. Live sockets and the pages of the dashboard listen. It polls nothing and stores
// nothing.

import type { Records } from '../store/open-records.ts';
import type { Receipt } from '../store/payments/receipts.ts';

export type ReceiptListener = (receipt: Receipt) => void;

export interface ChangeFeed {
  /** Returns what ends it. */
  listen(address: string, listener: ReceiptListener): () => void;
  /** Listens to every change. Returns what ends it. */
  listenToAll(listener: () => void): () => void;
}

export function createChangeFeed({
  events,
  receipts,
}: Pick<Records, 'events' | 'receipts'>): ChangeFeed {
  const listeners = new Map<string, Set<ReceiptListener>>();
  const listenersToAll = new Set<() => void>();
  function pagesChanged(): void {
    for (const listener of listenersToAll) listener();
  }
  events.on('tipChanged', pagesChanged);
  events.on('pricesStored', pagesChanged);
  events.on('orderChanged', pagesChanged);
  events.on('paymentChanged', (paymentId) => {
    pagesChanged();
    if (listeners.size === 0) return;
    const receipt = receipts.byId(paymentId);
    if (receipt === undefined) return;
    for (const listener of listeners.get(receipt.address) ?? []) listener(receipt);
  });
  return {
    listen(address, listener) {
      const own = listeners.get(address) ?? new Set();
      listeners.set(address, own);
      own.add(listener);
      return () => {
        own.delete(listener);
        if (own.size === 0) listeners.delete(address);
      };
    },
    listenToAll(listener) {
      listenersToAll.add(listener);
      return () => listenersToAll.delete(listener);
    },
  };
}
