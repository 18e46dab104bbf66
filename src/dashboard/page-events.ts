// News for the script of a page: a line of an event stream when payments have changed, with each block, or when an extra
// page has changed. It says only that something did; the script fetches the page anew, as anybody would.
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html

import { PaygateError } from '../lib/errors.ts';
import { signedIn } from './dashboard-session.ts';
import type { Page, Parts, Visit } from './page.ts';

/** Streams of everybody together: there is one operator. */
const mostStreams = 30;
/** A line that says nothing, so that a proxy does not take the stream for dead. */
const beatMs = 25_000;

const news = new TextEncoder().encode('data: changed\n\n');
const beat = new TextEncoder().encode(': beat\n\n');

export interface Live {
  readonly page: Page;
  /** Ends every stream. */
  stop(): void;
}

export function createLive(): Live {
  const open = new Set<() => void>();
  return {
    page: {
      path: '/live',
      // Browsers open a stream that has ended anew by themselves, and can say no header with it.
      unattended: true,
      show(visit) {
        // Nobody would read it, or end it.
        if (visit.context.req.method === 'HEAD') return new Response(null);
        if (open.size >= mostStreams) {
          throw new PaygateError('limited', 'Too many pages are open.', { retryAfterSeconds: 30 });
        }
        const { stream, end } = streamFor(visit, (over) => open.delete(over));
        open.add(end);
        return new Response(stream, {
          headers: { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' },
        });
      },
    },
    stop() {
      for (const end of open) end();
    },
  };
}

interface Stream {
  readonly stream: ReadableStream<Uint8Array>;
  readonly end: () => void;
}

function streamFor(visit: Visit, onOver: (end: () => void) => void): Stream {
  const { parts } = visit;
  let isOver = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let cancelBeat = (): void => {};
  /** There is news, and a line before it that nobody has read yet. */
  let isOwed = false;

  function over(): void {
    if (isOver) return;
    isOver = true;
    for (const stop of stops) stop();
    cancelBeat();
    onOver(end);
  }
  function end(): void {
    if (!isOver) controller?.close();
    over();
  }
  const isRead = (): boolean => (controller?.desiredSize ?? 0) > 0;
  function tell(line: Uint8Array): void {
    // A session that has ended hears no more.
    if (isStillIn(parts, visit)) controller?.enqueue(line);
    else end();
  }
  /** A block with thousands of payments is one line or two. */
  function onChange(): void {
    if (isRead()) tell(news);
    else isOwed = true;
  }
  function armBeat(): void {
    cancelBeat = parts.world.after(beatMs, () => {
      armBeat();
      // Neither does a reader that hangs.
      if (isRead()) tell(beat);
      else end();
    });
  }

  const stops = [
    parts.feed.listenToAll(onChange),
    ...parts.extraPages.flatMap(({ listen }) => listen?.(onChange) ?? []),
  ];
  const stream = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
        given.enqueue(beat);
        armBeat();
      },
      pull() {
        if (isOwed) tell(news);
        isOwed = false;
      },
      cancel: over,
    },
    { highWaterMark: 1 },
  );
  return { stream, end };
}

/** What cannot be read ends a stream as well: thrown, it would leave the listeners of one that is over. */
function isStillIn({ store, world }: Parts, visit: Visit): boolean {
  try {
    return store.admin.session(world.now(), visit.token)?.id === signedIn(visit).id;
  } catch {
    return false;
  }
}
