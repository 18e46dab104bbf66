// A helper process with many shops, each on a host of its own (127.0.1.1, 127.0.1.2, …). Each
// answers 200 at once, as cheaply as possible, and keeps a connection if it may. Usage: HOSTS

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const END = '\r\n\r\n';
const answer = (connection: string) =>
  `HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: ${connection}${END}`;

function serve(socket: Socket) {
  let text = '';
  socket.setNoDelay(true).setEncoding('latin1');
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    const heads = (text + chunk).split(END);
    text = heads.pop() ?? '';
    for (const head of heads) {
      if (/^connection: close/im.test(head)) socket.end(answer('close'));
      else socket.write(answer('keep-alive'));
    }
  });
}

const callbackUrls: string[] = [];
for (let number = 1; number <= Number(process.argv[2]); number += 1) {
  const server = createServer(serve).listen(0, `127.0.1.${number}`);
  await once(server, 'listening');
  const { address, port } = server.address() as AddressInfo;
  callbackUrls.push(`http://${address}:${port}/shop-${number}/`);
}
process.send?.({ callbackUrls });
