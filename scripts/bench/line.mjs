// One kept HTTP connection with one request at a time, as cheap as it can be had: who asks shares the two cores with
// what is measured, and a rush of shops that wait for one commit stands still while that is at work, so that the
// time of both adds up. It writes text as it is given, and reads no more of an answer than its status and its length:
// 50 us of processor a request where undici's pool takes 120, which is more than paygate does.

import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} text
 *
 * @typedef {object} Line
 * @property {(request: string) => Promise<Answer>} ask with a whole request, as it goes on the wire, in ASCII; fails
 * where the connection ends, or the answer does not say its length
 * @property {() => boolean} isOpen
 * @property {() => void} end
 *
 * @param {string} origin
 * @returns {Promise<Line>}
 */
export async function openLine(origin) {
  const { hostname, port } = new URL(origin);
  // One letter a byte: lengths are counted in bytes.
  const socket = connect(Number(port), hostname).setNoDelay().setEncoding('latin1');
  await once(socket, 'connect');
  let received = '';
  /** @type {PromiseWithResolvers<Answer> | undefined} */
  let awaited;
  const fail = (/** @type {Error} */ error) => awaited?.reject(error);
  socket.on('error', fail);
  socket.on('close', () => fail(new Error(`${origin}: the connection ended`)));
  socket.on('data', (piece) => {
    received += piece;
    const head = received.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = /^content-length: (\d+)\r$/im.exec(received)?.[1];
    if (length === undefined) return fail(new Error(`an answer without its length: ${received}`));
    const body = received.slice(head + 4);
    if (body.length < Number(length)) return;
    const status = Number(received.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
    received = '';
    awaited?.resolve({ status, text: Buffer.from(body, 'latin1').toString() });
  });
  return {
    ask(request) {
      awaited = Promise.withResolvers();
      socket.write(request, 'latin1');
      return awaited.promise;
    },
    isOpen: () => socket.readyState === 'open',
    end: () => socket.destroy(),
  };
}
