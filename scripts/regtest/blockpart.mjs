// Stands between electrs 0.12 and a node older than Bitcoin Core 31, which lacks the one REST call by which
// electrs reads a transaction out of its block: `/rest/blockpart/HASH.bin?offset=N&size=N`. It cuts that
// out of the whole block, which the node gives; all else goes through as it is, JSON-RPC too.
// Arguments: the port to listen on and the node's, both on loopback.
// https://github.com/bitcoin/bitcoin/blob/master/doc/REST-interface.md

import { createServer, request } from 'node:http';

const LOOPBACK = '127.0.0.1';
const [listenPort, nodePort] = process.argv.slice(2).map(Number);

createServer(async (incoming, answer) => {
  const chunks = [];
  try {
    for await (const chunk of incoming) chunks.push(chunk);
    const part = /^\/rest\/blockpart\/(\w+\.bin)\?offset=(\d+)&size=(\d+)$/.exec(
      incoming.url ?? '',
    );
    const path = part ? `/rest/block/${part[1]}` : incoming.url;
    const { method, headers } = incoming;
    const { status, body } = await askNode({ method, path, headers }, Buffer.concat(chunks));
    const [from, size] = [Number(part?.[2]), Number(part?.[3])];
    if (!part || status !== 200) send(answer, status, body);
    else if (from + size > body.length)
      send(answer, 404, Buffer.from('Bad block part offset/size'));
    else send(answer, 200, body.subarray(from, from + size));
  } catch {
    send(answer, 503, Buffer.from('the node is not there')); // electrs asks again in a second
  }
}).listen(listenPort, LOOPBACK);

/**
 * @param {import('node:http').RequestOptions} options
 * @param {Buffer} body
 * @returns {Promise<{ status: number, body: Buffer }>}
 */
function askNode(options, body) {
  return new Promise((resolve, reject) => {
    const asked = request({ ...options, host: LOOPBACK, port: nodePort, agent: false });
    asked.on('error', reject).on('response', async (response) => {
      const chunks = [];
      try {
        for await (const chunk of response) chunks.push(chunk);
        resolve({ status: response.statusCode ?? 502, body: Buffer.concat(chunks) });
      } catch (error) {
        reject(error);
      }
    });
    asked.end(body);
  });
}

/**
 * @param {import('node:http').ServerResponse} answer
 * @param {number} status
 * @param {Buffer} body
 */
function send(answer, status, body) {
  // No connection is kept: one that the node's restart has cut would end electrs.
  answer.writeHead(status, { 'Content-Length': body.length, Connection: 'close' }).end(body);
}
