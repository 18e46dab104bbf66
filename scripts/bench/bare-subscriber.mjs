// The peer of `small-reconnect`, a helper process: subscribes to as many scripthashes.

import { askForEach, randomScripthashes } from './electrum-client.mjs';

const METHOD = 'blockchain.scripthash.subscribe';

process.once('message', async (/** @type {{ port: number, count: number }} */ { port, count }) => {
  process.send?.({ ms: await askForEach(port, METHOD, randomScripthashes(count)) });
});
