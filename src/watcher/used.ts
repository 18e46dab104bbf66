// Whether an address that nobody was given was ever used. That one server names transactions of it is not
// enough: each index that is left out takes the merchant's wallet nearer to the end of what it looks at. The
// funds may be spent long ago; what brought them stands in the history all the same, at its beginning.

import type { DerivedAddress } from '../bitcoin/keychain.ts';
import type { HistoryItem } from '../domain/history.ts';
import { isUnknown, ServerError } from '../electrum/framing.ts';
import type { Session } from '../electrum/session.ts';
import { PaygateError } from '../errors.ts';
import { Lie } from './lie.ts';
import type { Verifier } from './verifier.ts';

export interface UsedParts {
  readonly verifier: Pick<Verifier, 'output' | 'prove'>;
  /** Another server whose word counts. */
  readonly elsewhere: (session: Session) => Session | undefined;
}

type Script = Pick<DerivedAddress, 'script' | 'scripthash'>;

/** Transactions of a history that are asked for: in a mempool the first may be the one that spends. */
const mostAsked = 3;

/**
 * Where two servers disagree, only what stands in a block of our chain counts. Without a second voice, a
 * transaction that is there and pays the script does.
 */
export async function isUsed(parts: UsedParts, session: Session, script: Script): Promise<boolean> {
  const history = await session.history(script.scripthash);
  if (history.length === 0) return false;
  const agrees = await isNamedElsewhere(parts, session, script);
  if (agrees) return true;
  return isPaid(parts, session, script, history, agrees === false);
}

/** Undefined where there is no other server, or it does not say. */
async function isNamedElsewhere(
  { elsewhere }: UsedParts,
  session: Session,
  { scripthash }: Script,
): Promise<boolean | undefined> {
  const other = elsewhere(session);
  if (other === undefined) return undefined;
  try {
    return (await other.history(scripthash)).length > 0;
  } catch (error) {
    if (error instanceof PaygateError) return undefined;
    throw error;
  }
}

/** Whether a transaction of a history was shown that pays the script, and is proven where that is asked for. */
async function isPaid(
  { verifier }: UsedParts,
  session: Session,
  { script }: Script,
  history: readonly HistoryItem[],
  proven: boolean,
): Promise<boolean> {
  for (const { txid, position } of history.slice(0, mostAsked)) {
    try {
      if ((await verifier.output(session, txid, script)) === undefined) continue;
      if (!proven) return true;
      if (position.kind === 'mempool') continue;
      if ((await verifier.prove(session, txid, position.height)).kind === 'proven') return true;
    } catch (error) {
      // That there is none, and another one in its place, is no reason to leave an index out.
      const isNone = error instanceof ServerError && isUnknown(error);
      if (!isNone && !(error instanceof Lie)) throw error;
    }
  }
  return false;
}
