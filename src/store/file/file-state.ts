// What paygate notes in the file for itself: one named value each, as JSON in the table `settings`.
// What a merchant sets up is in tables of its own.

import type { BlockHash } from '../../bitcoin/ids.ts';
import type { NoticedFinding } from '../../domain/delivery/notice.ts';
import { type MailServer, noTarget } from '../../domain/delivery/notification-settings.ts';
import type { KnownNode } from '../../domain/store/lightning-node.ts';
import type { MoneyWay } from '../../domain/store/money-way.ts';
import type { UnknownCallbackUrl } from '../../domain/store/unknown-callback-url.ts';
import { usableZone } from '../../domain/text/time-zone.ts';
import { equals, type Orm, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { settings } from '../schema/schema.ts';

/** Null for the operator, or the id of a store. */
export type TargetOwner = number | null;

/** Why no payment is promoted to status 2. */
export interface HoldReason {
  /** `branch`: a server follows another valid branch; `lie`: the only server lied. */
  readonly kind: 'branch' | 'lie';
  readonly server: string;
  /** A text for the operator. */
  readonly text: string;
  /** The end of a branch with more work than ours that is too deep to follow. */
  readonly deepTip?: BlockHash | undefined;
}

/** A change of a store that a key was refused while "Connect a plugin" was open. */
export interface RefusedChange {
  readonly keyId: number;
  readonly at: number;
  /** Path of the operation, below `/api`. */
  readonly path: string;
  /** Without secrets. */
  readonly reason: string;
}

/** How a wallet's left-out indexes are issued (wallets/returned-indexes.ts). */
export interface ReturnedState {
  /** Left-out indexes below this one are issued. */
  readonly until: number;
  readonly count: number;
  /** No left-out index below this one is issued. */
  readonly withheldBelow?: number;
}

export type FileState = ReturnType<typeof createFileState>;

/** Times are epoch milliseconds. */
export function createFileState(orm: Orm) {
  const named = prepared(() =>
    orm.select({ value: settings.value }).from(settings).where(equals(settings.name, 'name')),
  );

  /** @param none what is read before anything was written, and after `undefined` was */
  const value = <T>(name: string, none: T) => ({
    read(): T {
      const row = named.get({ name });
      return row === undefined ? none : ((JSON.parse(row.value) as T | null) ?? none);
    },
    write(_tx: Tx, content: T): void {
      const set = { value: JSON.stringify(content ?? null) };
      orm
        .insert(settings)
        .values({ name, value: set.value })
        .onConflictDoUpdate({ target: settings.name, set })
        .run();
    },
  });
  const optional = <T>(name: string) => value<T | undefined>(name, undefined);
  const timeZone = optional<string>('time_zone');

  return {
    /** The name of the network that the file was made for. */
    network: optional<string>('network'),
    /** A random name of the database; a copy keeps it. */
    instance: value('instance', ''),
    /** The merchant's, as they chose it or their browser named it. */
    timeZone,
    /** The zone whose days are days. */
    zone: () => usableZone(timeZone.read()),
    /** Signs the cookies of payers, and hashes their networks; empty before the first of them. */
    payerSecret: value('payer_secret', ''),
    /** The checkpoint that the stored headers begin with, as text. */
    checkpoint: optional<string>('checkpoint'),
    baseUrl: value('base_url', ''),
    /** When the file was last found to be a copy. The text is empty once the operator read it. */
    copied: value('copied', { at: 0, text: '' }),
    /** `paygate restore` put the file in its place, and no server was started on it since. */
    restored: value(restoredName, false),
    /** Until when the original may have sent what the file does not have. */
    versionsRaisedAt: value(versionsRaisedName, 0),
    /** When a shop first answered a test callback well. */
    callbackTestedAt: optional<number>('callback_tested_at'),
    /** When every address was last known to be watched. */
    watchedAt: optional<number>('watched_at'),
    /** When alarms were first seen, by their keys. */
    alarmTimes: value<Readonly<Record<string, number>>>('alarm_times', {}),
    /** The findings that were announced and that have not ended, by their keys. */
    announced: value<Readonly<Record<string, NoticedFinding>>>('announced_findings', {}),
    /** Callback URLs that addresses were requested with and that no store has. */
    unmatched: value<readonly UnknownCallbackUrl[]>('unmatched_callbacks', []),
    refusedChange: optional<RefusedChange>('refused_change'),
    /** Wallets whose indexes that count as used by another program are to be checked again. */
    rechecks: value<readonly number[]>('recheck_used', []),
    /** Empty while payments are promoted. The watcher writes them, the ledger reads them. */
    hold: value<readonly HoldReason[]>('promotion_held', []),
    /** A block of the fork that the operator accepted, however deep it begins. */
    acceptedBranch: optional<BlockHash>('accepted_branch'),
    /** Undefined if no mail is sent. */
    mailServer: optional<MailServer>('notify_mail'),
    /** What its merchant answered; undefined without an answer. */
    moneyWay: (storeId: number) => optional<MoneyWay>(`money_way_${storeId}`),
    lightningNode: (storeId: number) => optional<KnownNode>(`lightning_node_${storeId}`),
    /** Up to where the reports of a node are recorded; it stays when the node is removed. */
    lightningCursor: (storeId: number, publicKey: string) =>
      value(`lightning_cursor_${storeId}_${publicKey}`, ''),
    notifyTarget: (owner: TargetOwner) =>
      value(owner === null ? 'notify_operator' : `notify_store_${owner}`, noTarget),
    returned: (walletId: number) =>
      value<ReturnedState>(`given_back:${walletId}`, { until: 0, count: 0 }),
  };
}

export const restoredName = 'restored';
export const versionsRaisedName = 'versions_raised_at';
