// The floor of `callbacks`, a process of its own: so many requests by undici on kept connections, as many at once as
// paygate has; nothing is read from a file, signed, looked up or marked.

import { Agent, request } from 'undici';

const AT_ONCE = 64;

process.once('message', async (/** @type {{ urls: string[], each: number }} */ { urls, each }) => {
  const dispatcher = new Agent({ connections: 2, pipelining: 1 });
  const queue = Array.from({ length: urls.length * each }, (_, index) => urls[index % urls.length]);
  async function lane() {
    for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
      const { body } = await request(`${url}?status=1&addr=bcrt1q&value=1000&txid=00`, {
        dispatcher,
      });
      await body.dump();
    }
  }
  const began = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  process.send?.({ ms: performance.now() - began });
});
