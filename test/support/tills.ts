// An app with prices and a till, whose device is a browser without script.

import type { OrderJson } from '../../src/domain/order/order-json.ts';
import type { TestAppOptions } from './app.ts';
import { formIn } from './links.ts';
import { openPriced, type PricedApp } from './priced.ts';
import { type Seen, signedIn, type Visitor, visitorOf } from './visitor.ts';

export interface TillScene {
  readonly app: PricedApp;
  readonly owner: Visitor;
  readonly device: Visitor;
  /** Types an amount at the device. @returns the path of the sale's page */
  sell(amount: string): Promise<string>;
  send(amount: string, key?: string): Promise<Seen>;
  orders(): Promise<OrderJson[]>;
}

/** Adds a till as the owner does. @returns the path that its code leads to */
export async function addTill(
  owner: Visitor,
  fields: Record<string, string> = {},
): Promise<string> {
  const added = await owner.submit('/dashboard/tills/new', 'add', {
    ...{ name: 'Counter', store: '1', 'seen-up-to': '20' },
    ...fields,
  });
  return codePathIn(added);
}

export function codePathIn({ text }: Seen): string {
  const [path] = /\/till\/pair\/[\w-]+/.exec(text) ?? [];
  if (path === undefined) throw new Error(`no code: ${text}`);
  return path;
}

export async function openTill(
  options: TestAppOptions = {},
  fields: Record<string, string> = {},
): Promise<TillScene> {
  const app = await openPriced(options);
  await app.withStore(({ catalog, database }) =>
    database.write((tx) => void catalog.changeStore(tx, 1, { currency: 'EUR' })),
  );
  const owner = await signedIn(app);
  const device = visitorOf(app);
  const paired = await device.post(await addTill(owner, fields), '');
  if (paired.status !== 303) throw new Error(`not paired: ${paired.text}`);
  const send = async (amount: string, key?: string): Promise<Seen> => {
    const form = formIn((await device.get('/till')).text);
    return device.post('/till', String(new URLSearchParams({ amount, key: key ?? form.key })));
  };
  return {
    ...{ app, owner, device, send },
    async sell(amount) {
      const { to, text } = await send(amount);
      if (to === undefined) throw new Error(`not sold: ${text}`);
      return `/${to}`;
    },
    orders: async () => (await app.get('/orders?limit=100')).body.data,
  };
}
