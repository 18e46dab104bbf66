// The reasons that stop every promotion to status 2, stored in the settings: the watcher writes
// them, the ledger reads them. Also the fork that the operator accepted, which ends them.

import type { BlockHash } from '../../bitcoin/ids.ts';
import type { Tx } from '../db/writer.ts';
import type { Catalog } from '../wallets/catalog.ts';

export interface HoldReason {
  /** `branch`: a server follows another valid branch; `lie`: the only server lied. */
  readonly kind: 'branch' | 'lie';
  readonly server: string;
  /** A text for the operator. */
  readonly text: string;
  /** The end of a branch with more work than ours that is too deep to follow. */
  readonly deepTip?: BlockHash | undefined;
}

const name = 'promotion_held';
const acceptedName = 'accepted_branch';

/** Empty when payments are promoted. */
export function readHold(catalog: Pick<Catalog, 'setting'>): readonly HoldReason[] {
  const text = catalog.setting(name);
  return text === undefined ? [] : (JSON.parse(text) as HoldReason[]);
}

/** A block of the fork that the operator accepted, however deep it begins. */
export const acceptedBranch = (catalog: Pick<Catalog, 'setting'>): BlockHash | undefined =>
  catalog.setting(acceptedName) as BlockHash | undefined;

export const acceptBranch = (
  tx: Tx,
  catalog: Pick<Catalog, 'putSetting'>,
  block: BlockHash,
): void => catalog.putSetting(tx, acceptedName, block);

export const writeHold = (
  tx: Tx,
  catalog: Pick<Catalog, 'putSetting'>,
  reasons: readonly HoldReason[],
): void => catalog.putSetting(tx, name, JSON.stringify(reasons));
