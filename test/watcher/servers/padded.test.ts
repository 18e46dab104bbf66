// Servers that omit, pad or invent the witness of a true transaction: its id stays the same.

import { RawTx } from '@scure/btc-signer';
import { afterEach, describe, expect, test } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import { cleanUp } from '../../support/files.ts';
import type { Liar, Lie } from '../../support/liar.ts';
import { type Lying, prepareLying } from '../../support/lying.ts';
import { getTransaction } from '../../support/made-up.ts';

afterEach(cleanUp);

type Witnesses = Uint8Array[][];

const changed = (hex: string, change: (witnesses: Witnesses) => Witnesses | undefined): string => {
  const { witnesses = [], ...decoded } = RawTx.decode(Buffer.from(hex, 'hex'));
  const fresh = change(witnesses);
  const raw = RawTx.encode({ ...decoded, witnesses: fresh, segwitFlag: fresh !== undefined });
  return Buffer.from(raw).toString('hex');
};

const shown = (change: (witnesses: Witnesses) => Witnesses | undefined): Lie => {
  return ({ method }, message) => {
    if (method !== getTransaction || message.error) return message;
    const { result } = message;
    if (typeof result === 'string') return { ...message, result: changed(result, change) };
    return { ...message, result: { ...result, hex: changed(result.hex, change) } };
  };
};

const lies: Record<string, Lie> = {
  'leaves it out': shown(() => undefined),
  'pads it with 470 KB': shown((all) => all.map((each) => [...each, new Uint8Array(470_000)])),
  'pads it to nearly a block': shown((all) =>
    all.map((each) => [...each, new Uint8Array(3_900_000)]),
  ),
};

const pay = ({ chain }: Lying, address: string): Txid => chain.pay([{ address, valueSat: 7_000 }]);

const trueBytes = ({ chain }: Lying, txid: Txid): Buffer =>
  Buffer.from(chain.transaction(txid)?.raw ?? []);

const recordedBytes = ({ records }: Lying, txid: Txid): Buffer =>
  Buffer.from(records.ledger.rawOf(txid) ?? []);

async function lying(servers: number, lie: Lie): Promise<Lying & { readonly liar: Liar }> {
  const app = await prepareLying({ servers });
  await app.start();
  const { world, watcher } = app;
  await world.until(() => watcher.status().servers.every(({ state }) => state === 'live'), 'all');
  const liar = app.inUse();
  liar.lie = lie;
  return { ...app, liar };
}

describe.each(Object.entries(lies))('a server that %s', (_, lie) => {
  test('P-144 beside an honest one: the callback is sent at once, and the honest bytes are stored', async () => {
    const app = await lying(2, lie);
    const issued = await app.issue();
    const txid = pay(app, issued.address);
    await app.watcher.idle();
    expect(app.payments(issued)).toMatchObject([{ txid, state: 'unconfirmed' }]);
    expect(recordedBytes(app, txid)).toEqual(trueBytes(app, txid));
    app.chain.mine();
    await app.watcher.idle();
    expect(app.payments(issued)).toMatchObject([{ txid, state: 'confirming' }]);
  });

  test('P-144 alone: the callback is sent at once; the bytes are stored without a witness until it is honest', async () => {
    const app = await lying(1, lie);
    const { world, chain, server, liar } = { ...app, server: app.servers[0] };
    const issued = await app.issue();
    const txid = pay(app, issued.address);
    await app.watcher.idle();
    expect(app.payments(issued)).toMatchObject([{ txid, state: 'unconfirmed' }]);
    expect(recordedBytes(app, txid).length).toBeLessThan(trueBytes(app, txid).length);
    world.jumpWallClock(6 * 3_600_000);
    await app.minutes(2);
    liar.lie = undefined;
    world.jumpWallClock(6 * 3_600_000);
    await app.minutes(2);
    // Our bytes, once and again, and then the server's.
    expect(server?.count('blockchain.transaction.broadcast')).toBe(3);
    expect(recordedBytes(app, txid)).toEqual(trueBytes(app, txid));
    chain.mine(3);
    await app.watcher.idle();
    expect(app.payments(issued)).toMatchObject([{ txid, state: 'confirmed' }]);
  });
});
