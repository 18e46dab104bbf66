// Event streams that say only that something changed; the page then fetches itself again.
// It bounds the number of streams, and ends those that are not read. At the maximum, a new stream
// replaces the newest of the network prefix with the most streams.
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html

import type { Context } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import {
  type ClientPrefixes,
  clientPrefixesOf,
  connectionToClose,
} from '../domain/access/connection-eviction.ts';
import type { PaygateError } from '../lib/errors.ts';
import type { World } from '../world/world.ts';

export interface EventStreamOptions {
  readonly world: Pick<World, 'after'>;
  readonly maxStreams: number;
  /** Streams of one network prefix (/48). Undefined: no limit. */
  readonly maxOfClient?: number;
  /** The error for one stream too many. */
  readonly refusal: () => PaygateError;
}

export interface StreamOptions {
  /** Asked before each event; false ends the stream. It must not throw. */
  readonly isAllowed?: () => boolean;
  /** What the stream is about. */
  readonly topic?: number;
  readonly client?: string;
  /**
   * Milliseconds until its page changes by itself; asked at the start and after each event.
   * Undefined: never. It must not throw.
   */
  readonly nextChangeMs?: () => number | undefined;
}

/**
 * Time between two heartbeats. They keep proxies from closing the connection. A stream whose reader
 * has not taken a heartbeat when the next one is due is ended.
 */
const heartbeatMs = 12_500;

interface OpenStream extends Pick<StreamOptions, 'topic'>, ClientPrefixes {
  readonly onChange: () => void;
}

/** A comment, which browsers ignore. */
const heartbeat = ': beat\n\n';

export class EventStreams {
  readonly #options: EventStreamOptions;
  /** Open streams, each with its topic and what announces a change to it. */
  readonly #open = new Map<SSEStreamingApi, OpenStream>();

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  /**
   * Sends an event to every stream of a topic. Changes during a pending write are covered by that
   * write.
   * @param about undefined: every topic
   */
  announce(about?: number): void {
    for (const { topic, onChange } of this.#open.values()) {
      if (about === undefined || topic === about) onChange();
    }
  }

  stop(): void {
    for (const stream of this.#open.keys()) stream.abort();
  }

  /** @throws PaygateError the refusal, when as many are open as may be */
  open(context: Context, stream: StreamOptions = {}): Response {
    // The body of a HEAD request would never be read, and never end.
    if (context.req.method === 'HEAD') return context.body(null);
    this.#makeRoom(clientPrefixesOf(stream.client ?? ''));
    context.header('X-Accel-Buffering', 'no');
    const response = streamSSE(context, (api) => this.#serve(api, stream));
    response.headers.set('Cache-Control', 'no-store');
    return response;
  }

  /** Ends another stream if that is needed for one more. @throws PaygateError the refusal */
  #makeRoom(candidate: ClientPrefixes): void {
    const { maxStreams, maxOfClient = maxStreams, refusal } = this.#options;
    const open = [...this.#open.values()];
    const own = open.filter(({ prefix48 }) => prefix48 === candidate.prefix48);
    if (own.length >= maxOfClient) throw refusal();
    if (open.length < maxStreams) return;
    const closing = connectionToClose([...open, candidate]);
    const [ended] = [...this.#open].find(([, each]) => each === closing) ?? [];
    if (ended === undefined) throw refusal();
    ended.abort();
  }

  async #serve(stream: SSEStreamingApi, options: StreamOptions): Promise<void> {
    const { isAllowed = () => true, nextChangeMs = () => undefined } = options;
    const { after } = this.#options.world;
    let isChanged = false;
    let isHeartbeatDue = true;
    let isWriting = false;
    let wake = (): void => {};
    const onHeartbeat = (): void => {
      if (isWriting) {
        stream.abort();
        return;
      }
      cancel = after(heartbeatMs, onHeartbeat);
      isHeartbeatDue = true;
      wake();
    };
    let cancel = after(heartbeatMs, onHeartbeat);
    const onChange = (): void => {
      isChanged = true;
      wake();
    };
    this.#open.set(stream, { ...options, ...clientPrefixesOf(options.client ?? ''), onChange });
    const setTimer = (): (() => void) => {
      const delayMs = nextChangeMs();
      return delayMs === undefined ? () => {} : after(delayMs, onChange);
    };
    let cancelChange = setTimer();
    stream.onAbort(() => {
      this.#open.delete(stream);
      cancel();
      cancelChange();
      wake();
    });
    while (!stream.aborted) {
      if (!isChanged && !isHeartbeatDue) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else if (!isAllowed()) stream.abort();
      else {
        isWriting = true;
        await (isHeartbeatDue ? stream.write(heartbeat) : stream.writeSSE({ data: 'changed' }));
        isWriting = false;
        // The reader fetches the page after it took the event, so it sees changes until here.
        if (isHeartbeatDue) isHeartbeatDue = false;
        else {
          isChanged = false;
          cancelChange();
          if (!stream.aborted) cancelChange = setTimer();
        }
      }
    }
  }
}
