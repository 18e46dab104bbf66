// The final check of a test, after a clean stop. The database and the node agree on every payment
// on-chain, and the merchant's wallet has no other payments. No callback is pending or exhausted,
// and no honest server was banned.

import { statSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { expect } from 'vitest';
import { sat } from './network.ts';
import type { Stage } from './stage.ts';

interface PaymentFacts {
  readonly address: string;
  readonly txid: string;
  readonly valueSat: number;
  readonly height: number | null;
  readonly blockHash: string | null;
}

interface PaymentRow extends PaymentFacts {
  readonly state: string;
  readonly status: number;
}

/** An output to the node's wallet, as the wallet reports it. */
interface WalletOutput {
  readonly category: string;
  readonly address: string;
  readonly txid: string;
  readonly amount: number;
  readonly blockhash?: string;
  readonly blockheight?: number;
}

/** @param required the store's confirmations */
export async function expectAgreement(stage: Stage, required = 2): Promise<void> {
  const { db, network } = stage;
  // An internal error and the ban of a server are logged at this level.
  expect(stage.log().filter((line) => line.includes('"level":"error"'))).toEqual([]);
  expect(statSync(`${db}-wal`).size).toBe(0);
  const { payments, tip } = readDatabase(db);
  const standing = payments.filter(({ state }) => state !== 'dropped');
  const facts = standing.map(({ state: _, status: __, ...each }) => each);
  expect(sorted(facts)).toEqual(sorted(await walletPayments(stage)));

  const tipHeight = await network.rpc('getblockcount');
  expect(tip).toEqual({ height: tipHeight, hash: await network.rpc('getbestblockhash') });
  for (const { txid, height, blockHash, state, status } of standing) {
    const depth = height === null ? 0 : tipHeight - height + 1;
    const expected = depth >= required ? 'confirmed' : depth > 0 ? 'confirming' : 'unconfirmed';
    expect({ state, status }).toEqual({ state: expected, status: statuses[expected] });
    if (blockHash === null) continue;
    const block = await network.rpc('getblock', blockHash);
    expect(block).toMatchObject({ height, confirmations: depth });
    expect(block.tx).toContain(txid);
  }

  const callbacks = await stage.callbacks();
  const open = callbacks.filter(({ state }) => state === 'owed' || state === 'exhausted');
  expect(open).toEqual([]);
}

const statuses: Readonly<Record<string, number>> = { unconfirmed: 0, confirming: 1, confirmed: 2 };

function readDatabase(path: string) {
  const sqlite = new SqliteDatabase(path, { readonly: true, fileMustExist: true });
  try {
    expect(sqlite.pragma('integrity_check', { simple: true })).toBe('ok');
    const payments = sqlite
      .prepare(
        `select a.address, p.txid, p.value_sat as valueSat, p.height, p.block_hash as blockHash,
          p.state, p.status from payments p join addresses a on a.id = p.address_id
          where p.preimage is null`,
      )
      .all() as PaymentRow[];
    const tip = sqlite
      .prepare('select height, hash from headers where on_best = 1 order by height desc limit 1')
      .get();
    return { payments, tip };
  } finally {
    sqlite.close();
  }
}

/** A payment is the sum that one transaction pays to one address. Replaced ones do not count. */
async function walletPayments({ merchant, network }: Stage): Promise<PaymentFacts[]> {
  const { transactions } = await merchant.rpc('listsinceblock');
  const mempool: string[] = await network.rpc('getrawmempool');
  const found = new Map<string, PaymentFacts>();
  for (const output of transactions as WalletOutput[]) {
    const { address, txid, amount, blockhash = null, blockheight = null } = output;
    expect(output.category).toBe('receive');
    if (blockhash === null && !mempool.includes(txid)) continue;
    const valueSat = (found.get(`${address} ${txid}`)?.valueSat ?? 0) + sat(amount);
    const place = { height: blockheight, blockHash: blockhash };
    found.set(`${address} ${txid}`, { address, txid, valueSat, ...place });
  }
  return [...found.values()];
}

const sorted = (payments: readonly PaymentFacts[]): PaymentFacts[] =>
  payments.toSorted((one, other) =>
    `${one.address} ${one.txid}` < `${other.address} ${other.txid}` ? -1 : 1,
  );
