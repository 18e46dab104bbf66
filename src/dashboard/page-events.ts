// The event stream of the dashboard: an event when payments have changed, with each block, or when
// an extra page has changed. The script of a page then requests the page again.

import { PaygateError } from '../lib/errors.ts';
import { EventStreams } from '../web/event-stream.ts';
import { signedIn } from './guard/dashboard-session.ts';
import type { DashboardParts, Page, PageRequest } from './page.ts';

/** Streams of all sessions together. */
const maxStreams = 30;

export interface PageEvents {
  readonly page: Page;
  stop(): void;
}

export function createPageEvents({ world, feed, extraPages }: DashboardParts): PageEvents {
  const streams = new EventStreams({
    world,
    maxStreams,
    refusal: () =>
      new PaygateError('limited', 'Too many pages are open.', { retryAfterSeconds: 30 }),
  });
  const onChange = (): void => streams.announce();
  const stops = [
    feed.listenToAll(onChange),
    ...extraPages.flatMap(({ listen }) => listen?.(onChange) ?? []),
  ];
  return {
    page: {
      path: '/live',
      viewers: [],
      // Browsers open a stream again by themselves, and can't set a header that says so.
      unattended: true,
      show: (request) =>
        streams.open(request.context, { isAllowed: () => isStillSignedIn(request) }),
    },
    stop() {
      for (const stop of stops) stop();
      streams.stop();
    },
  };
}

/** False also when the session can't be read. */
function isStillSignedIn(request: PageRequest): boolean {
  const { records, world } = request.parts;
  try {
    return records.admin.session(world.now(), request.token)?.id === signedIn(request).id;
  } catch {
    return false;
  }
}
