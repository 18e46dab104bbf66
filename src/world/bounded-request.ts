// One HTTP request on a connection of its own, under one deadline, with a bounded body. It follows
// no redirect and always verifies TLS, by itself or by the judgement of the caller.

import type { Dispatcher } from 'undici';
import type { HttpTarget, World } from './world.ts';

export interface BoundedRequest extends Pick<HttpTarget, 'ca' | 'proxy' | 'judgeCertificate'> {
  readonly url: URL;
  readonly method?: Dispatcher.HttpMethod;
  readonly headers: Record<string, string>;
  readonly body?: string | null;
  readonly connectTimeoutMs: number;
  /** From the lookup to the last byte. */
  readonly deadlineMs: number;
  readonly timeoutError: Error;
  readonly signal?: AbortSignal;
}

/** Returns what `read` makes of the response. The connection ends with `read`. */
export async function requestOnce<T>(
  world: Pick<World, 'after' | 'http' | 'resolve'>,
  { url, deadlineMs, timeoutError, signal, ...options }: BoundedRequest,
  read: (response: Dispatcher.ResponseData) => Promise<T>,
): Promise<T> {
  const { origin, pathname, search } = url;
  const { ca, proxy, judgeCertificate, connectTimeoutMs, ...request } = options;
  const trust = { ca, proxy, judgeCertificate };
  const client = world.http({ origin, resolver: world.resolve, connectTimeoutMs, ...trust });
  const abort = (): void => void client.destroy(signal?.reason);
  const cancel = world.after(deadlineMs, () => void client.destroy(timeoutError));
  signal?.addEventListener('abort', abort);
  try {
    signal?.throwIfAborted();
    const path = pathname + search;
    // The deadline covers both timeouts.
    const once = { reset: true, headersTimeout: 0, bodyTimeout: 0 };
    const response = await client.request({ method: 'GET', ...request, ...once, path });
    return await read(response);
  } finally {
    cancel();
    signal?.removeEventListener('abort', abort);
    void client.destroy();
  }
}

/** Reads a body as text. @throws the given error beyond the limit */
export async function readBounded(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  tooLarge: Error,
): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) throw tooLarge;
  }
  return Buffer.concat(chunks).toString('utf8');
}
