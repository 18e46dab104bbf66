// The settings of notifications in the file: the mail server, and the targets of the operator and
// of each store. They hold the password of the mail server, as the file holds webhook secrets.

import {
  type MailServer,
  type NotifyTarget,
  noTarget,
} from '../../domain/delivery/notification-settings.ts';
import type { Tx } from '../db/writer.ts';
import type { Catalog } from '../wallets/catalog.ts';

/** Null for the operator. */
export type TargetOwner = number | null;

type Readable = Pick<Catalog, 'setting'>;
type Writable = Pick<Catalog, 'putSetting'>;

const mailName = 'notify_mail';
const targetName = (owner: TargetOwner): string =>
  owner === null ? 'notify_operator' : `notify_store_${owner}`;

/** Undefined if no mail is sent. */
export function mailServer(catalog: Readable): MailServer | undefined {
  const text = catalog.setting(mailName) ?? '';
  return text === '' ? undefined : (JSON.parse(text) as MailServer);
}

export const putMailServer = (tx: Tx, catalog: Writable, server: MailServer | undefined): void =>
  catalog.putSetting(tx, mailName, server === undefined ? '' : JSON.stringify(server));

export function notifyTarget(catalog: Readable, owner: TargetOwner): NotifyTarget {
  const text = catalog.setting(targetName(owner));
  return text === undefined ? noTarget : (JSON.parse(text) as NotifyTarget);
}

export const putNotifyTarget = (
  tx: Tx,
  catalog: Writable,
  owner: TargetOwner,
  target: NotifyTarget,
): void => catalog.putSetting(tx, targetName(owner), JSON.stringify(target));
