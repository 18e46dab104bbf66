// A shop in this process: it answers each callback with 200 and notes when it came.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { atEnd } from './cleanup.mjs';

/**
 * @param {(callback: URLSearchParams) => void} onCallback
 * @returns {Promise<string>} its callback URL
 */
export async function startShop(onCallback) {
  const server = createServer((request, response) => {
    onCallback(new URL(request.url ?? '', 'http://shop.invalid').searchParams);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => server.close().closeAllConnections());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return `http://127.0.0.1:${port}/callback`;
}
