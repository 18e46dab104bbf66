// Who waits for news, of one address or of anything: from a commit to the sockets and the dashboard's pages, in this
// process alone. It polls nothing and keeps nothing.

import type { Receipt } from '../store/views/receipts.ts';

export type Listener = (receipt: Receipt) => void;

export interface Feed {
  /** A payment is another than before, and that is on the disk. */
  changed(paymentId: number): void;
  /** What pages show of payments besides changed, and that is on the disk: a price, how deep they are. */
  stirred(): void;
  /** @returns ends it */
  listen(address: string, listener: Listener): () => void;
  /** To all of it. @returns ends it */
  listenToAll(listener: () => void): () => void;
}

/** @param read a payment out of the file, which is opened after the feed is made */
export function createFeed(read: (paymentId: number) => Receipt | undefined): Feed {
  const listeners = new Map<string, Set<Listener>>();
  const listenersToAll = new Set<() => void>();
  function stirred(): void {
    for (const listener of listenersToAll) listener();
  }
  return {
    changed(paymentId) {
      stirred();
      if (listeners.size === 0) return;
      const receipt = read(paymentId);
      if (receipt === undefined) return;
      for (const listener of listeners.get(receipt.address) ?? []) listener(receipt);
    },
    stirred,
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
