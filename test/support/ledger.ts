// A shop's file beside a simulated chain: it connects headers and observes histories as the watcher
// does, without servers and sockets.

import { parseHeader, workOfBits } from '../../src/bitcoin/header.ts';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { parseTransaction, valuePaidTo } from '../../src/bitcoin/transaction.ts';
import { connectHeaders, type HeaderConnection } from '../../src/domain/payment/chain.ts';
import type { Block } from '../../src/domain/payment/payment.ts';
import { type HistoryItem, statusHash } from '../../src/domain/payment/script-history.ts';
import type { SimulatedBlock } from '../../src/sandbox/chain/simulated-block.ts';
import type { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import type { Applied, Observation, SeenPayment } from '../../src/store/payments/observation.ts';
import type { AddressPlace, IssuedAddress } from '../../src/store/wallets/address-row.ts';
import type { NewStore } from '../../src/store/wallets/catalog.ts';
import { chainOf } from '../sandbox/support.ts';
import { type RecordedPayment, recorded } from './recorded.ts';
import { now, openTestStore, type TestRecords } from './store.ts';

export interface Shop extends TestRecords {
  readonly chain: SimulatedChain;
  /** What the chain's headers come to. */
  connect(): HeaderConnection;
  /** Takes in the chain's headers; answers how many callbacks that was worth. */
  follow(): Promise<number>;
  /** Mines, with whatever waits, and follows. */
  mine(count?: number): Promise<number>;
  /** What a server would show of the address now, proven. */
  observation(issued: IssuedAddress): Observation;
  /** Observes an address and applies that. */
  observe(issued: IssuedAddress, changes?: Partial<Observation>): Promise<Applied>;
  /** The callbacks of an address (or all), oldest first: their statuses. */
  told(issued?: IssuedAddress): number[];
  row(issued: IssuedAddress): AddressPlace;
  payments(issued: IssuedAddress): RecordedPayment[];
  payment(issued: IssuedAddress): RecordedPayment;
}

/** Blocks before anything happens: the faucet's coins are mature then. */
const firstBlocks = 110;

export async function openShop(changes: Partial<NewStore> = {}): Promise<Shop> {
  const records = await openTestStore();
  await records.addWallet();
  await records.addStore(changes);
  const shop = shopOn(records, chainOf(firstBlocks));
  await shop.follow();
  return shop;
}

/** @param clock the time of its commits; it stands still without one */
export function shopOn(
  records: TestRecords,
  chain: SimulatedChain,
  clock: () => number = () => now,
): Shop {
  const { headers, ledger, addresses, outbox, write } = records;

  function connect(): HeaderConnection {
    const tip = headers.tip();
    if (tip === undefined) return { kind: 'unlinked' };
    let fork = Math.min(tip.height, chain.tipHeight);
    while (chain.block(fork)?.hash !== headers.bestHashAt(fork)) fork -= 1;
    const fresh = Array.from({ length: chain.tipHeight - fork }, (_, at) =>
      parseHeader(chain.header(fork + 1 + at) ?? new Uint8Array()),
    );
    return connectHeaders(headers.view(networks.regtest, tip), fresh);
  }

  async function follow(): Promise<number> {
    if (headers.tip() === undefined) {
      const header = parseHeader(networks.regtest.genesisHeader);
      const first = { header, height: 0, work: workOfBits(header.bits) };
      await write((tx) => headers.setBest(tx, [first], -1));
    }
    const result = connect();
    if (result.kind === 'side') await write((tx) => headers.addSide(tx, result.added));
    if (result.kind !== 'best') return 0;
    return write((tx) => {
      headers.setBest(tx, result.added, result.forkHeight);
      return ledger.promote(tx, clock(), ledger.maturing());
    });
  }

  function row({ scripthash }: IssuedAddress): AddressPlace {
    const found = addresses.byScripthash(scripthash);
    if (found === undefined) throw new Error(`no address ${scripthash}`);
    return found;
  }

  function observation(issued: IssuedAddress): Observation {
    const history = chain.history(issued.scripthash);
    const { id: addressId, origin } = row(issued);
    const script = addresses.scriptOf(addressId);
    return {
      addressId,
      origin,
      seen: history.flatMap(({ txid, height }) => seenIn(chain, script, txid, height)),
      gone: [],
      statusHash: statusHash(history.map(({ txid, height }) => itemOf(txid, height))),
    };
  }

  const payments = (issued: IssuedAddress) => recorded(records, issued.id);
  return {
    ...records,
    chain,
    connect,
    follow,
    mine(count = 1) {
      chain.mine(count);
      return follow();
    },
    observation,
    observe: (issued, changes = {}) =>
      write((tx) => ledger.apply(tx, clock(), { ...observation(issued), ...changes })),
    told: (issued) =>
      outbox
        .list({ limit: 1000 })
        .filter(({ address }) => issued === undefined || address === issued.address)
        .map(({ status }) => status)
        .reverse(),
    row,
    payments,
    payment(issued) {
      const [only, second] = payments(issued);
      if (only === undefined || second !== undefined) throw new Error('not one payment');
      return only;
    },
  };
}

/** The block of a height, as a proof names it. */
function blockAt(chain: SimulatedChain, height: number): Block {
  const { hash }: Pick<SimulatedBlock, 'hash'> = chain.block(height) ?? {
    hash: '' as Block['hash'],
  };
  return { height, hash };
}

function seenIn(
  chain: SimulatedChain,
  script: Uint8Array,
  txid: Txid,
  height: number,
): SeenPayment[] {
  const raw = chain.transaction(txid)?.raw ?? new Uint8Array();
  const transaction = parseTransaction(raw);
  const valueSat = valuePaidTo(transaction, script);
  if (valueSat === 0) return [];
  const { signalsRbf, isCoinbase: coinbase } = transaction;
  const block = height > 0 ? blockAt(chain, height) : null;
  return [{ txid, block, output: { valueSat, signalsRbf, coinbase }, raw }];
}

const itemOf = (txid: Txid, height: number): HistoryItem => ({
  txid,
  position:
    height > 0 ? { kind: 'mined', height } : { kind: 'mempool', unconfirmedParents: height < 0 },
});
