// A small Electrum server on a real socket that says what the test scripts. It greets like a server
// of the test network; any other method is answered by the script or left for the test to answer.

import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { freePort } from '../../scripts/ports.mjs';
import type { BlockHash } from '../../src/bitcoin/ids.ts';
import { parseServerAddress, type ServerAddress } from '../../src/electrum/server-address.ts';

export const genesisHash =
  '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206' as BlockHash;

export interface Request {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface Peer {
  readonly socket: Socket;
  /** Every request, as it came. */
  readonly requests: Request[];
  /** How many writes of the client have arrived; each flush is one. */
  writes: number;
  /** Bytes or text, as they are. */
  sendRaw(data: Uint8Array | string): void;
  send(message: unknown): void;
  answer(request: Request | undefined, result: unknown): void;
  refuse(request: Request | undefined, code: number, message: unknown): void;
  notify(method: string, ...params: unknown[]): void;
  asked(method: string): Request[];
}

export type Script = Readonly<Record<string, (peer: Peer, request: Request) => void>>;

export interface ScriptedServer {
  readonly address: ServerAddress;
  readonly peers: Peer[];
  readonly port: number;
  close(): Promise<void>;
}

const greeting: Script = {
  'server.version': (peer, request) => peer.answer(request, ['Scripted 1.0', '1.4']),
  'server.features': (peer, request) =>
    peer.answer(request, { genesis_hash: genesisHash, hash_function: 'sha256' }),
};

/** A greeting by which the server calls itself ElectrumX. */
export const electrumX: Script = {
  'server.version': (peer, request) => peer.answer(request, ['ElectrumX 1.20.0', '1.6.0']),
};

export async function startServer(
  script: Script = {},
  options: {
    /** One that stays free when it is closed, without it. */
    readonly port?: number;
    readonly tls?: TlsOptions;
    readonly choice?: string;
    /** As if the client's operator ran it; otherwise it passes for a public one. */
    readonly own?: boolean;
  } = {},
): Promise<ScriptedServer> {
  const { port = await freePort() } = options;
  const peers: Peer[] = [];
  const accept = (socket: Socket): void => {
    peers.push(createPeer(socket, { ...greeting, ...script }));
  };
  const server = options.tls ? createTlsServer(options.tls, accept) : createServer(accept);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  const scheme = options.tls ? 'ssl' : 'tcp';
  return {
    address: {
      ...parseServerAddress(`${scheme}://127.0.0.1:${port}${options.choice ?? ''}`),
      own: options.own ?? false,
    },
    peers,
    port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((closed) => server.close(() => closed()));
    },
  };
}

export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

function createPeer(socket: Socket, script: Script): Peer {
  const peer: Peer = {
    socket,
    requests: [],
    writes: 0,
    sendRaw: (data) => socket.write(data),
    send: (message) => socket.write(`${JSON.stringify(message)}\n`),
    answer: (request, result) => peer.send({ jsonrpc: '2.0', id: request?.id, result }),
    refuse: (request, code, message) =>
      peer.send({ jsonrpc: '2.0', id: request?.id, error: { code, message } }),
    notify: (method, ...params) => peer.send({ jsonrpc: '2.0', method, params }),
    asked: (method) => peer.requests.filter((request) => request.method === method),
  };
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    peer.writes++;
    text += chunk.toString();
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const request = JSON.parse(line) as Request;
      peer.requests.push(request);
      script[request.method]?.(peer, request);
    }
  });
  return peer;
}
