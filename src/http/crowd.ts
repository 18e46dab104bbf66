// How many connections a door has at once, and whose. Where all places are taken, whoever has fewer of them comes in for
// the newest connection of who has most: nobody keeps all others out alone.

import type { Server, Socket } from 'node:net';
import { householdOf } from '../domain/client-address.ts';

/** @param places for connections at once */
export function boundCrowd(server: Server, places: number): void {
  /** Whose each connection is, the newest last. */
  const crowd = new Map<Socket, string>();
  server.on('connection', (socket: Socket) => {
    const household = householdOf(socket.remoteAddress ?? '');
    crowd.set(socket, household);
    socket.once('close', () => crowd.delete(socket));
    if (crowd.size <= places) return;
    const most = largest(crowd.values(), household);
    const [newest] = [...crowd].findLast(([, whose]) => whose === most) ?? [socket];
    // Its place is free at once, and it says that it is closed a moment later.
    crowd.delete(newest);
    newest.destroy();
  });
}

/** @param own stays where no other has more */
function largest(households: Iterable<string>, own: string): string {
  const counts = new Map<string, number>();
  for (const household of households) {
    counts.set(household, (counts.get(household) ?? 0) + 1);
  }
  let most = own;
  for (const [household, count] of counts) {
    if (count > (counts.get(most) ?? 0)) most = household;
  }
  return most;
}
