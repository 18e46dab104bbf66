// An open session to a scripted server, for the tests of what a session does. Servers and sessions
// of a test are closed after it.

import { afterEach } from 'vitest';
import type { BlockHash, Scripthash } from '../../src/bitcoin/ids.ts';
import type { TlsIdentity } from '../../src/domain/payment/server-record.ts';
import type { Budget } from '../../src/electrum/budget.ts';
import { openSession } from '../../src/electrum/handshake.ts';
import type { Session, SessionHandlers, SessionOptions } from '../../src/electrum/session.ts';
import { createTestWorld, type TestWorld } from '../support/world.ts';
import {
  genesisHash,
  type Peer,
  type Script,
  type ScriptedServer,
  startServer,
} from './scripted-server.ts';

export const headerHex = '00'.repeat(80);
export const hashes = Array.from({ length: 30 }, (_, index) =>
  index.toString(16).padStart(64, '0'),
) as Scripthash[];
export const [first, second] = hashes as [Scripthash, Scripthash];
export const statusA = 'aa'.repeat(32);
export const statusB = 'bb'.repeat(32);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

export interface Connected {
  readonly world: TestWorld;
  readonly server: ScriptedServer;
  readonly peer: Peer;
  readonly session: Session;
  /** The calls of the handlers, in order. */
  readonly events: unknown[][];
}

export interface Setting {
  readonly world?: TestWorld;
  readonly options?: SessionOptions;
  readonly known?: TlsIdentity;
  readonly handlers?: Partial<SessionHandlers>;
  readonly signal?: AbortSignal;
  readonly server?: ScriptedServer;
  readonly learnt?: TlsIdentity[];
  readonly budget?: Budget;
  readonly generation?: number;
  readonly genesisHash?: BlockHash;
}

export async function start(
  script: Script = {},
  options: Parameters<typeof startServer>[1] = {},
): Promise<ScriptedServer> {
  const server = await startServer(script, options);
  closing.push(() => server.close());
  return server;
}

export async function open(script: Script, setting: Setting = {}): Promise<Connected> {
  const world = setting.world ?? createTestWorld();
  const server = setting.server ?? (await start(script));
  const events: unknown[][] = [];
  const session = await openSession({
    world,
    server: server.address,
    genesisHash: setting.genesisHash ?? genesisHash,
    generation: setting.generation ?? 1,
    known: setting.known,
    onLearn: async (trust) => void setting.learnt?.push(trust),
    options: setting.options ?? {},
    ...(setting.budget ? { budget: setting.budget } : {}),
    handlers: {
      onHeader: (_, tip) => events.push(['header', tip.height]),
      onStatus: (_, scripthash, status) => events.push(['status', scripthash, status]),
      onClose: (_, reason) => events.push(['close', reason]),
      ...setting.handlers,
    },
    signal: setting.signal ?? new AbortController().signal,
  });
  closing.push(() => session.close('the test is over'));
  const peer = server.peers.at(-1) as Peer;
  return { world, server, peer, session, events };
}
