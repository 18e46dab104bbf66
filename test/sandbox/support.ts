// Helpers of the sandbox tests: a chain with coins to spend and a merchant's key. A clock that the
// test moves, and a bare client on a real socket.

import { connect, type Socket } from 'node:net';
import { pubECDSA } from '@scure/btc-signer/utils.js';
import { freePort } from '../../scripts/ports.mjs';
import { type ScriptType, scriptForKey, scripthash } from '../../src/bitcoin/address.ts';
import type { Txid } from '../../src/bitcoin/ids.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import type { SimulatedTransaction } from '../../src/sandbox/chain/simulated-transaction.ts';
import {
  SimulatedServer,
  type SimulatedServerOptions,
} from '../../src/sandbox/electrum/simulated-server.ts';

export const startTime = 1_700_000_000;

/** A chain whose faucet has coins; each block comes ten minutes after the one before. */
export function chainOf(blocks: number, seed = 'test'): SimulatedChain {
  let now = startTime;
  const chain = new SimulatedChain({ seed, now: () => now });
  chain.onChange(() => {
    now += 600;
  });
  chain.mine(blocks);
  return chain;
}

/** A key that is not the faucet's, and its script. */
export function merchant(number = 1, type: ScriptType = 'p2wpkh') {
  const privateKey = new Uint8Array(32).fill(number);
  const script = scriptForKey(pubECDSA(privateKey), type);
  return { privateKey, script, scripthash: scripthash(script) };
}

/** A transaction that must be there. */
export function transaction(chain: SimulatedChain, txid: Txid): SimulatedTransaction {
  const found = chain.transaction(txid);
  if (!found) throw new Error(`no transaction ${txid}`);
  return found;
}

/** Place of the output that pays the script. */
export function outputTo(chain: SimulatedChain, txid: Txid, script: Uint8Array) {
  const vout = transaction(chain, txid).outputs.findIndex(
    (output) => output.scripthash === scripthash(script),
  );
  return { txid, vout };
}

/** A timer that stands still until the test moves it. */
export class ManualTimer {
  #now = 0;
  #due: { readonly at: number; readonly run: () => void }[] = [];

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, run: () => void): () => void {
    const entry = { at: this.#now + delayMs, run };
    this.#due.push(entry);
    return () => {
      this.#due = this.#due.filter((one) => one !== entry);
    };
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#due.filter(({ at }) => at <= this.#now);
    this.#due = this.#due.filter(({ at }) => at > this.#now);
    for (const { run } of due) run();
  }
}

export interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  readonly method?: string;
  readonly params?: readonly unknown[];
}

/** Reads lines as they come; sends whatever the test wants. */
export class Client {
  readonly #socket: Socket;
  readonly #lines: string[] = [];
  readonly #waiting: ((line: string | undefined) => void)[] = [];
  readonly closed: Promise<void>;
  #rest = '';
  #nextId = 0;
  #isClosed = false;
  /** Lines that arrived so far. */
  received = 0;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n');
      this.#rest = lines.pop() ?? '';
      this.received += lines.length;
      for (const line of lines) {
        const waiting = this.#waiting.shift();
        if (waiting) waiting(line);
        else this.#lines.push(line);
      }
    });
    // A reset is a close to these tests.
    this.#socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      this.#socket.on('close', () => {
        this.#isClosed = true;
        for (const waiting of this.#waiting.splice(0)) waiting(undefined);
        resolve();
      });
    });
  }

  /** What came after the last newline. */
  get rest(): string {
    return this.#rest;
  }

  write(text: string): void {
    this.#socket.write(text);
  }

  close(): Promise<void> {
    this.#socket.destroy();
    return this.closed;
  }

  /** The next line; undefined when the connection is closed first. */
  line(): Promise<string | undefined> {
    const line = this.#lines.shift();
    if (line !== undefined || this.#isClosed) return Promise.resolve(line);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async message(): Promise<Message> {
    return JSON.parse((await this.line()) ?? '{}') as Message;
  }

  /** Sends a request and answers its id. */
  send(method: string, ...params: unknown[]): number {
    const id = this.#nextId++;
    this.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return id;
  }

  /** Sends a request and answers the next message, which must be its answer. */
  async call(method: string, ...params: unknown[]): Promise<Message> {
    const id = this.send(method, ...params);
    const message = await this.message();
    if (message.id !== id) throw new Error(`expected answer ${id}, got ${JSON.stringify(message)}`);
    return message;
  }

  async result(method: string, ...params: unknown[]): Promise<unknown> {
    const { result, error } = await this.call(method, ...params);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }
}

/** A server on a free port, with what it needs to be taken down again. */
export async function serve(chain: SimulatedChain, options: Partial<SimulatedServerOptions> = {}) {
  const timer = new ManualTimer();
  const server = new SimulatedServer({ chain, timer, ...options });
  const { port, close } = await server.listen({ host: '127.0.0.1', port: await freePort() });
  const clients: Client[] = [];
  /** A connection without a request so far. */
  const bare = (): Client => {
    const client = new Client(port);
    clients.push(client);
    return client;
  };
  return {
    server,
    timer,
    port,
    bare,
    /** A connection that has negotiated. */
    async client(version: unknown = ['1.4', '1.6']): Promise<Client> {
      const client = bare();
      await client.result('server.version', 'test', version);
      return client;
    },
    async close(): Promise<void> {
      await Promise.all(clients.map((client) => client.close()));
      await close();
    },
  };
}

export type Served = Awaited<ReturnType<typeof serve>>;

/** Lets the sockets work until the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}
