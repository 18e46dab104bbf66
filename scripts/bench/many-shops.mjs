// A helper process with many shops, each on a host of its own (127.0.1.1, 127.0.1.2, …). Each
// answers 200 at once, as cheaply as possible, and keeps a connection if it may. Usage:
// many-shops.mjs HOSTS

import { once } from 'node:events';
import { createServer } from 'node:net';

const [hosts = ''] = process.argv.slice(2);
const END = '\r\n\r\n';
const KEEP = `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive${END}`;
const CLOSE = `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close${END}`;

/** @param {import('node:net').Socket} socket */
function serve(socket) {
  let text = '';
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    for (let end = text.indexOf(END); end !== -1; end = text.indexOf(END)) {
      const head = text.slice(0, end);
      text = text.slice(end + END.length);
      if (/^connection: close/im.test(head)) socket.end(CLOSE);
      else socket.write(KEEP);
    }
  });
}

const callbackUrls = [];
for (let number = 1; number <= Number(hosts); number += 1) {
  const server = createServer(serve).listen(0, `127.0.1.${number}`);
  await once(server, 'listening');
  const { address, port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  callbackUrls.push(`http://${address}:${port}/shop-${number}/`);
}
process.send?.({ callbackUrls });
