// Several subscriptions, each heard as it is answered. Those of scripts that surely have no history go out in messages
// of several where the server is our own, one by one where it takes none such.

import type { Scripthash } from '../bitcoin/ids.ts';
import { slices } from '../lib/chunk.ts';
import { PaygateError } from '../lib/errors.ts';
import { type Batches, mostInBatch } from './batches.ts';
import type { Channel } from './channel.ts';
import { ServerError } from './framing.ts';
import type { Priority } from './request.ts';
import type { Subscriptions } from './subscriptions.ts';
import { methods, type Status } from './wire.ts';

export interface ManyParts {
  readonly channel: Channel;
  readonly subscribe: (scripthash: Scripthash, priority: Priority) => Promise<Status>;
  readonly subscriptions: Subscriptions;
  /** What is known of the server; undefined where it is not asked so. */
  readonly batches: Batches | undefined;
  /** Of the session. */
  readonly generation: number;
}

/** Is told each as it is answered: the status, or why the server does not tell it. */
export type Hear = (scripthash: Scripthash, told: Status | PaygateError) => void;

/** @throws PaygateError unavailable when the session ends, and whatever `hear` throws */
export async function subscribeMany(
  { channel, subscribe, subscriptions, batches, generation }: ManyParts,
  scripthashes: readonly Scripthash[],
  priority: Priority,
  hear: Hear,
): Promise<void> {
  const isClosed = (): boolean => channel.endReason !== undefined;

  async function one(scripthash: Scripthash): Promise<Status | PaygateError> {
    try {
      return await subscribe(scripthash, priority);
    } catch (error) {
      // One that does not answer has refused as well, unless the session has ended over it.
      if (isClosed() || !(error instanceof PaygateError)) throw error;
      return error;
    }
  }

  async function each(part: readonly Scripthash[]): Promise<void> {
    await Promise.all(part.map(async (scripthash) => hear(scripthash, await one(scripthash))));
  }

  /** Undefined where the server takes no batch. */
  async function together(part: readonly Scripthash[]) {
    const params = part.map((scripthash) => [scripthash]);
    const { parse, newest } = subscriptions.add(part);
    try {
      const told = await channel.batch({ method: methods.subscribe, params, parse });
      // Some servers may refuse a batch by refusing each of its requests.
      if (!told.every((answer) => answer instanceof ServerError)) return { told, newest };
    } catch (error) {
      if (!(error instanceof PaygateError)) throw error;
      if (isClosed() && !(error instanceof ServerError)) {
        batches?.lost(generation);
        throw error;
      }
    }
    batches?.refused();
    return undefined;
  }

  async function batch(part: readonly Scripthash[]): Promise<void> {
    const answered = await together(part);
    if (answered === undefined) return each(part);
    batches?.answered();
    const { told, newest } = answered;
    part.forEach((scripthash, place) => {
      const answer = told[place] ?? null;
      hear(scripthash, answer instanceof ServerError ? answer : newest(answer, place));
    });
  }

  async function ask(part: readonly Scripthash[]): Promise<void> {
    if (!priority.light || part.length === 1 || batches === undefined) return each(part);
    const known = batches.known(part.length);
    if (known !== undefined) await known;
    return batches.begin() ? batch(part) : each(part);
  }

  const size = Math.min(channel.bulkPlaces, mostInBatch);
  await Promise.all(Array.from(slices(scripthashes, size), ask));
}
