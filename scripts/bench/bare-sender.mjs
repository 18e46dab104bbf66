// The peer of `callbacks`, a helper process: the same number of requests by undici on keep-alive
// connections, with paygate's concurrency. It reads no file, signs nothing and records nothing.

import { Agent, request } from 'undici';

const CONCURRENCY = 64;

process.once('message', async (/** @type {{ urls: string[], each: number }} */ { urls, each }) => {
  const dispatcher = new Agent({ connections: 2, pipelining: 1 });
  const queue = Array.from({ length: urls.length * each }, (_, index) => urls[index % urls.length]);
  async function sendQueued() {
    for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
      const target = `${url}?status=1&addr=bcrt1q&value=1000&txid=00`;
      const { body } = await request(target, { dispatcher });
      await body.dump();
    }
  }
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: CONCURRENCY }, sendQueued));
  process.send?.({ ms: performance.now() - startedAt });
});
