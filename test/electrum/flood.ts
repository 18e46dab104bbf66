// How much memory a hostile server costs: `node --expose-gc test/electrum/flood.ts KIND MEGABYTES`.
// Another process floods one session after another in this one. The output is the resident memory
// before, at its highest and after, in MB. `serve KIND` is the other process.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { BlockHash, Scripthash } from '../../src/bitcoin/ids.ts';
import { openSession } from '../../src/electrum/handshake.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';
import type { ConnectTarget } from '../../src/world/world.ts';

const genesisHash = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206' as BlockHash;
const scripthash = 'ab'.repeat(32) as Scripthash;
const megabyte = 1_000_000;
/** So much the process may have taken before what it takes is counted: code, caches, buffers. */
const warmUpMegabytes = 10;
const sessionsToCollect = 25;

const statusOf = (index: number): string => index.toString(16).padStart(64, '0');
const notice = (...params: unknown[]): string =>
  `${JSON.stringify({ jsonrpc: '2.0', method: 'blockchain.scripthash.subscribe', params })}\n`;
const repeated = (text: string, bytes: number): string =>
  text.repeat(Math.ceil(bytes / text.length));

/** What is sent again and again, about a megabyte or more at a time. */
export const floods = {
  'notifications of what is not subscribed': () =>
    Array.from({ length: 6_000 }, (_, index) => notice(statusOf(index), statusOf(index))).join(''),
  'notifications of what is subscribed': () =>
    Array.from({ length: 6_000 }, (_, index) => notice(scripthash, statusOf(index))).join(''),
  'tiny notifications': () => repeated('{"method":"x","params":[]}\n', megabyte),
  'empty lines': () => repeated('\n', megabyte),
  'a line that never ends': () => repeated('x', megabyte),
  'huge arrays': () => `{"method":"x","params":[${repeated('1,', 8 * megabyte)}1]}\n`,
  'huge arrays of objects': () =>
    `{"method":"x","params":[${repeated('{"a":[]},', 8 * megabyte)}1]}\n`,
  'huge texts': () => `{"method":"x","params":["${repeated('x', 8 * megabyte)}"]}\n`,
  'huge answers of the wrong kind': () => `[${repeated('{"a":[]},', 8 * megabyte)}1]`,
  'answers to nothing': () => repeated('{"id":99999,"result":null}\n', megabyte),
} as const;

export type Flood = keyof typeof floods;

export interface Figures {
  readonly before: number;
  readonly highest: number;
  readonly after: number;
  readonly megabytes: number;
  readonly sessions: number;
  readonly seconds: number;
}

function serve(kind: Flood): void {
  const text = Buffer.from(floods[kind]());
  const server = createServer((socket) => {
    socket.on('error', () => {});
    let unread = '';
    socket.on('data', (chunk) => {
      unread += chunk;
      const lines = unread.split('\n');
      unread = lines.pop() ?? '';
      for (const line of lines) {
        if (kind.includes('wrong kind')) answerHuge(socket, JSON.parse(line), text);
        else answer(socket, JSON.parse(line), text);
      }
    });
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`);
  });
  process.stdin.on('end', () => process.exit()).resume();
}

const results: Readonly<Record<string, unknown>> = {
  'server.version': ['Flood 1', '1.4'],
  'server.features': { genesis_hash: genesisHash, hash_function: 'sha256' },
};

function answer(
  socket: Socket,
  { id, method }: { id: number; method: string },
  text: Buffer,
): void {
  socket.write(`${JSON.stringify({ id, result: results[method] ?? null })}\n`);
  if (method !== 'blockchain.scripthash.subscribe') return;
  const pour = (): void => {
    while (socket.writable && socket.write(text));
  };
  socket.on('drain', pour);
  pour();
}

function answerHuge(
  socket: Socket,
  { id, method }: { id: number; method: string },
  text: Buffer,
): void {
  if (method.endsWith('get_history')) socket.write(`{"id":${id},"result":${text}}\n`);
  else socket.write(`${JSON.stringify({ id, result: results[method] ?? null })}\n`);
}

const world = createNodeWorld({ logLevel: 'silent' });

async function measure(kind: Flood, megabytes: number): Promise<Figures> {
  const helper = spawn(process.execPath, [import.meta.filename, 'serve', kind], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [port] = (await once(helper.stdout, 'data')) as [Buffer];
  const meter = { received: 0, sessions: 0, highest: 0, before: 0, startedAt: performance.now() };
  const goal = (warmUpMegabytes + megabytes) * megabyte;
  while (meter.received < goal) {
    await drink(kind, Number(port), meter, goal);
    // paygate waits 1 to 60 s between two sessions with a server, in which garbage is collected.
    if (meter.sessions % sessionsToCollect === 0) globalThis.gc?.();
  }
  end(helper);
  globalThis.gc?.();
  const after = process.memoryUsage.rss();
  return {
    before: Math.round(meter.before / megabyte),
    highest: Math.round(meter.highest / megabyte),
    after: Math.round(after / megabyte),
    megabytes: Math.round(meter.received / megabyte) - warmUpMegabytes,
    sessions: meter.sessions,
    seconds: Math.round((performance.now() - meter.startedAt) / 100) / 10,
  };
}

interface Meter {
  received: number;
  sessions: number;
  highest: number;
  before: number;
}

/** One session, until it ends or enough has come. */
async function drink(kind: Flood, port: number, meter: Meter, goal: number): Promise<void> {
  const connect = async (
    target: ConnectTarget,
    signal: AbortSignal,
  ): ReturnType<typeof world.connect> => {
    const connection = await world.connect(target, signal);
    connection.socket.on('data', (chunk) => {
      meter.received += chunk.length;
      const { rss } = process.memoryUsage();
      if (meter.received < warmUpMegabytes * megabyte) return;
      if (meter.before === 0) {
        globalThis.gc?.();
        meter.before = process.memoryUsage.rss();
      }
      meter.highest = Math.max(meter.highest, rss);
      if (meter.received >= goal) connection.socket.destroy();
    });
    return connection;
  };
  await new Promise<void>((ended, fail) => {
    openSession({
      world: { ...world, connect },
      server: { host: '127.0.0.1', port, tls: false, own: false, label: 'flood' },
      genesisHash,
      generation: ++meter.sessions,
      known: undefined,
      onLearn: async () => {},
      options: {},
      handlers: { onHeader: () => {}, onStatus: () => {}, onClose: () => ended() },
      signal: new AbortController().signal,
    })
      // The flood ends the session, and these requests with it.
      .then((session) =>
        Promise.allSettled([
          session.subscribe(scripthash),
          kind.includes('wrong kind') ? session.history(scripthash) : undefined,
        ]),
      )
      .catch(fail);
  });
}

function end(helper: ChildProcess): void {
  helper.stdin?.end();
  helper.unref();
}

if (import.meta.main) {
  const [first = '', second = '1000'] = process.argv.slice(2);
  if (first === 'serve') serve(second as Flood);
  else process.stdout.write(`${JSON.stringify(await measure(first as Flood, Number(second)))}\n`);
}
