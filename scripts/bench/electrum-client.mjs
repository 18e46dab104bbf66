// The peer of several rows: a bare Electrum client that writes all its requests at once, counts the
// answers and neither checks nor stores anything.

import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { atEnd } from './cleanup.mjs';

/**
 * Sends one request for each scripthash and waits for all answers.
 * @param {number} port of an Electrum server, plain TCP
 * @param {string} method such as blockchain.scripthash.subscribe
 * @param {readonly string[]} scripthashes
 * @param {(scripthash: string) => void} [onNotification]
 * @returns {Promise<number>} milliseconds from the connection to the last answer
 */
export async function askForEach(port, method, scripthashes, onNotification) {
  const startedAt = performance.now();
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  atEnd(() => socket.destroy());
  const requests = [
    { id: 0, method: 'server.version', params: ['paygate-bench', ['1.4', '1.6']] },
    ...scripthashes.map((scripthash, index) => ({ id: index + 1, method, params: [scripthash] })),
  ];
  socket.write(requests.map((each) => `${JSON.stringify(each)}\n`).join(''));
  await new Promise((resolve, reject) => {
    let left = requests.length;
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the Electrum server closed the connection')));
    createInterface(socket).on('line', (line) => {
      const message = JSON.parse(line);
      if (message.error) reject(new Error(`the Electrum server: ${message.error.message}`));
      if (message.method === method) onNotification?.(message.params[0]);
      if (message.id !== undefined) left -= 1;
      if (left === 0) resolve(undefined);
    });
  });
  if (onNotification === undefined) socket.destroy();
  return performance.now() - startedAt;
}

/** @param {number} count */
export function randomScripthashes(count) {
  const seed = performance.now();
  return Array.from({ length: count }, (_, index) =>
    createHash('sha256').update(`${seed} ${index}`).digest('hex'),
  );
}
