// Limits the number of connections to a server. At the limit, a new connection replaces the newest
// connection of the client with the most connections. One client alone therefore can't keep all
// others out.

import type { Server, Socket } from 'node:net';
import {
  type ClientPrefixes,
  clientPrefixesOf,
  connectionToClose,
} from '../domain/connection-eviction.ts';

export function limitConnections(server: Server, maxConnections: number): void {
  /** The client of each connection, the newest last. */
  const connections = new Map<Socket, ClientPrefixes>();
  server.on('connection', (socket: Socket) => {
    connections.set(socket, clientPrefixesOf(socket.remoteAddress ?? ''));
    socket.once('close', () => connections.delete(socket));
    if (connections.size <= maxConnections) return;
    const closing = connectionToClose(connections) ?? socket;
    // It is forgotten at once, because its close event comes later.
    connections.delete(closing);
    closing.destroy();
  });
}
