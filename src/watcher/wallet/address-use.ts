// Whether an address that was not issued was ever used. One server's history is not enough: each
// index that is left out takes the merchant's wallet nearer to its gap limit. A second server must
// have a history as well, or a transaction in a block of our chain pays the address. Spent funds
// count too. See docs/decisions/038.

import type { Scripthash } from '../../bitcoin/ids.ts';
import type { DerivedAddress } from '../../bitcoin/keychain.ts';
import type { HistoryItem } from '../../domain/payment/script-history.ts';
import { isUnknownTransaction, ServerError } from '../../electrum/requests.ts';
import type { Session } from '../../electrum/session.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Records } from '../../store/open-records.ts';
import type { Observation } from '../../store/payments/observation.ts';
import type { Subject } from '../proof/evidence.ts';
import type { Fallback } from '../proof/other-servers.ts';
import { type Proofs, ServerLie } from '../proof/proofs.ts';
import type { ServerChoice } from '../server-choice.ts';

interface ProofParts {
  readonly proofs: Pick<Proofs, 'output' | 'prove'>;
}

export interface AddressUseParts extends ProofParts {
  readonly servers: Pick<ServerChoice, 'other'>;
}

export interface UnissuedParts extends ProofParts {
  readonly session: Session;
  readonly records: Pick<Records, 'addresses'>;
  readonly fallback: Fallback;
}

type ScriptOfAddress = Pick<DerivedAddress, 'script' | 'scripthash'>;

/**
 * Items of a history that are fetched: in a mempool, the first one may be the spending transaction.
 */
const maxAsked = 3;

export type AddressUse =
  | 'none'
  /**
   * A second server has a history too, or a transaction in a block of our chain pays the address.
   */
  | 'used'
  /** Only one server has a history; a second one has none, or does not answer. */
  | 'claimed'
  /** One server shows a transaction that pays the address, and there is no second server. */
  | 'shown'
  /** The history names a block whose header has not come yet. */
  | 'open';

/** Ahead of the counter, or used by another program. */
export const isUnissued = ({ origin }: Subject['address']): boolean =>
  origin === 'ahead' || origin === 'foreign';

/** The observation of a history at an address that was not issued. */
export async function observeUnissued(
  { session, records, fallback, proofs }: UnissuedParts,
  { address, history, status }: Pick<Subject, 'address' | 'history' | 'status'>,
): Promise<Observation> {
  const { id: addressId, origin, scripthash } = address;
  const observation = { addressId, origin, seen: [], gone: [], statusHash: status };
  if (origin === 'foreign' || history.length === 0) return observation;
  const script = { scripthash, script: records.addresses.scriptOf(addressId) };
  // The fallback has an hourly allowance: invented histories must not spend other servers'
  // budgets.
  const second = fallback.askOther(session, (another) => hasHistoryAt(another, scripthash));
  if (await second) return observation;
  const found = await proofOf({ proofs }, session, script, history).catch((error: unknown) => {
    if (error instanceof ServerError) return 'none' as const;
    throw error;
  });
  if (found === 'proven') return observation;
  const statusHash = found === 'open' ? undefined : status;
  return { ...observation, statusHash, isUnproven: true };
}

/** The use of an address by a server's answer and, if there is one, a second server's. */
export async function useOf(
  parts: AddressUseParts,
  session: Session,
  script: ScriptOfAddress,
): Promise<AddressUse> {
  const history = await session.history(script.scripthash);
  if (history.length === 0) return useByOther(parts, session, script);
  const agrees = await hasHistoryAtOther(parts, session, script);
  if (agrees) return 'used';
  const found = await proofOf(parts, session, script, history);
  if (found === 'proven') return 'used';
  return found === 'shown' && agrees === undefined ? 'shown' : 'claimed';
}

/** The first server has no history: it may hide what another one can prove. */
async function useByOther(
  { proofs, servers }: AddressUseParts,
  session: Session,
  script: ScriptOfAddress,
): Promise<AddressUse> {
  const other = servers.other(session);
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

const hasHistoryAt = async (session: Session, scripthash: Scripthash): Promise<boolean> =>
  (await session.history(scripthash)).length > 0;

/** Undefined where there is no other server, or it does not answer. */
async function hasHistoryAtOther(
  { servers }: AddressUseParts,
  session: Session,
  { scripthash }: ScriptOfAddress,
): Promise<boolean | undefined> {
  const other = servers.other(session);
  if (other === undefined) return undefined;
  try {
    return await hasHistoryAt(other, scripthash);
  } catch (error) {
    if (error instanceof PaygateError) return undefined;
    throw error;
  }
}

/**
 * Whether a transaction of the history that pays the script was shown, and proven to be in a block.
 */
async function proofOf(
  { proofs }: ProofParts,
  session: Session,
  { script }: ScriptOfAddress,
  history: readonly HistoryItem[],
): Promise<'proven' | 'open' | 'shown' | 'none'> {
  let found: 'open' | 'shown' | 'none' = 'none';
  for (const { txid, position } of history.slice(0, maxAsked)) {
    try {
      if ((await proofs.output(session, txid, script)) === undefined) continue;
      if (found === 'none') found = 'shown';
      if (position.kind === 'mempool') continue;
      const { kind } = await proofs.prove(session, txid, position.height);
      if (kind === 'proven') return 'proven';
      if (kind === 'ahead') found = 'open';
    } catch (error) {
      // A missing or false transaction is no reason to leave an index out.
      const isNone = error instanceof ServerError && isUnknownTransaction(error);
      if (!isNone && !(error instanceof ServerLie)) throw error;
    }
  }
  return found;
}
