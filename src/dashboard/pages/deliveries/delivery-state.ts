// The state of a callback or an event for people.

import { formatDoubt } from '../../../domain/delivery/callback-answer.ts';
import {
  type DeliveryState,
  deliveryWords,
  type StateWord,
} from '../../../domain/order/state-words.ts';
import type { StoreRow } from '../../../store/wallets/catalog.ts';

interface DeliveryRow {
  readonly state: DeliveryState;
  readonly attemptCount: number;
}

export interface ShownDelivery {
  readonly word: StateWord;
  readonly note: string | undefined;
}

const notes: Readonly<Partial<Record<DeliveryState, string>>> = {
  held: 'its payment is gone',
  superseded: 'by a newer one',
  unsent: 'not for the webhook',
};

/** @param store for a callback, whose store may have stopped them */
export function deliveryState(row: DeliveryRow, store?: StoreRow): ShownDelivery {
  const { state, attemptCount } = row;
  const isStopped = store !== undefined && (store.callbacksStopped || store.callbackUrl === '');
  const note =
    state !== 'owed'
      ? notes[state]
      : isStopped
        ? 'stopped: its store sends no callbacks'
        : attemptCount > 0
          ? 'retrying'
          : undefined;
  return { word: deliveryWords[state], note };
}

interface Answered {
  readonly reason: string | null;
  readonly outcome: string | null;
  readonly doubt?: string | null;
}

/** The last response for people; empty without an attempt. */
export function responseText({ reason, doubt, outcome }: Answered): string {
  if (typeof doubt === 'string') return `delivered, but the response ${formatDoubt(doubt)}`;
  return reason ?? outcome ?? '';
}
