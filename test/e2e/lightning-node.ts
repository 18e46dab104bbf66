// The interface to a merchant's node against a real LND with a channel, by a macaroon that can only
// receive. Its nodes are new: nothing was paid at them.

import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { Settlements } from '../../src/domain/order/lightning-invoice.ts';
import type { KnownNode } from '../../src/domain/store/lightning-node.ts';
import type { LightningNode, NodeIdentity } from '../../src/lightning/node.ts';
import { openNode } from '../../src/lightning/open-node.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import type { Lightning, Lnd } from './lnd.ts';
import { waitLimit } from './slowness.ts';

const request = { valueSat: 1_000, seconds: 900, text: 'Order 7', externalId: 'order-7' };
const receiveOnly = ['invoices:read', 'invoices:write'];

export function testNode(nodes: () => Lightning): void {
  let lightning: Lightning;
  let merchant: Lnd;
  let credential: string;
  let identity: NodeIdentity;
  let node: LightningNode;

  const open = (change: Partial<KnownNode> = {}) => {
    const world = createNodeWorld({ logLevel: 'silent' });
    const entered = { kind: 'lnd', url: merchant.url, credential, ...change } as const;
    return openNode(world, entered, { network: 'regtest' });
  };

  beforeAll(async () => {
    lightning = nodes();
    [merchant] = lightning.merchants as [Lnd];
    credential = await merchant.bake(...receiveOnly);
    identity = await open().check();
    node = open(identity);
  });

  test('a macaroon for invoices is accepted; key and certificate are found', async () => {
    const { identity_pubkey } = await merchant.ask('/v1/getinfo');
    expect(identity).toEqual({
      publicKey: identity_pubkey,
      certificate: { kind: 'pinned', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      cursor: '0.1',
    });
  });

  test('a macaroon that may spend, or see more, is refused', async () => {
    const others = [
      ['invoices:read', 'invoices:write', 'offchain:write'],
      ['invoices:read', 'invoices:write', 'onchain:write'],
      ['invoices:read', 'invoices:write', 'info:read'],
      ['invoices:read'],
      ['uri:/lnrpc.Lightning/AddInvoice'],
    ];
    for (const permissions of others) {
      const check = open({ credential: await merchant.bake(...permissions) }).check();
      await expect(check, permissions.join()).rejects.toMatchObject({ code: 'forbidden' });
      await expect(check).rejects.toThrow(/^the macaroon permits .*lncli bakemacaroon/);
    }
  });

  test('LND itself denies the macaroon everything else', async () => {
    const wrong = open({ credential: credential.replace(/..$/, '00') });
    await expect(wrong.createInvoice(request)).rejects.toMatchObject({ code: 'forbidden' });
  });

  test('an invoice is paid, and known within a second', async () => {
    const { invoice, paymentHash } = await node.createInvoice(request);
    const stop = new AbortController();
    const elements = node.settlements(identity.cursor, stop.signal)[Symbol.asyncIterator]();
    expect((await elements.next()).value.settled).toEqual([]);
    const next = elements.next();
    // Nothing shows when LND has opened the stream, so something else is asked meanwhile.
    await merchant.ask('/v1/channels');
    const preimage = await lightning.pay(invoice);
    const paidAt = Date.now();
    const { settled, cursor }: Settlements = (await next).value;
    expect(Date.now() - paidAt).toBeLessThan(waitLimit(1_000));
    stop.abort();
    expect(settled).toEqual([
      {
        ...{ paymentHash, preimage, valueSat: 1_000, externalId: 'order-7' },
        settledAt: expect.any(Number),
      },
    ]);
    expect(createHash('sha256').update(preimage, 'hex').digest('hex')).toBe(paymentHash);
    expect(cursor).toBe('1.1');
  });

  test('a cursor resumes after a lost connection and a killed node', async () => {
    const invoices = await Promise.all([1, 2, 3].map(() => node.createInvoice(request)));
    const [first, second, third] = invoices;
    await lightning.pay(first?.invoice ?? '');
    await merchant.stop();
    // It may wait for the node, or fail at once.
    const early = lightning.pay(second?.invoice ?? '').catch(() => undefined);
    await expect(node.createInvoice(request)).rejects.toMatchObject({ code: 'unavailable' });
    await merchant.start();
    await lightning.untilConnected();
    if ((await early) === undefined) await lightning.pay(second?.invoice ?? '');
    const found = await take(node, identity.cursor, 3);
    const hashes = new Set(found.settled.map(({ paymentHash }) => paymentHash));
    expect(hashes.has(first?.paymentHash ?? '')).toBe(true);
    expect(hashes.has(second?.paymentHash ?? '')).toBe(true);
    await lightning.pay(third?.invoice ?? '');
    const firstOfAll = await take(node, '0.1', 4);
    expect(firstOfAll.settled).toHaveLength(4);
    const rest = await take(node, found.cursor, 1);
    expect(rest.settled.map(({ paymentHash }) => paymentHash)).toEqual([third?.paymentHash]);
  });

  test('nobody can pay a canceled invoice', async () => {
    const { invoice, paymentHash } = await node.createInvoice(request);
    await node.cancel(paymentHash);
    await expect(lightning.pay(invoice)).rejects.toThrow('incorrect_payment_details');
    const paid = await node.createInvoice(request);
    await lightning.pay(paid.invoice);
    await expect(node.cancel(paid.paymentHash)).rejects.toThrow('invoice already settled');
  });
}

/** Follows from a cursor until so many settlements came. */
async function take(node: LightningNode, from: string, count: number): Promise<Settlements> {
  const stop = new AbortController();
  const settled: Settlements['settled'][number][] = [];
  for await (const element of node.settlements(from, stop.signal)) {
    settled.push(...element.settled);
    if (settled.length >= count) {
      return { settled, cursor: element.cursor };
    }
  }
  throw new Error('settlements ended');
}
