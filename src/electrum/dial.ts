// Dials a server within its deadline, and says of a port that speaks otherwise what to write in its place.

import { codeOf, isHangUp, isPlain } from '../domain/network-error.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Connection, SocksProxy, World } from '../world/world.ts';
import type { ServerAddress } from './trust.ts';

export interface DialParts {
  readonly world: Pick<World, 'after' | 'connect'>;
  readonly server: ServerAddress;
  readonly proxy: SocksProxy | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** @throws PaygateError unavailable, with the cause that World found */
export async function dial(parts: DialParts): Promise<Connection> {
  const { world, server, proxy, timeoutMs, signal } = parts;
  const giveUp = new AbortController();
  const stop = (): void => giveUp.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  const cancelDeadline = world.after(timeoutMs, () =>
    giveUp.abort(new Error('it did not answer in time')),
  );
  try {
    return await world.connect(proxy ? { ...server, proxy } : server, giveUp.signal);
  } catch (error) {
    throw withScheme(error, server);
  } finally {
    cancelDeadline();
    signal.removeEventListener('abort', stop);
  }
}

/** A port that shows no TLS, or hangs up at it, may speak plain TCP. */
function withScheme(error: unknown, { tls }: ServerAddress): unknown {
  if (!tls || !(error instanceof PaygateError)) return error;
  const code = codeOf(error.cause);
  if (!isPlain(code) && !isHangUp(code)) return error;
  const message = `${error.message}; if it speaks plain TCP, write tcp:// instead of ssl://`;
  return new PaygateError(error.code, message, { cause: error.cause });
}
