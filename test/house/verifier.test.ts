// Whose word is whose, where several servers are asked for one thing at once.

import { afterEach, expect, test } from 'vitest';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { networks } from '../../src/bitcoin/network.ts';
import { Lie } from '../../src/watcher/lie.ts';
import { createVerifier } from '../../src/watcher/verifier.ts';
import { cleanUp } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';
import { open } from '../unit/electrum/open-session.ts';
import type { Script } from '../unit/electrum/scripted-server.ts';
import { chainOf } from '../unit/sandbox/support.ts';

afterEach(cleanUp);

test('a false transaction is laid to the server that sent it, not to one asked meanwhile', async () => {
  const chain = chainOf(110);
  const { address, script } = chain.faucet;
  const [asked, other] = [1_000, 2_000].map((valueSat) => chain.pay([{ address, valueSat }]));
  const rawOf = (txid: Txid | undefined) =>
    Buffer.from(chain.transaction(txid as Txid)?.raw ?? '').toString('hex');
  const answers = (raw: string): Script => ({
    'blockchain.transaction.get': (peer, request) => peer.answer(request, raw),
  });
  const liar = await open(answers(rawOf(other)));
  const honest = await open(answers(rawOf(asked)));
  const verifier = createVerifier({
    world: createTestWorld(),
    store: await openTestStore(),
    network: networks.regtest,
    proveDepthAboveSat: 0,
    onTip: () => {},
  });

  const [first, second] = await Promise.allSettled([
    verifier.output(liar.session, asked as Txid, script),
    verifier.output(honest.session, asked as Txid, script),
  ]);
  expect(first).toMatchObject({ status: 'rejected', reason: expect.any(Lie) });
  expect(second).toMatchObject({ status: 'fulfilled' });
  // What is true is not asked for again, whoever is in doubt.
  await verifier.output(liar.session, asked as Txid, script);
  expect(liar.peer.asked('blockchain.transaction.get')).toHaveLength(1);
});
