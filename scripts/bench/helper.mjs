// A helper process of a bench: it receives messages and answers each, in order.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { atEnd } from './cleanup.mjs';

/**
 * @param {string} name of a file in this folder
 * @param {(string | number)[]} [args]
 * @param {Record<string, string>} [env] in addition to this process's own
 */
export function startHelper(name, args = [], env = {}) {
  const child = fork(new URL(name, import.meta.url), args.map(String), {
    env: { ...process.env, ...env },
  });
  const end = () => void child.kill('SIGKILL');
  atEnd(end);

  /** @returns {Promise<any>} its next message */
  async function next() {
    const stop = new AbortController();
    const { signal } = stop;
    const ended = once(child, 'exit', { signal }).then(() => {
      throw new Error(`${name} ended`);
    });
    try {
      const [message] = await Promise.race([once(child, 'message', { signal }), ended]);
      return message;
    } finally {
      stop.abort();
      ended.catch(() => {});
    }
  }
  return {
    pid: child.pid ?? 0,
    end,
    next,
    /**
     * @param {object} message
     * @returns {Promise<any>} the answer
     */
    ask(message) {
      const answer = next();
      child.send(message);
      return answer;
    },
  };
}
