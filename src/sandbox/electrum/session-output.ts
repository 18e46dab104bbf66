// Sends the messages of one connection of the simulated server at once, or delays them while it is
// paused. It can pad them against traffic analysis, as ElectrumX does since 1.18
// (electrumx/server/transport.py).

import type { Socket } from 'node:net';
import type { World } from '../../world/world.ts';

export type Timer = Pick<World, 'after' | 'monotonic'>;

/** Padded output is sent in packets of at least this size, or after this time without one. */
const minPacketBytes = 1_024;
const maxHoldMs = 1_000;
/** The first bytes of a connection are sent at once, for a fast handshake. */
const warmUpBytes = 1_024;
const newline = 0x0a;

export class SessionOutput {
  readonly #socket: Socket;
  readonly #timer: Timer;
  readonly #padded: boolean;
  #paused = false;
  /** Bytes not sent yet: all of them while paused, some for padding. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #handedOver = 0;
  #lastSentAt: number;
  #cancelTimer: (() => void) | undefined;

  constructor(socket: Socket, timer: Timer, padded: boolean) {
    this.#socket = socket;
    this.#timer = timer;
    this.#padded = padded;
    this.#lastSentAt = timer.monotonic();
  }

  /** @param text a JSON object without its newline */
  line(text: string): void {
    const isWarmUp = this.#handedOver < warmUpBytes;
    const line = Buffer.from(`${text}\n`);
    this.#handedOver += line.length;
    this.#hold(line);
    this.#flush(isWarmUp);
  }

  /** Sends bytes as they are, after those that are queued. */
  bytes(bytes: Uint8Array): void {
    this.#hold(bytes);
    if (!this.#paused) this.#write(this.#takeHeld());
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#flush(false);
  }

  end(): void {
    this.#cancelTimer?.();
    this.#socket.end(this.#takeHeld());
  }

  /** Discards queued bytes and closes at once. */
  destroy(): void {
    this.#cancelTimer?.();
    this.#socket.destroy();
  }

  #hold(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #takeHeld(): Buffer {
    const all = Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    return all;
  }

  #flush(force: boolean): void {
    if (this.#paused || this.#heldBytes === 0) return;
    if (!this.#padded) this.#write(this.#takeHeld());
    else if (force || this.#heldBytes >= minPacketBytes || this.#holdLeftMs() === 0) {
      this.#writePadded();
    }
    this.#cancelTimer?.();
    if (this.#heldBytes === 0) return;
    this.#cancelTimer = this.#timer.after(this.#holdLeftMs(), () => this.#flush(false));
  }

  #holdLeftMs(): number {
    return Math.max(0, this.#lastSentAt + maxHoldMs - this.#timer.monotonic());
  }

  #write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
    this.#lastSentAt = this.#timer.monotonic();
  }

  /** Pads all messages to a power of two, or as many as fit better into half of that. */
  #writePadded(): void {
    const all = this.#takeHeld();
    const large = Math.max(minPacketBytes, 2 ** (Math.floor(Math.log2(all.length)) + 1));
    const small = Math.max(minPacketBytes, large / 2);
    const fitting = all.lastIndexOf(newline, small - 1) + 1;
    const takesSmall = fitting > 0 && small - fitting < large - all.length;
    const [length, packet] = takesSmall ? [fitting, small] : [all.length, large];
    // The spaces are inserted before the last bracket, where JSON allows them.
    const end = length - '}\n'.length;
    const padding = Buffer.alloc(packet - length, ' ');
    this.#write(Buffer.concat([all.subarray(0, end), padding, all.subarray(end, length)]));
    if (length < all.length) this.#hold(all.subarray(length));
  }
}
