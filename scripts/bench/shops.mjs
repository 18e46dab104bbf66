// A process of its own with the shops that are called back: so many hosts (127.0.1.1, 127.0.1.2, …), each of
// which answers 200 at once and as cheaply as can be, and keeps a connection where it may; of the last, so many as
// are asked for, none answers.

import { once } from 'node:events';
import { createServer } from 'node:net';

const [hosts = '', hanging = '0'] = process.argv.slice(2);
const END = '\r\n\r\n';
const KEPT = `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive${END}`;
const CLOSED = `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close${END}`;

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
      if (/^connection: close/im.test(head)) socket.end(CLOSED);
      else socket.write(KEPT);
    }
  });
}

/** @param {import('node:net').Socket} socket */
function ignore(socket) {
  socket.on('error', () => {});
  socket.resume();
}

const origins = [];
for (let number = 1; number <= Number(hosts); number += 1) {
  const hangs = number > Number(hosts) - Number(hanging);
  const server = createServer(hangs ? ignore : serve).listen(0, `127.0.1.${number}`);
  await once(server, 'listening');
  const { address, port: chosen } = /** @type {import('node:net').AddressInfo} */ (
    server.address()
  );
  origins.push(`http://${address}:${chosen}`);
}
process.send?.({ origins });
