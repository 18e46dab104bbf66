// Tells the pages that are open that something has changed, by server-sent events. It says no more than
// that: a page then fetches itself again. Changes that come faster than a page takes them are one.

import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { PaygateError } from '../../lib/errors.ts';

/** Pages that may be open at the same time. */
const mostPages = 64;

export class Changes {
  readonly #wakes = new Set<() => void>();
  #version = 0;
  #over = false;

  announce(): void {
    this.#version += 1;
    for (const wake of this.#wakes) wake();
  }

  /** Ends all streams. */
  end(): void {
    this.#over = true;
    for (const wake of this.#wakes) wake();
  }

  /** @throws PaygateError unavailable when too many pages are open */
  stream(context: Context): Response {
    if (this.#wakes.size >= mostPages) {
      throw new PaygateError('unavailable', `${mostPages} pages are open: close some`);
    }
    let left = false;
    let seen = this.#version;
    let wake = (): void => {};
    const onChange = (): void => wake();
    this.#wakes.add(onChange);
    // So that the socket does not linger when the stream has ended.
    context.header('Connection', 'close');
    const leave = (): void => {
      left = true;
      this.#wakes.delete(onChange);
      wake();
    };
    return streamSSE(context, async (stream) => {
      stream.onAbort(leave);
      // So that the browser knows that it is connected.
      await stream.write(': here\n\n');
      while (!left && !this.#over) {
        if (seen === this.#version) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        seen = this.#version;
        await stream.writeSSE({ event: 'change', data: String(seen) });
      }
      leave();
    });
  }
}
