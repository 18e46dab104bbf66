// Who waits for news, of one address or of anything: from a commit to the sockets and the dashboard's pages, in this
// process alone. It polls nothing and keeps nothing.

import type { Receipt } from '../store/views/receipts.ts';

export type ReceiptListener = (receipt: Receipt) => void;

export interface ChangeFeed {
  /** A payment is another than before, and that is on the disk. */
  paymentChanged(paymentId: number): void;
  /** What pages show of payments besides changed, and that is on the disk: a price, how deep they are. */
  pagesChanged(): void;
  /** @returns ends it */
  listen(address: string, listener: ReceiptListener): () => void;
  /** To all of it. @returns ends it */
  listenToAll(listener: () => void): () => void;
}

/** @param read a payment out of the file, which is opened after the feed is made */
export function createChangeFeed(read: (paymentId: number) => Receipt | undefined): ChangeFeed {
  const listeners = new Map<string, Set<ReceiptListener>>();
  const listenersToAll = new Set<() => void>();
  function stirred(): void {
    for (const listener of listenersToAll) listener();
  }
  return {
    paymentChanged(paymentId) {
      stirred();
      if (listeners.size === 0) return;
      const receipt = read(paymentId);
      if (receipt === undefined) return;
      for (const listener of listeners.get(receipt.address) ?? []) listener(receipt);
    },
    pagesChanged: stirred,
    listen(address, listener) {
      const waiting = listeners.get(address) ?? new Set();
      listeners.set(address, waiting);
      waiting.add(listener);
      return () => {
        waiting.delete(listener);
        if (waiting.size === 0) listeners.delete(address);
      };
    },
    listenToAll(listener) {
      listenersToAll.add(listener);
      return () => listenersToAll.delete(listener);
    },
  };
}
