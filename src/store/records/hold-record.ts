// What holds back every promotion to 2, kept in the settings: the ledger reads it, the watcher writes it;
// and the branch that the operator accepted, which ends it.

import type { BlockHash } from '../../bitcoin/ids.ts';
import type { Tx } from '../db/writer.ts';
import type { Catalog } from './catalog.ts';

export interface HoldReason {
  /** `branch`: a server follows another valid branch; `lie`: the only server lied. */
  readonly kind: 'branch' | 'lie';
  readonly server: string;
  /** In words for the operator. */
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

/** A block of the branch that the operator told us to follow however deep it forks. */
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
