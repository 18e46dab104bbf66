// One script's history turned into an observation: every transaction that pays us, with its place
// proven. No transaction of the database is open while this waits for the network.

import type { Txid } from '../bitcoin/ids.ts';
import { type HistoryItem, type Position, statusHash } from '../domain/history.ts';
import type { Block } from '../domain/payment.ts';
import { ServerError } from '../electrum/framing.ts';
import type { Session } from '../electrum/session.ts';
import type { AddressRow } from '../store/addresses.ts';
import type { Observation, Output, PaymentRow, Seen } from '../store/ledger.ts';
import type { Store } from '../store/open.ts';
import type { Inclusion, Verifier } from './verifier.ts';

export interface GatherParts {
  readonly session: Session;
  readonly verifier: Verifier;
  readonly store: Store;
}

/** Items worked on at once, so that one flooded address leaves room for the others. */
const itemsAtOnce = 25;

type Place = Inclusion | { readonly kind: 'mempool' };

/** What one item comes to. `open`: nothing yet, it must be looked at again. */
type Gathered =
  | { readonly kind: 'seen'; readonly seen: Seen }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'open' };

/** @throws Lie when a proof fails; PaygateError unavailable when the session ends */
export async function gather(
  parts: GatherParts,
  address: AddressRow,
  history: readonly HistoryItem[],
): Promise<Observation> {
  const { scripthash } = address;
  const status = statusHash(history);
  // Nobody was given these: that they are used at all is all that counts.
  if (address.origin === 'ahead' || address.origin === 'foreign') {
    return { scripthash, seen: [], missing: [], statusHash: status };
  }
  const known = new Map(parts.store.ledger.paymentsOf(address.id).map((row) => [row.txid, row]));
  const gathered: Gathered[] = [];
  for (let start = 0; start < history.length; start += itemsAtOnce) {
    const items = history.slice(start, start + itemsAtOnce);
    const work = items.map((item) => gatherItem(parts, address.script, item, known.get(item.txid)));
    gathered.push(...(await Promise.all(work)));
  }
  const isOpen = gathered.some(({ kind }) => kind === 'open');
  return {
    scripthash,
    seen: gathered.flatMap((each) => (each.kind === 'seen' ? [each.seen] : [])),
    missing: missingFrom(history, [...known.values()]),
    statusHash: isOpen ? undefined : status,
  };
}

function missingFrom(history: readonly HistoryItem[], known: readonly PaymentRow[]): Txid[] {
  const named = new Set(history.map(({ txid }) => txid));
  const expected = known.filter(({ state }) => state !== 'dropped');
  return expected.map(({ txid }) => txid).filter((txid) => !named.has(txid));
}

async function gatherItem(
  parts: GatherParts,
  script: Uint8Array,
  { txid, position }: HistoryItem,
  row: PaymentRow | undefined,
): Promise<Gathered> {
  let found: [Output | undefined, Place];
  try {
    found = await Promise.all([
      row === undefined ? parts.verifier.output(parts.session, txid, script) : outputOf(row),
      placeOf(parts, txid, position, row),
    ]);
  } catch (error) {
    // It names a transaction and will not show it: the others must not wait for that.
    if (error instanceof ServerError) return { kind: 'open' };
    throw error;
  }
  const [output, place] = found;
  if (output === undefined || place.kind === 'unproven') return { kind: 'nothing' };
  if (place.kind === 'ahead') return { kind: 'open' };
  const block = place.kind === 'proven' ? place.block : null;
  return { kind: 'seen', seen: { txid, block, output } };
}

const outputOf = ({ valueSat, signalsRbf, coinbase }: PaymentRow): Output => ({
  valueSat,
  signalsRbf,
  coinbase,
});

async function placeOf(
  { session, verifier, store }: GatherParts,
  txid: Txid,
  position: Position,
  row: PaymentRow | undefined,
): Promise<Place> {
  if (position.kind === 'mempool') return { kind: 'mempool' };
  const known = provenBlock(row);
  if (known?.height === position.height && store.headers.bestHashAt(known.height) === known.hash) {
    return { kind: 'proven', block: known };
  }
  return verifier.prove(session, txid, position.height);
}

function provenBlock(row: PaymentRow | undefined): Block | undefined {
  if (row === undefined || row.height === null || row.blockHash === null) return undefined;
  return { height: row.height, hash: row.blockHash };
}
