// A small SOCKS5 proxy on a real socket (RFC 1928, 1929) for tests. It records what it was asked,
// knows names that no resolver knows, and fails in the way that the test sets.

import { connect, createServer, type Socket } from 'node:net';
import type { SocksProxy } from '../../src/world/world.ts';
import { portOf } from './scripted-server.ts';

export type Fault =
  /** Answers nothing, from the first byte on. */
  | 'hangs'
  /** Agrees on a method, then answers nothing. */
  | 'hangs at the request'
  | 'wants no method'
  | 'refuses the login'
  /** Reply 4: host unreachable. */
  | 'refuses the host'
  | 'talks garbage'
  | 'talks garbage at the request'
  | 'closes'
  | 'closes at the request';

export interface SocksServer {
  readonly proxy: SocksProxy;
  /** What was asked for, with the type of address: 1 IPv4, 3 a name, 4 IPv6. */
  readonly asked: { type: number; host: string; port: number }[];
  readonly logins: string[];
  /** The sockets of clients. */
  readonly sockets: Set<Socket>;
  close(): Promise<void>;
}

export interface SocksOptions {
  readonly fault?: Fault;
  /** The ports on loopback behind the names. */
  readonly names?: Readonly<Record<string, number>>;
  readonly login?: boolean;
  /** Bytes come one at a time. */
  readonly drips?: boolean;
}

const granted = Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0);

export async function startSocks(options: SocksOptions = {}): Promise<SocksServer> {
  const sockets = new Set<Socket>();
  const socks: Omit<SocksServer, 'proxy' | 'close'> = { asked: [], logins: [], sockets };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    serve(socket, socks, options).catch(() => socket.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    ...socks,
    proxy: { host: '127.0.0.1', port: portOf(server) },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((closed) => server.close(() => closed()));
    },
  };
}

async function serve(
  socket: Socket,
  { asked, logins }: Omit<SocksServer, 'proxy' | 'close'>,
  { fault, names = {}, login = false, drips = false }: SocksOptions,
): Promise<void> {
  const read = reader(socket);
  const say = async (bytes: Uint8Array): Promise<void> => {
    for (const piece of drips ? Array.from(bytes, (byte) => Uint8Array.of(byte)) : [bytes]) {
      socket.write(piece);
      if (drips) await new Promise((done) => setImmediate(done));
    }
  };
  const [, methods = 0] = await read(2);
  await read(methods);
  if (fault === 'hangs') return;
  if (fault === 'closes') return void socket.destroy();
  if (fault === 'talks garbage')
    return say(new TextEncoder().encode('HTTP/1.1 400 Bad Request\r\n'));
  if (fault === 'wants no method') return say(Uint8Array.of(5, 0xff));
  await say(Uint8Array.of(5, login ? 2 : 0));
  if (login) {
    const [, userLength = 0] = await read(2);
    const user = String(await read(userLength));
    const [passwordLength = 0] = await read(1);
    logins.push(`${user}:${await read(passwordLength)}`);
    await say(Uint8Array.of(1, fault === 'refuses the login' ? 1 : 0));
  }
  const [, , , type = 0] = await read(4);
  const length = type === 3 ? (await read(1))[0] : type === 1 ? 4 : 16;
  const address = await read(length ?? 0);
  const host = type === 3 ? String(address) : type === 1 ? address.join('.') : 'an IPv6 address';
  const port = (await read(2)).readUInt16BE();
  asked.push({ type, host, port });
  if (fault === 'hangs at the request') return;
  if (fault === 'closes at the request') return void socket.destroy();
  if (fault === 'talks garbage at the request') return say(new Uint8Array(100).fill(0x7b));
  const behind = type === 3 ? names[host] : port;
  if (fault === 'refuses the host' || behind === undefined) {
    return say(Uint8Array.of(5, 4, 0, 1, 0, 0, 0, 0, 0, 0));
  }
  const target = connect(behind, '127.0.0.1');
  target.on('error', () => socket.destroy()).on('close', () => socket.destroy());
  socket.on('close', () => target.destroy());
  await new Promise((done) => target.once('connect', done));
  await say(granted);
  socket.pipe(target);
  target.pipe(socket);
}

/** Reads exactly so many bytes; for as long as it is used, nothing else may read. */
function reader(socket: Socket): (count: number) => Promise<Buffer> {
  return async (count) => {
    for (;;) {
      const bytes = count === 0 ? Buffer.alloc(0) : (socket.read(count) as Buffer | null);
      if (bytes !== null) return bytes;
      await new Promise((done) => socket.once('readable', done));
    }
  };
}
