// A webhook of a plugin for a test: a receiver that checks each signature, and an app that pays.

import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import { whenOver } from './files.ts';
import { type GreenfieldApp, openGreenfield } from './greenfield.ts';
import { type Receiver, startReceiver } from './receiver.ts';

export const webhooks = '/stores/{s}/webhooks';
export const secret = 'a secret of the plugin';

/** Opens "Connect a plugin" for the key of an app, or shuts it. */
export const allowPlugin = ({ app, key }: GreenfieldApp, until: number) =>
  app.withStore(({ keys, database }) =>
    database.write((tx) => {
      const id = keys.find(key, app.world.now())?.id ?? 0;
      keys.allowPlugin(tx, app.world.now(), id, until);
    }),
  );

// biome-ignore lint/suspicious/noExplicitAny: a test reads any field of an event.
export type Event = any;

export interface InvoiceHook {
  readonly id: string;
  readonly receiver: Receiver;
  /** Bodies in the order in which they arrived; signatures are checked. */
  events(): Event[];
  types(): string[];
}

/** The answer of a receiver to each event. */
type Answer = (event: Event) => number;

export async function addHook(
  greenfield: GreenfieldApp,
  fields: object = {},
  answer: Answer = () => 200,
): Promise<InvoiceHook> {
  const receiver = await startReceiver({
    answer: ({ body }) => ({ status: answer(JSON.parse(body ?? '')) }),
  });
  whenOver(() => receiver.close());
  const { app } = greenfield;
  await allowPlugin(greenfield, app.world.now() + 60_000);
  const url = `${receiver.origin}/hook?a=b|c`;
  const made = await greenfield.ask('POST', webhooks, { url, secret, ...fields });
  if (made.status !== 200) throw new Error(JSON.stringify(made.body));
  await allowPlugin(greenfield, 0);
  const events = () =>
    receiver.requests.map(({ body, headers }) => {
      const digest = createHmac('sha256', secret)
        .update(body ?? '')
        .digest('hex');
      expect(headers['btcpay-sig']).toBe(`sha256=${digest}`);
      expect(headers['content-type']).toBe('application/json');
      return JSON.parse(body ?? '');
    });
  return {
    ...{ id: made.body.id, receiver, events },
    types: () => events().map(({ type }) => type.replace('Invoice', '')),
  };
}

export async function openHooked(fields?: object, answer?: Answer) {
  const greenfield = await openGreenfield();
  const hook = await addHook(greenfield, fields, answer);
  const settle = () => greenfield.app.settle();
  const pay = async (id: string, valueSat: number) => {
    const txid = greenfield.app.pay(await greenfield.addressOf(id), valueSat);
    await settle();
    return txid;
  };
  const mine = async (blocks = 2) => {
    greenfield.app.chain.mine(blocks);
    await settle();
  };
  return { ...greenfield, greenfield, hook, settle, pay, mine };
}
