// A proxy between paygate and a simulated server that may change responses, for lies that the
// server's own faults cannot express.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { whenOver } from './files.ts';

export interface Asked {
  readonly method: string;
  // biome-ignore lint/suspicious/noExplicitAny: what a method takes is what the test looks at.
  readonly params: readonly any[];
}

// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what the test changes.
export type Message = any;

/** Gives another answer than the server's, or none. */
export type Lie = (asked: Asked, answer: Message) => Message | undefined;

export class Liar {
  /** Undefined for an honest one. */
  lie: Lie | undefined;
  /** The same of its notifications. */
  lieUnasked: ((notification: Message) => Message | undefined) | undefined;
  /** How many connections there ever were. */
  accepted = 0;
  readonly #sockets = new Set<Socket>();

  /** Listens before a server. @returns its port */
  async listen(serverPort: number): Promise<number> {
    const listening = createServer((client) =>
      this.#join(client, connect(serverPort, '127.0.0.1')),
    );
    await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done));
    whenOver(async () => {
      this.disconnectAll();
      await new Promise((done) => listening.close(done));
    });
    return (listening.address() as AddressInfo).port;
  }

  /** How many connections there are. */
  get open(): number {
    return this.#sockets.size;
  }

  disconnectAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** To every connection. */
  say(message: Message): void {
    for (const socket of this.#sockets) socket.write(`${JSON.stringify(message)}\n`);
  }

  notify(method: string, params: readonly unknown[]): void {
    this.say({ jsonrpc: '2.0', method, params });
  }

  #join(client: Socket, server: Socket): void {
    this.#sockets.add(client);
    this.accepted += 1;
    client.on('close', () => this.#sockets.delete(client));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      // Without delay, because the clock of a test does not wait for buffered bytes.
      one.setNoDelay(true);
      one.on('close', () => other.destroy());
      one.on('error', () => other.destroy());
    }
    const asked = new Map<number, Asked>();
    readLines(client, (line) => {
      for (const each of [JSON.parse(line)].flat()) asked.set(each.id, each);
      server.write(`${line}\n`);
    });
    readLines(server, (line) => {
      const message = this.#changed(JSON.parse(line), asked);
      if (message !== undefined) client.write(`${JSON.stringify(message)}\n`);
    });
  }

  #changed(message: Message, asked: Map<number, Asked>): Message | undefined {
    if (Array.isArray(message)) return message.map((each) => this.#changed(each, asked));
    if (message.method !== undefined) {
      return this.lieUnasked === undefined ? message : this.lieUnasked(message);
    }
    const request = asked.get(message.id);
    asked.delete(message.id);
    return this.lie && request ? this.lie(request, message) : message;
  }
}

function readLines(socket: Socket, read: (line: string) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) read(line);
  });
}
