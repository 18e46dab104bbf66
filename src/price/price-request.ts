// One question to a price source: a GET on a connection of its own, under one deadline, of which a bounded
// answer is read. It follows no redirect, sends nothing about the shop, and always verifies TLS.

import type { Dispatcher } from 'undici';
import { networkErrorText } from '../domain/network-error.ts';
import { parseRetryAfter } from '../domain/retry.ts';
import { version } from '../lib/version.ts';
import type { World } from '../world/world.ts';

/** For everything together; shops give up after 5 s. */
const deadlineMs = 3_000;
const bodyLimitBytes = 256 * 1024;

/** What a source did wrong, in words for the log. */
export class SourceFault extends Error {
  /** How long it asked to be left alone. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, retryAfterSeconds?: number) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * @returns the JSON that was answered
 * @throws SourceFault
 */
export async function fetchJson(world: World, url: string, signal: AbortSignal): Promise<unknown> {
  const { origin } = new URL(url);
  const client = world.http({ origin, resolver: world.resolve, connectTimeoutMs: deadlineMs });
  const cut = (reason: string): void => void client.destroy(new SourceFault(reason));
  const abort = (): void => cut('paygate is stopping');
  const cancel = world.after(deadlineMs, () => cut(`no answer within ${deadlineMs / 1000} s`));
  signal.addEventListener('abort', abort);
  try {
    if (signal.aborted) abort();
    return parse(await exchange(client, url, world.now()));
  } catch (error) {
    throw error instanceof SourceFault ? error : new SourceFault(faultOf(error));
  } finally {
    cancel();
    signal.removeEventListener('abort', abort);
    void client.destroy();
  }
}

async function exchange(client: Dispatcher, url: string, now: number): Promise<string> {
  const { origin, pathname, search } = new URL(url);
  const { statusCode, headers, body } = await client.request({
    method: 'GET',
    origin,
    path: pathname + search,
    headers: { accept: 'application/json', 'user-agent': `paygate/${version}` },
    reset: true,
    // The one deadline is ours.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  if (statusCode !== 200) {
    const [retryAfter] = [headers['retry-after']].flat();
    throw new SourceFault(`it answered ${statusCode}`, parseRetryAfter(retryAfter, now));
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > bodyLimitBytes) throw new SourceFault('its answer is larger than 256 KiB');
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SourceFault('its answer is no JSON');
  }
}

/** What the network stack calls it; its message may hold what the source sent. */
function faultOf(error: unknown): string {
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  return networkErrorText(String(code), true) ?? String(typeof code === 'string' ? code : name);
}
