// Row `reconnect-10k`: a lost connection to the Electrum server with 10,000 watched addresses,
// from the new connection until every address is subscribed and compared, as the log tells.
// Peer: a bare client that subscribes to as many scripthashes of the same server (a simulated
// chain).

import { startChain } from './chain.mjs';
import { issuedFile } from './database.mjs';
import { askForEach, randomScripthashes } from './electrum-client.mjs';
import { serve, untilCaughtUp } from './server.mjs';
import { median, pairedRatio, takeTurns } from './stats.mjs';

const ADDRESSES = 10_000;
const ROUNDS = 7;
const MAX_RATIO = 3;
/** As src/electrum and src/watcher log it. */
const CONNECTED = 'electrum server connected';
const COMPARED = 'every address is compared';

/** @type {import('../bench.mjs').Bench} */
export async function benchReconnect(context) {
  const chain = await startChain();
  const { path } = await issuedFile(context, ADDRESSES);
  const server = await serve(context, path, chain.electrum, { readsLog: true });
  await untilCaughtUp(server);
  const contenders = {
    async ours() {
      const connected = server.logged(CONNECTED).then(() => performance.now());
      const compared = server.logged(COMPARED).then(() => performance.now());
      await chain.tell('disconnect');
      return (await compared) - (await connected);
    },
    bare: () =>
      askForEach(chain.port, 'blockchain.scripthash.subscribe', randomScripthashes(ADDRESSES)),
  };
  await takeTurns(1, contenders); // V8 compiles both
  const { ours, bare } = await takeTurns(ROUNDS, contenders);
  const ratio = pairedRatio(ours, bare);
  return {
    name: 'reconnect-10k',
    unit: 'ms',
    figure: median(ours),
    peer: { name: 'bare client', figure: median(bare) },
    ratio,
    floor: `≤ ${MAX_RATIO} × the bare client`,
    holds: ratio <= MAX_RATIO,
    details: [],
  };
}
