// A running pool and its servers, for the tests of what a pool does. All are stopped after the
// test.

import { afterEach } from 'vitest';
import type { Ban, TlsIdentity } from '../../src/domain/payment/server-record.ts';
import { Pool } from '../../src/electrum/pool.ts';
import type { ServerAddress } from '../../src/electrum/server-address.ts';
import type { Session } from '../../src/electrum/session.ts';
import { createTestWorld, type TestWorld, type TestWorldOptions } from '../support/world.ts';
import { genesisHash, type Script, type ScriptedServer, startServer } from './scripted-server.ts';

export const hour = 3_600_000;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const answersPings: Script = { 'server.ping': (peer, request) => peer.answer(request, null) };

export async function start(
  script: Script = {},
  options: Parameters<typeof startServer>[1] = {},
): Promise<ScriptedServer> {
  const server = await startServer({ ...answersPings, ...script }, options);
  closing.push(() => server.close());
  return server;
}

/** An address at which nothing listens. */
export async function nobody(): Promise<ServerAddress> {
  const server = await startServer({});
  await server.close();
  return server.address;
}

export interface Running {
  readonly world: TestWorld;
  readonly pool: Pool;
  readonly sessions: Session[];
  readonly lost: string[];
  readonly events: unknown[][];
  /** Resolves with the session of the given number, counting from one. */
  readonly live: (count: number) => Promise<Session>;
}

export function run(
  servers: readonly ServerAddress[],
  trust: Map<string, TlsIdentity> = new Map(),
  options: TestWorldOptions & {
    readonly wanted?: number;
    readonly bans?: Map<string, Ban>;
  } = {},
): Running {
  const world = createTestWorld(options);
  const { bans = new Map<string, Ban>() } = options;
  const sessions: Session[] = [];
  const lost: string[] = [];
  const events: unknown[][] = [];
  const pool = new Pool({
    world,
    servers,
    genesisHash,
    sessions: options.wanted ?? 1,
    memory: {
      trust: (label) => trust.get(label),
      learn: async (label, learnt) => void trust.set(label, learnt),
      ban: (label) => bans.get(label),
      setBan: async (label, ban) => void bans.set(label, ban),
    },
    handlers: {
      onSession: (session) => sessions.push(session),
      onLost: (session, reason) => lost.push(`${session.server.label} ${reason}`),
      onHeader: (session, tip) => events.push([session.generation, tip.height]),
      onStatus: (session, scripthash) => events.push([session.generation, scripthash]),
    },
  });
  closing.push(() => pool.stop());
  const live = async (count: number): Promise<Session> => {
    await world.until(() => sessions.length >= count, `session ${count}`);
    return sessions[count - 1] as Session;
  };
  pool.start();
  return { world, pool, sessions, lost, events, live };
}

export const messages = ({ logs }: TestWorld): string[] => logs.map(({ message }) => message);
