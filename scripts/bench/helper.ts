// What a measured paygate talks to. Helper processes and threads of their own hold up neither the load
// generator nor the clock; shops and a price source are in this process.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Task } from './chain.ts';
import { atEnd } from './run.ts';
import type { Environment } from './server.ts';

/**
 * Starts a program of this folder, which receives messages and answers each, in order.
 * @param env in addition to this process's own
 */
export function startHelper(name: string, args: readonly (string | number)[], env?: Environment) {
  const program = new URL(`${name}.ts`, import.meta.url);
  const child = fork(program, args.map(String), { env: { ...process.env, ...env } });
  const end = () => void child.kill('SIGKILL');
  atEnd(end);
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${name} ended`);
  });
  ended.catch(() => {});
  /** Its next message. Only the row knows its type. */
  async function next<Message>(): Promise<Message> {
    const [message] = await Promise.race([once(child, 'message'), ended]);
    return message as Message;
  }
  return {
    pid: child.pid ?? 0,
    end,
    next,
    ask<Answer>(message: object): Promise<Answer> {
      const answer = next<Answer>();
      child.send(message);
      return answer;
    },
  };
}

/** A simulated chain and its Electrum server. */
export async function startChain() {
  const helper = startHelper('chain', []);
  const { port } = await helper.next<{ port: number }>();
  return {
    electrum: `tcp://127.0.0.1:${port}`,
    /** @returns when it began: milliseconds since 1970 */
    tell: async (task: Task) => (await helper.ask<{ at: number }>(task)).at,
  };
}

async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A shop that answers each callback with 200. @returns its callback URL */
export async function startShop(onCallback: (query: URLSearchParams) => void = () => {}) {
  const origin = await listen((request, response) => {
    onCallback(new URL(request.url ?? '', 'http://shop.invalid').searchParams);
    response.end();
  });
  return `${origin}/callback`;
}

/** @returns flags of `paygate serve` */
export async function startPriceSource(): Promise<string[]> {
  const origin = await listen((_request, response) => response.end('{"EUR":50000}'));
  return ['--price', 'own', '--price-source', `${origin}/#{CODE}`];
}
