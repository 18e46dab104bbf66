// A socket whose responses are cleaned before the HTTP client parses them.

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { ResponseCleaner } from './response-cleaner.ts';

/** The part of `net.Socket` that undici uses. */
export class LenientSocket extends Duplex {
  readonly #socket: Socket;
  readonly #cleaner = new ResponseCleaner();

  constructor(socket: Socket) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    let hasEnded = false;
    socket
      .on('data', (bytes: Buffer) => this.#give(() => this.#cleaner.push(bytes)))
      .on('end', () => {
        hasEnded = true;
        this.#give(() => this.#cleaner.end());
        this.push(null);
      })
      .on('error', (error) => this.destroy(error))
      // After an end, the stream destroys itself once all is read.
      .on('close', () => void (hasEnded || this.destroy()));
  }

  #give(clean: () => Buffer): void {
    try {
      const bytes = clean();
      if (bytes.length > 0 && !this.push(bytes)) this.#socket.pause();
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: unknown, done: () => void): void {
    this.#cleaner.sent(bytes.subarray(0, 5).toString('latin1'));
    this.#socket.write(bytes, () => done());
  }

  override _final(done: () => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  ref(): this {
    this.#socket.ref();
    return this;
  }

  unref(): this {
    this.#socket.unref();
    return this;
  }
}
