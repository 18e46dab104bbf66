// Indexes that are marked as used by another program, asked about again when the operator says so: that mark was once set by
// the word of one server. What neither a second server nor a block confirms is taken back, and given out again.

import type { Scripthash } from '../bitcoin/ids.ts';
import { isNoAnswer } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import type { Store } from '../store/open-store.ts';
import type { AddressPlace } from '../store/records/address-statements.ts';
import { unfinished } from '../store/records/address-statements.ts';
import type { Unused } from '../store/records/returned-indexes.ts';
import { asksForRecheck, endRecheck } from '../store/records/settings.ts';
import type { World } from '../world/world.ts';
import { type UsedParts, useOf } from './used.ts';

interface RecheckParts extends UsedParts {
  readonly world: Pick<World, 'log'>;
  readonly store: Store;
  readonly watchReserve: (scripthashes: readonly Scripthash[]) => Promise<void>;
  readonly isStopped: () => boolean;
}

/** Asked about at once. */
const askedAtOnce = 20;

/** @throws PaygateError unavailable when the session ends: it is begun again with the next one */
export async function recheckUsed(
  parts: RecheckParts,
  session: Session,
  walletId: number,
): Promise<void> {
  const { store, world, isStopped, watchReserve } = parts;
  const { addresses, catalog, database } = store;
  if (!asksForRecheck(catalog, walletId)) return;
  let takenBack = 0;
  let from = 0;
  for (;;) {
    const marked = addresses.foreignFrom(walletId, from, askedAtOnce);
    const last = marked.at(-1);
    if (last === undefined) break;
    if (isStopped()) return;
    const asked = await Promise.all(marked.map((each) => unusedAs(parts, session, each)));
    const unused = asked.flatMap((each) => each ?? []);
    await database.write((tx) => addresses.unmark(tx, unused));
    const freed = new Set(unused.map(({ id }) => id));
    await watchReserve(marked.filter(({ id }) => freed.has(id)).map((each) => each.scripthash));
    takenBack += unused.length;
    from = last.derivationIndex + 1;
  }
  await database.write((tx) => {
    addresses.giveBack(tx, walletId);
    endRecheck(tx, catalog, walletId);
  });
  world.log.info('indexes that were marked as used are asked about again', { walletId, takenBack });
}

/** Undefined where it is used indeed, or nothing is known of it now. */
async function unusedAs(
  parts: RecheckParts,
  session: Session,
  { id, scripthash, statusHash }: AddressPlace,
): Promise<Unused | undefined> {
  const script = { scripthash, script: parts.store.addresses.scriptOf(id) };
  const use = await useOf(parts, session, script).catch((error: unknown) => {
    if (isNoAnswer(error)) return 'open' as const;
    throw error;
  });
  if (use === 'used' || use === 'open') return undefined;
  return { id, statusHash: use === 'none' ? null : (statusHash ?? unfinished) };
}
