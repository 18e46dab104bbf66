// The chain as a server serves it: the true chain, changed by the active faults.
// Each fault takes a view and falsifies parts of it; the other parts stay true.

import { sha256x2 } from '@scure/btc-signer/utils.js';
import { parseHeader } from '../../bitcoin/header.ts';
import { displayHex, hashBytes, isHash, type Scripthash, type Txid } from '../../bitcoin/ids.ts';
import { networks } from '../../bitcoin/network.ts';
import { merkleBranch, type SimulatedBlock, solveHeader } from '../chain/simulated-block.ts';
import type { SimulatedChain, TransactionLocation } from '../chain/simulated-chain.ts';
import { outpointKey, type SimulatedTransaction } from '../chain/simulated-transaction.ts';
import { canonicalOrder, type HistoryEntry, statusOf } from './history-results.ts';
import type { Fault, ServerLie } from './server-faults.ts';

export interface ChainView {
  readonly tipHeight: number;
  readonly genesisHash: string;
  header(height: number): Uint8Array | undefined;
  /** Mempool part in canonical order. */
  history(scripthash: Scripthash): HistoryEntry[];
  status(history: readonly HistoryEntry[]): string | null;
  transaction(txid: Txid): SimulatedTransaction | undefined;
  /** The bytes in the response of transaction.get. */
  raw(txid: Txid): Uint8Array | undefined;
  /** What a verbose transaction.get adds. */
  location(txid: Txid): TransactionLocation | undefined;
  txids(height: number): readonly Txid[] | undefined;
  proof(txid: Txid, height: number): { branch: string[]; position: number } | undefined;
}

/** An easy target that differs from regtest's own. */
const otherBits = 0x207ffffe;

function honest(chain: SimulatedChain): ChainView {
  return {
    tipHeight: chain.tipHeight,
    genesisHash: networks.regtest.genesisHash,
    header: (height) => chain.header(height),
    history: (scripthash) => chain.history(scripthash),
    status: statusOf,
    transaction: (txid) => chain.transaction(txid),
    raw: (txid) => chain.indexed(txid)?.raw,
    location: (txid) => chain.indexed(txid)?.location,
    txids: (height) => chain.block(height)?.txids,
    proof: (txid, height) => chain.branch(txid, height),
  };
}

/** The chain with the faults applied in the order of their injection. */
export function viewOf(chain: SimulatedChain, faults: readonly Fault[]): ChainView {
  let view = honest(chain);
  for (const fault of faults) {
    if (fault.kind === 'lag') view = { ...view, ...lagging(view, chain, fault.blocks) };
    if (fault.kind === 'rival') view = { ...view, ...rivalling(view, chain, fault.block) };
    if (fault.kind === 'omit') view = { ...view, ...omitting(view, fault) };
    if (fault.kind === 'lie') {
      view = { ...view, ...lying(view, fault.about, fault.fromHeight ?? view.tipHeight) };
    }
  }
  return view;
}

/** Without the last blocks. Their transactions are unconfirmed, except the coinbases. */
function lagging(view: ChainView, chain: SimulatedChain, blocks: number): Partial<ChainView> {
  const tipHeight = Math.max(0, view.tipHeight - blocks);
  const isMined = (txid: Txid) => (chain.heightOf(txid) ?? Number.POSITIVE_INFINITY) <= tipHeight;
  const visible = (transaction: SimulatedTransaction | undefined) =>
    transaction?.coinbase && !isMined(transaction.txid) ? undefined : transaction;
  const asUnconfirmed = ({ txid }: HistoryEntry): HistoryEntry[] => {
    const transaction = visible(view.transaction(txid));
    if (transaction === undefined) return [];
    const height = transaction.inputs.every((input) => isMined(input.txid)) ? 0 : -1;
    return [{ txid, height, feeSat: transaction.feeSat }];
  };
  return {
    tipHeight,
    header: (height) => (height <= tipHeight ? view.header(height) : undefined),
    history(scripthash) {
      const history = view.history(scripthash);
      const isShown = ({ height }: HistoryEntry) => height > 0 && height <= tipHeight;
      const rest = history.filter((item) => !isShown(item)).flatMap(asUnconfirmed);
      return [...history.filter(isShown), ...rest.sort(canonicalOrder)];
    },
    transaction: (txid) => visible(view.transaction(txid)),
    raw: (txid) => visible(view.transaction(txid)) && view.raw(txid),
    location: (txid) =>
      visible(view.transaction(txid)) && (isMined(txid) ? view.location(txid) : {}),
    txids: (height) => (height <= tipHeight ? view.txids(height) : undefined),
    proof: (txid, height) => (height <= tipHeight ? view.proof(txid, height) : undefined),
  };
}

/** With a competing block in place of the tip, while both have the same parent and no child. */
function rivalling(
  view: ChainView,
  chain: SimulatedChain,
  block: SimulatedBlock,
): Partial<ChainView> {
  const { height, transactions } = block;
  const { previous } = parseHeader(block.header);
  if (view.tipHeight !== height || chain.block(height - 1)?.hash !== previous) return {};
  const inBlock = new Map(transactions.map((each) => [each.txid, each]));
  const { waiting, gone } = besides(chain, block);
  const find = (txid: Txid) => inBlock.get(txid) ?? waiting.get(txid);
  const touching = (some: Iterable<SimulatedTransaction>, scripthash: Scripthash) =>
    [...some].filter(({ touches }) => touches.has(scripthash));
  const asUnconfirmed = ({ txid, inputs, feeSat }: SimulatedTransaction): HistoryEntry => {
    const isOnMined = inputs.every((input) => !waiting.has(input.txid));
    return { txid, feeSat, height: isOnMined ? 0 : -1 };
  };
  return {
    header: (at) => (at === height ? block.header : view.header(at)),
    history: (scripthash) => [
      ...view.history(scripthash).filter((item) => item.height > 0 && item.height < height),
      ...touching(transactions, scripthash).map(({ txid }) => ({ txid, height })),
      ...touching(waiting.values(), scripthash).map(asUnconfirmed).sort(canonicalOrder),
    ],
    transaction: (txid) => find(txid) ?? (gone.has(txid) ? undefined : view.transaction(txid)),
    raw: (txid) => find(txid)?.raw ?? (gone.has(txid) ? undefined : view.raw(txid)),
    location(txid) {
      if (inBlock.has(txid)) return { blockhash: block.hash, confirmations: 1 };
      if (waiting.has(txid)) return {};
      return gone.has(txid) ? undefined : view.location(txid);
    },
    txids: (at) => (at === height ? block.txids : view.txids(at)),
    proof(txid, at) {
      if (at !== height) return view.proof(txid, at);
      const position = block.txids.indexOf(txid);
      return position < 0 ? undefined : { branch: merkleBranch(block, position), position };
    },
  };
}

/** Transactions of tip and mempool that a competing block lacks: unconfirmed, or in conflict. */
function besides(chain: SimulatedChain, { txids, transactions }: SimulatedBlock) {
  const isIn = new Set(txids);
  const spent = new Set(transactions.flatMap(({ inputs }) => inputs.map(outpointKey)));
  const waiting = new Map<Txid, SimulatedTransaction>();
  const gone = new Set<Txid>();
  // Parents come before their children.
  for (const each of [...chain.tip.transactions, ...chain.mempool()]) {
    const { txid, coinbase, inputs } = each;
    if (isIn.has(txid)) continue;
    const isOut = inputs.some((input) => spent.has(outpointKey(input)) || gone.has(input.txid));
    if (coinbase || isOut) gone.add(txid);
    else waiting.set(txid, each);
  }
  return { waiting, gone };
}

function omitting(
  view: ChainView,
  { txids, scripthashes, deny }: Fault & { kind: 'omit' },
): Partial<ChainView> {
  const hidden = new Set(txids);
  const empty = new Set(scripthashes);
  const denied = (txid: Txid) => deny === true && hidden.has(txid);
  return {
    history: (scripthash) =>
      empty.has(scripthash) ? [] : view.history(scripthash).filter(({ txid }) => !hidden.has(txid)),
    transaction: (txid) => (denied(txid) ? undefined : view.transaction(txid)),
    raw: (txid) => (denied(txid) ? undefined : view.raw(txid)),
    location: (txid) => (denied(txid) ? undefined : view.location(txid)),
    proof: (txid, height) => (denied(txid) ? undefined : view.proof(txid, height)),
  };
}

const otherHash = (hash: string): string =>
  displayHex(sha256x2(isHash(hash) ? hashBytes(hash) : Buffer.from(hash)));

/** The last byte of the lock time is another one: a sound transaction with another id. */
function otherTransaction(raw: Uint8Array): Uint8Array {
  const other = raw.slice();
  other.set([(raw.at(-1) ?? 0) ^ 1], raw.length - 1);
  return other;
}

function lying(view: ChainView, about: ServerLie, fromHeight: number): Partial<ChainView> {
  switch (about) {
    case 'merkle':
      return {
        proof(txid, height) {
          const proof = view.proof(txid, height);
          // A block with the coinbase alone has an empty branch; a longer one is as wrong.
          return (
            proof && {
              ...proof,
              branch: [otherHash(proof.branch[0] ?? txid), ...proof.branch.slice(1)],
            }
          );
        },
      };
    case 'transaction':
      return {
        raw(txid) {
          const raw = view.raw(txid);
          return raw && otherTransaction(raw);
        },
      };
    case 'status':
      return { status: (history) => otherHash(view.status(history) ?? '') };
    case 'genesis':
      return { genesisHash: networks.mainnet.genesisHash };
    case 'invented-transaction':
      return { history: (scripthash) => withInvented(view, scripthash) };
    case 'wrong-height':
      return {
        history: (scripthash) => view.history(scripthash).map((item) => misplaced(view, item)),
      };
    case 'header-work':
    case 'header-bits':
    case 'header-link':
      return {
        header(height) {
          const header = view.header(height);
          return header && height >= fromHeight ? falsified(header, about) : header;
        },
      };
  }
}

function withInvented(view: ChainView, scripthash: Scripthash): HistoryEntry[] {
  const invented = { txid: otherHash(scripthash) as Txid, height: view.tipHeight };
  const history = view.history(scripthash);
  const mined = history.filter(({ height }) => height > 0);
  return [...mined, invented, ...history.slice(mined.length)];
}

function misplaced(view: ChainView, item: HistoryEntry): HistoryEntry {
  if (item.height <= 0) return item;
  const height = item.height < view.tipHeight ? item.height + 1 : item.height - 1;
  return { ...item, height };
}

function falsified(header: Uint8Array, about: 'header-work' | 'header-bits' | 'header-link') {
  const other = header.slice();
  const fields = new DataView(other.buffer);
  if (about === 'header-work') {
    // Regtest's target is met by every second hash, so a few steps find one that misses it.
    let nonce = 0;
    do {
      nonce += 1;
      fields.setUint32(76, nonce, true);
    } while ((sha256x2(other)[31] ?? 0) < 0x80);
    return other;
  }
  if (about === 'header-bits') fields.setUint32(72, otherBits, true);
  else other.set(sha256x2(header), 4);
  return solveHeader(other);
}
