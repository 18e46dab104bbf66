// Whether an address that nobody was given was ever used. That one server names transactions of it is not
// enough: each index that is left out takes the merchant's wallet nearer to the end of its gap limit. A second server
// must say the same, or a transaction in a block of our chain pays the address. The funds may be spent long ago; what brought
// them stands in the history all the same, at its beginning.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { DerivedAddress } from '../bitcoin/keychain.ts';
import type { HistoryItem } from '../domain/script-history.ts';
import { isUnknownTransaction, ServerError } from '../electrum/requests.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Store } from '../store/open-store.ts';
import type { Observation } from '../store/records/ledger.ts';
import type { Elsewhere } from './elsewhere.ts';
import type { Subject } from './gather.ts';
import { Lie } from './lie.ts';
import type { Proofs } from './verifier.ts';

interface ProofParts {
  readonly proofs: Pick<Proofs, 'output' | 'prove'>;
}

export interface UsedParts extends ProofParts {
  /** Another server whose word counts. */
  readonly elsewhere: (session: Session) => Session | undefined;
}

export interface AheadParts extends ProofParts {
  readonly session: Session;
  readonly store: Pick<Store, 'addresses'>;
  readonly elsewhere: Elsewhere;
}

type Script = Pick<DerivedAddress, 'script' | 'scripthash'>;

/** Transactions of a history that are asked for: in a mempool the first may be the one that spends. */
const mostAsked = 3;

export type Use =
  /** It has no history. */
  | 'none'
  /** A second server names a history too, or a transaction in a block of our chain pays the address. */
  | 'used'
  /** One server alone says so, and a second one says nothing, or says no. */
  | 'claimed'
  /** One server shows a transaction that pays the address, and there is no second server. */
  | 'shown'
  /** The history names a block whose header has not come yet. */
  | 'open';

/** What a server said of an address. */
export interface Found {
  readonly use: Use;
  readonly by: Session;
}

/** Ahead of the counter, or used by another program. */
export const isHeldByNobody = ({ origin }: Subject['address']): boolean =>
  origin === 'ahead' || origin === 'foreign';

/** What a history says of an address that is ahead of the counter, as the ledger takes it. */
export async function observeAhead(
  { session, store, elsewhere, proofs }: AheadParts,
  { address, history, status }: Pick<Subject, 'address' | 'history' | 'status'>,
): Promise<Observation> {
  const { id: addressId, origin, scripthash } = address;
  const observation = { addressId, origin, seen: [], gone: [], statusHash: status };
  if (origin === 'foreign' || history.length === 0) return observation;
  const script = { scripthash, script: store.addresses.scriptOf(addressId) };
  // Billed: a server that names thousands must not spend what the other one forgives.
  const second = elsewhere.askOther(session, (another) => isNamedBy(another, scripthash));
  if (await second) return observation;
  const found = await proofOf({ proofs }, session, script, history).catch((error: unknown) => {
    if (error instanceof ServerError) return 'none' as const;
    throw error;
  });
  if (found === 'proven') return observation;
  const statusHash = found === 'open' ? undefined : status;
  return { ...observation, statusHash, isUnproven: true };
}

/** What a server and, where there is one, a second server say of an address. */
export async function useOf(parts: UsedParts, session: Session, script: Script): Promise<Use> {
  const history = await session.history(script.scripthash);
  if (history.length === 0) return useElsewhere(parts, session, script);
  const agrees = await isNamedElsewhere(parts, session, script);
  if (agrees) return 'used';
  const found = await proofOf(parts, session, script, history);
  if (found === 'proven') return 'used';
  return found === 'shown' && agrees === undefined ? 'shown' : 'claimed';
}

/** Asks another server if the first one names nothing: it may hide what another one can prove. */
async function useElsewhere(
  { proofs, elsewhere }: UsedParts,
  session: Session,
  script: Script,
): Promise<Use> {
  const other = elsewhere(session);
  if (other === undefined) return 'none';
  try {
    const history = await other.history(script.scripthash);
    if (history.length === 0) return 'none';
    const found = await proofOf({ proofs }, other, script, history);
    return found === 'proven' ? 'used' : 'claimed';
  } catch (error) {
    if (error instanceof PaygateError) return 'none';
    throw error;
  }
}

const isNamedBy = async (session: Session, scripthash: Scripthash): Promise<boolean> =>
  (await session.history(scripthash)).length > 0;

/** Undefined where there is no other server, or it does not say. */
async function isNamedElsewhere(
  { elsewhere }: UsedParts,
  session: Session,
  { scripthash }: Script,
): Promise<boolean | undefined> {
  const other = elsewhere(session);
  if (other === undefined) return undefined;
  try {
    return await isNamedBy(other, scripthash);
  } catch (error) {
    if (error instanceof PaygateError) return undefined;
    throw error;
  }
}

/** How far a transaction of a history that pays the script was shown, and proven to be in a block. */
async function proofOf(
  { proofs }: ProofParts,
  session: Session,
  { script }: Script,
  history: readonly HistoryItem[],
): Promise<'proven' | 'open' | 'shown' | 'none'> {
  let found: 'open' | 'shown' | 'none' = 'none';
  for (const { txid, position } of history.slice(0, mostAsked)) {
    try {
      if ((await proofs.output(session, txid, script)) === undefined) continue;
      if (found === 'none') found = 'shown';
      if (position.kind === 'mempool') continue;
      const { kind } = await proofs.prove(session, txid, position.height);
      if (kind === 'proven') return 'proven';
      if (kind === 'ahead') found = 'open';
    } catch (error) {
      // That there is none, and another one in its place, is no reason to leave an index out.
      const isNone = error instanceof ServerError && isUnknownTransaction(error);
      if (!isNone && !(error instanceof Lie)) throw error;
    }
  }
  return found;
}
