// Who waits for news of which address: from a commit to the sockets, in this process alone. It polls
// nothing and keeps nothing.

import type { Receipt } from '../store/receipts.ts';

export type Listener = (receipt: Receipt) => void;

export interface Feed {
  /** A payment is another than before, and that is on the disk. */
  changed(paymentId: number): void;
  /** What is known of it besides changed: for those who listen to all. */
  stirred(paymentId: number): void;
  /** @returns ends it */
  listen(address: string, listener: Listener): () => void;
  /** Of every address. @returns ends it */
  listenToAll(listener: Listener): () => void;
}

/** @param read a payment out of the file, which is opened after the feed is made */
export function createFeed(read: (paymentId: number) => Receipt | undefined): Feed {
  const listeners = new Map<string, Set<Listener>>();
  const listenersToAll = new Set<Listener>();
  return {
    changed(paymentId) {
      if (listeners.size + listenersToAll.size === 0) return;
      const receipt = read(paymentId);
      if (receipt === undefined) return;
      for (const listener of listeners.get(receipt.address) ?? []) listener(receipt);
      for (const listener of listenersToAll) listener(receipt);
    },
    stirred(paymentId) {
      if (listenersToAll.size === 0) return;
      const receipt = read(paymentId);
      if (receipt === undefined) return;
      for (const listener of listenersToAll) listener(receipt);
    },
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
