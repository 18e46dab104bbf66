// How many connections a door has at once, and whose. Where all places are taken, whoever has fewer of them comes in for
// the newest connection of who has most: nobody keeps all others out alone.

import type { Server, Socket } from 'node:net';
import { householdOf } from '../domain/client-address.ts';

/** @param places for connections at once */
export function boundCrowd(server: Server, places: number): void {
  const crowd = new Map<string, Set<Socket>>();
  let taken = 0;

  function enter(socket: Socket, household: string): ReadonlySet<Socket> {
    const own = crowd.get(household) ?? new Set();
    crowd.set(household, own.add(socket));
    taken += 1;
    socket.once('close', () => leave(socket, household));
    return own;
  }

  function leave(socket: Socket, household: string): void {
    const own = crowd.get(household);
    if (!own?.delete(socket)) return;
    taken -= 1;
    if (own.size === 0) crowd.delete(household);
  }

  server.on('connection', (socket: Socket) => {
    const household = householdOf(socket.remoteAddress ?? '');
    const own = enter(socket, household);
    if (taken <= places) return;
    let most = { household, sockets: own };
    for (const [household, sockets] of crowd) {
      if (sockets.size > most.sockets.size) most = { household, sockets };
    }
    const [newest] = [...most.sockets].reverse();
    if (newest === undefined) return;
    // Its place is free at once, and it says that it is closed a moment later.
    leave(newest, most.household);
    newest.destroy();
  });
}
