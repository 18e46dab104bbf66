// Stands between electrs 0.12 and a node older than Bitcoin Core 31, which lacks the one REST call by which
// electrs reads a transaction out of its block: `/rest/blockpart/HASH.bin?offset=N&size=N`. It cuts that
// out of the whole block, which the node gives; all else goes through as it is, JSON-RPC too.
// Arguments: the port to listen on and the node's, both on loopback.
// https://github.com/bitcoin/bitcoin/blob/master/doc/REST-interface.md

import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

const LOOPBACK = '127.0.0.1';
const PART = /^\/rest\/blockpart\/(\w+\.bin)\?offset=(\d+)&size=(\d+)$/;
const [listenPort, nodePort] = process.argv.slice(2).map(Number);

createServer(async (incoming, answer) => {
  try {
    const part = PART.exec(incoming.url ?? '');
    const path = part ? `/rest/block/${part[1]}` : incoming.url;
    const { status, body } = await askNode(incoming, path);
    const [from, size] = [Number(part?.[2]), Number(part?.[3])];
    if (!part || status !== 200) send(answer, status, body);
    else if (from + size > body.length) send(answer, 404, 'Bad block part offset/size');
    else send(answer, 200, body.subarray(from, from + size));
  } catch {
    send(answer, 503, 'the node is not there'); // electrs asks again in a second
  }
}).listen(listenPort, LOOPBACK);

async function askNode(incoming: IncomingMessage, path = '/') {
  const { method, headers } = incoming;
  const sent = await buffer(incoming);
  const asked = request({ method, headers, path, host: LOOPBACK, port: nodePort, agent: false });
  const [response] = (await once(asked.end(sent), 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 502, body: await buffer(response) };
}

/** No connection is kept: one that the node's restart has cut would end electrs. */
function send(answer: ServerResponse, status: number, body: Buffer | string) {
  const length = Buffer.byteLength(body);
  answer.writeHead(status, { 'Content-Length': length, Connection: 'close' }).end(body);
}
