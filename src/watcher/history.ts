// A script's history, of another server where the watched one refuses it or does not answer in time.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { HistoryItem } from '../domain/script-history.ts';
import { RequestTimeout } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { orAnother } from './elsewhere.ts';

/** A history, and which server has shown it. */
export interface ShownHistory {
  readonly by: Session;
  readonly history: readonly HistoryItem[];
}

export interface HistoryRequest {
  readonly session: Session;
  readonly scripthash: Scripthash;
  readonly bulk: boolean;
  /** The session did not answer, and another one did. */
  readonly onOverdue: (error: RequestTimeout) => void;
}

/** @throws what the session throws, where no other server shows it */
export function askHistory(
  elsewhere: (session: Session) => Session | undefined,
  { session, scripthash, bulk, onOverdue }: HistoryRequest,
): Promise<ShownHistory> {
  return orAnother(
    session,
    elsewhere,
    async (by) => ({ by, history: await by.history(scripthash, { bulk }) }),
    (error) => {
      if (error instanceof RequestTimeout) onOverdue(error);
    },
  );
}
