// How many connections a door has at once. Where all places are taken, whoever has fewer of them comes in for
// the newest connection of who has most: nobody keeps all others out alone.

import type { Server, Socket } from 'node:net';
import {
  type ClientPrefixes,
  clientPrefixesOf,
  connectionToClose,
} from '../domain/connection-eviction.ts';

/** @param places for connections at once */
export function limitConnections(server: Server, places: number): void {
  /** Whose each connection is, the newest last. */
  const crowd = new Map<Socket, ClientPrefixes>();
  server.on('connection', (socket: Socket) => {
    crowd.set(socket, clientPrefixesOf(socket.remoteAddress ?? ''));
    socket.once('close', () => crowd.delete(socket));
    if (crowd.size <= places) return;
    const leaver = connectionToClose(crowd) ?? socket;
    // Its place is free at once, and it says that it is closed a moment later.
    crowd.delete(leaver);
    leaver.destroy();
  });
}
