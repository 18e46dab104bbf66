// Settings of the file that paygate writes for itself.

import type { NoticedFinding } from '../../domain/delivery/notice.ts';
import type { UnknownCallbackUrl } from '../../domain/store/unknown-callback-url.ts';
import type { Tx } from '../db/writer.ts';
import type { Catalog } from './catalog.ts';

/** When the file was last found to be a copy of another one, epoch milliseconds; 0 for never. */
export const copiedAt = (catalog: Catalog): number => Number(catalog.setting('copied_at') ?? 0);

/** `paygate restore` put the file in its place, and no server was started on it since. */
export const isRestored = (catalog: Catalog): boolean =>
  (catalog.setting(restoredName) ?? '') !== '';

/** Name of the setting in a restored file; '' since its first start. */
export const restoredName = 'restored';

/** @param until when the original may have sent what the file does not have, epoch milliseconds */
export function noteRaisedVersions(tx: Tx, catalog: Catalog, until: number): void {
  catalog.putSetting(tx, 'versions_raised_at', String(until));
  catalog.putSetting(tx, restoredName, '');
}

/** How long paygate says that the file is a copy, unless somebody says before that it was read. */
const copyWarningMs = 30 * 86_400_000;

/** @param text what the operator is to know of it */
export function noteCopied(tx: Tx, catalog: Catalog, now: number, text: string): void {
  catalog.putSetting(tx, 'copied_at', String(now));
  catalog.putSetting(tx, 'copied_text', text);
}

/** The warning that is still shown, and since when, epoch milliseconds. */
export function copyWarning(
  catalog: Catalog,
  now: number,
): { readonly at: number; readonly text: string } | undefined {
  const text = catalog.setting('copied_text') ?? '';
  const at = copiedAt(catalog);
  return text === '' || now - at > copyWarningMs ? undefined : { at, text };
}

/** The operator has read it. */
export const dismissCopy = (tx: Tx, catalog: Catalog): void =>
  catalog.putSetting(tx, 'copied_text', '');

/** When a shop first answered a test callback well, epoch milliseconds; undefined for never. */
export function testedAt(catalog: Pick<Catalog, 'setting'>): number | undefined {
  const text = catalog.setting('callback_tested_at');
  return text === undefined ? undefined : Number(text);
}

export const noteTested = (tx: Tx, catalog: Pick<Catalog, 'putSetting'>, now: number): void =>
  catalog.putSetting(tx, 'callback_tested_at', String(now));

/**
 * When alarms were first seen, epoch milliseconds, by their keys. What an alarm is, is not known
 * here.
 */
export type AlarmTimes = Readonly<Record<string, number>>;

export function readAlarmTimes(catalog: Pick<Catalog, 'setting'>): AlarmTimes {
  const text = catalog.setting('alarm_times');
  return text === undefined ? {} : (JSON.parse(text) as AlarmTimes);
}

export const writeAlarmTimes = (
  tx: Tx,
  catalog: Pick<Catalog, 'putSetting'>,
  times: AlarmTimes,
): void => catalog.putSetting(tx, 'alarm_times', JSON.stringify(times));

/** The findings that were announced and that have not ended, by their keys. */
export type AnnouncedFindings = Readonly<Record<string, NoticedFinding>>;

export function readAnnounced(catalog: Pick<Catalog, 'setting'>): AnnouncedFindings {
  const text = catalog.setting('announced_findings');
  return text === undefined ? {} : (JSON.parse(text) as AnnouncedFindings);
}

export const writeAnnounced = (
  tx: Tx,
  catalog: Pick<Catalog, 'putSetting'>,
  announced: AnnouncedFindings,
): void => catalog.putSetting(tx, 'announced_findings', JSON.stringify(announced));

/** Callback URLs that addresses were asked for with and that no store has. */
export function readUnmatched(catalog: Pick<Catalog, 'setting'>): readonly UnknownCallbackUrl[] {
  const text = catalog.setting('unmatched_callbacks');
  return text === undefined ? [] : (JSON.parse(text) as UnknownCallbackUrl[]);
}

export const writeUnmatched = (
  tx: Tx,
  catalog: Pick<Catalog, 'putSetting'>,
  list: readonly UnknownCallbackUrl[],
): void => catalog.putSetting(tx, 'unmatched_callbacks', JSON.stringify(list));

/** A change of a store that a key was refused while "Connect a plugin" was open. */
export interface RefusedChange {
  readonly keyId: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Path of the operation, below `/api`. */
  readonly path: string;
  /** Without secrets. */
  readonly reason: string;
}

/** The last one. */
export function readRefusedChange(catalog: Pick<Catalog, 'setting'>): RefusedChange | undefined {
  const text = catalog.setting('refused_change');
  return text === undefined ? undefined : (JSON.parse(text) as RefusedChange);
}

export const writeRefusedChange = (
  tx: Tx,
  catalog: Pick<Catalog, 'putSetting'>,
  refused: RefusedChange,
): void => catalog.putSetting(tx, 'refused_change', JSON.stringify(refused));

/** Wallets whose indexes that are marked as used by another program are to be asked about again. */
const toRecheck = (catalog: Pick<Catalog, 'setting'>): number[] =>
  JSON.parse(catalog.setting('recheck_used') ?? '[]') as number[];

export const asksForRecheck = (catalog: Pick<Catalog, 'setting'>, walletId: number): boolean =>
  toRecheck(catalog).includes(walletId);

export function askForRecheck(tx: Tx, catalog: Catalog, walletId: number): void {
  const all = [...new Set([...toRecheck(catalog), walletId])];
  catalog.putSetting(tx, 'recheck_used', JSON.stringify(all));
}

export function endRecheck(tx: Tx, catalog: Catalog, walletId: number): void {
  const rest = toRecheck(catalog).filter((each) => each !== walletId);
  catalog.putSetting(tx, 'recheck_used', JSON.stringify(rest));
}

/** When every address was last known to be watched, epoch milliseconds; undefined for never. */
export function watchedAt(catalog: Pick<Catalog, 'setting'>): number | undefined {
  const text = catalog.setting('watched_at');
  return text === undefined ? undefined : Number(text);
}

export const noteWatched = (tx: Tx, catalog: Pick<Catalog, 'putSetting'>, now: number): void =>
  catalog.putSetting(tx, 'watched_at', String(now));
