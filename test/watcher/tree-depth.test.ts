// Large payments need more than an inclusion proof: the block's coinbase must have the same depth.
// The forged block is a dishonest miner's: one of its transactions is an inner node of another
// tree.

import { concatBytes } from '@noble/hashes/utils.js';
import { sha256x2 } from '@scure/btc-signer/utils.js';
import { afterEach, describe, expect, it } from 'vitest';
import { parseHeader } from '../../src/bitcoin/header.ts';
import { displayHex, hashBytes } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { solveHeader } from '../../src/sandbox/chain/simulated-block.ts';
import { createHeaderSync } from '../../src/watcher/header-sync.ts';
import { createProofs, ServerLie } from '../../src/watcher/proof/proofs.ts';
import { open } from '../electrum/open-session.ts';
import { closeApps, largeSat, openApp, type TestApp, untilReady } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** @param marker makes each transaction another one */
function transaction(kind: 'coinbase' | 'payment', marker: number): Uint8Array {
  const raw = Buffer.alloc(62);
  raw.writeUInt32LE(2, 0);
  raw[4] = 1; // inputs
  raw.fill(kind === 'coinbase' ? 0 : marker, 5, 37);
  raw.fill(0xff, 37, 41); // vout
  raw[41] = 2; // script
  raw.fill(marker, 42, 44);
  raw.fill(0xff, 44, 48); // sequence
  raw[48] = 1; // outputs
  raw.writeUInt32LE(50_000, 49);
  return raw; // the script of the output, and the lock time, are empty
}

const id = (raw: Uint8Array) => sha256x2(raw);
const above = (left: Uint8Array, right: Uint8Array) => sha256x2(concatBytes(left, right));

const coinbase = transaction('coinbase', 1);
const payment = transaction('payment', 2);
const other = transaction('payment', 3);

function blockOn(root: Uint8Array) {
  const genesis = parseHeader(networks.regtest.genesisHeader);
  const raw = genesis.raw.slice();
  new DataView(raw.buffer).setUint32(68, genesis.time + 600, true);
  raw.set(hashBytes(networks.regtest.genesisHash), 4);
  raw.set(root, 36);
  return parseHeader(solveHeader(raw));
}

interface Tree {
  readonly root: Uint8Array;
  readonly merkle: readonly Uint8Array[];
  readonly pos: number;
  readonly first: { readonly raw: Uint8Array; readonly merkle: readonly Uint8Array[] };
}

/**
 * Proofs at a server that has one block with this tree.
 * @param idAs the server's field name for the coinbase's id
 */
async function proving({ root, merkle, pos, first }: Tree, idAs = 'tx_hash') {
  const header = blockOn(root);
  const shown = (branch: readonly Uint8Array[]) => branch.map((node) => displayHex(node));
  const { session } = await open({
    'blockchain.block.headers': (peer, request) =>
      peer.answer(request, { count: 1, hex: hex(networks.regtest.genesisHeader), max: 2016 }),
    'blockchain.transaction.get_merkle': (peer, request) =>
      peer.answer(request, { block_height: 1, merkle: shown(merkle), pos }),
    'blockchain.transaction.id_from_pos': (peer, request) => {
      expect(request.params).toEqual([1, 0, true]);
      peer.answer(request, { [idAs]: displayHex(id(first.raw)), merkle: shown(first.merkle) });
    },
    'blockchain.transaction.get': (peer, request) => peer.answer(request, hex(first.raw)),
  });
  const records = await openTestStore();
  const { regtest: network } = networks;
  const proofs = createProofs({ records, network, proveDepthAboveSat: largeSat });
  const world = createTestWorld();
  const chainSync = createHeaderSync({ world, records, network, onTip: () => {} });
  await chainSync.sync(session, { height: 1, raw: header.raw });
  const place = await proofs.prove(session, displayHex(id(payment)), 1);
  if (place.kind !== 'proven') throw new Error(`${place.kind} is not proven`);
  return (valueSat: number) => proofs.checkTreeDepth(session, place, valueSat);
}

const honest: Tree = {
  root: above(id(coinbase), id(payment)),
  merkle: [id(coinbase)],
  pos: 1,
  first: { raw: coinbase, merkle: [id(payment)] },
};
const hidden = above(id(payment), id(other));
const forged: Tree = {
  root: above(id(coinbase), hidden),
  merkle: [id(other), id(coinbase)],
  pos: 2,
  first: { raw: coinbase, merkle: [hidden] },
};

const unproven = new ServerLie('block 1: its coinbase does not prove how deep its tree is');

describe('P-136 the depth of the tree', () => {
  it('is that of the coinbase in an honest block', async () => {
    const check = await proving(honest);
    await expect(check(largeSat + 1)).resolves.toBeUndefined();
  });

  it('is also read from an electrs before 0.11.1, whose field has another name', async () => {
    const check = await proving(honest, 'tx_id');
    await expect(check(largeSat + 1)).resolves.toBeUndefined();
  });

  it('exposes a transaction that hides below another one, if the amount is large', async () => {
    const check = await proving(forged);
    await expect(check(largeSat)).resolves.toBeUndefined();
    await expect(check(largeSat + 1)).rejects.toThrow(unproven);
  });

  it.each<[name: string, first: Tree['first']]>([
    ['another transaction than a coinbase', { raw: payment, merkle: [id(coinbase)] }],
    ['a branch to another root', { raw: coinbase, merkle: [id(other)] }],
    ['a branch with a duplicate', { raw: coinbase, merkle: [id(coinbase)] }],
    ['no branch', { raw: coinbase, merkle: [] }],
  ])('is not proven by %s', async (_, first) => {
    const check = await proving({ ...honest, first });
    await expect(check(largeSat + 1)).rejects.toThrow(unproven);
  });
});

describe('P-136 in the watcher', () => {
  const method = 'blockchain.transaction.id_from_pos';

  async function paidTwice(app: TestApp) {
    const [large, small] = [await app.newAddress(), await app.newAddress()];
    app.pay(large, largeSat + 1);
    app.pay(small, largeSat);
    await app.settle();
    app.chain.mine();
    await app.settle();
    return () => [app.statuses(large), app.statuses(small)];
  }

  it('the coinbase is requested if a payment is large', async () => {
    const app = await openApp();
    await untilReady(app);
    const statuses = await paidTwice(app);
    expect(statuses()).toEqual([
      ['0', '1'],
      ['0', '1'],
    ]);
    expect(app.server.count(method)).toBe(1);
  });

  it('a server that refuses the coinbase promotes no large payment until it returns it', async () => {
    const app = await openApp();
    await untilReady(app);
    const when = (asked: string) => asked === method;
    app.server.inject({ kind: 'error', code: -32601, message: 'unknown method', when });
    const statuses = await paidTwice(app);
    expect(statuses()).toEqual([['0'], ['0', '1']]);
    app.server.heal();
    await app.world.advance(120_000);
    await app.settle();
    expect(statuses()).toEqual([
      ['0', '1'],
      ['0', '1'],
    ]);
  });
});
