// What a server sends, cut into messages, and the bounds on what it sends unasked: a hostile one must
// cost neither memory nor time. Only an answer that may be long by nature may be; a line that grows long
// while none is awaited is a fault before it is read, and so is a stream of notifications without end.

import { type Bucket, type Rate, takeToken } from '../domain/rate-limit.ts';
import type { World } from '../world/world.ts';
import { invalid, LineFramer, type Message, parseMessage } from './framing.ts';

/** The longest that any notification or ordinary answer needs is 2 kB. */
const longestUnasked = 65_536;
/** A history has at most a comma for each 33 characters; more parts than this cost memory to no end. */
const charactersPerComma = 25;
/** What describes a transaction may have these in any case: a node relays up to 230,000 items of witness in one. */
const partsOfTransaction = 300_000;
/**
 * Bytes of notifications: every one of 40,000 subscribed addresses changes at once, then some 80 a second, ten
 * times what fits in blocks.
 */
const notices: Rate = { perMinute: 960_000, burst: 10_000_000 };
const newline = 0x0a;

export class Inflow {
  readonly #world: Pick<World, 'monotonic'>;
  readonly #expectsLong: () => boolean;
  readonly #expectsDescription: () => boolean;
  #framer = new LineFramer();
  #unfinished = 0;
  #noticed: Bucket | undefined;

  /**
   * @param expectsLong whether an answer is out that may be long
   * @param expectsDescription whether one is out that says all of a transaction
   */
  constructor(
    world: Pick<World, 'monotonic'>,
    expectsLong: () => boolean,
    expectsDescription = () => false,
  ) {
    this.#world = world;
    this.#expectsLong = expectsLong;
    this.#expectsDescription = expectsDescription;
  }

  /**
   * Yields each message that these bytes complete; those before a fault come out first.
   * @throws PaygateError invalid
   */
  *push(chunk: Uint8Array): Generator<Message, void> {
    for (const line of this.#framer.push(chunk)) {
      if (line.length > longestUnasked) {
        this.#checkLong();
        checkDensity(line, this.#expectsDescription() ? partsOfTransaction : 0);
      }
      const message = parseMessage(line);
      if (message.kind === 'notification') this.#checkNotice(line.length);
      yield message;
    }
    const end = chunk.lastIndexOf(newline);
    this.#unfinished = chunk.length - end - 1 + (end === -1 ? this.#unfinished : 0);
    if (this.#unfinished > longestUnasked) this.#checkLong();
  }

  /** Lets go of an unfinished line, which may hold megabytes. */
  clear(): void {
    this.#framer = new LineFramer();
  }

  #checkLong(): void {
    if (!this.#expectsLong()) throw invalid('a long line that was not asked for');
  }

  #checkNotice(length: number): void {
    if (length > longestUnasked) throw invalid('a notification of more than 64 kB');
    const { bucket, waitMs } = takeToken(notices, this.#noticed, this.#world.monotonic(), length);
    if (waitMs > 0) throw invalid('more notifications than can be true');
    this.#noticed = bucket;
  }
}

/** Before JSON.parse, which makes a hundred bytes of each two that are `1,` or `[]`. */
function checkDensity(line: string, allowed: number): void {
  let left = Math.max(allowed, line.length / charactersPerComma);
  for (let at = line.indexOf(','); at !== -1; at = line.indexOf(',', at + 1)) {
    if (--left < 0) throw invalid('a long answer of too many parts');
  }
}
