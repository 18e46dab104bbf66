// The Greenfield API for a test: a priced app, keys of one store, and plain requests.

import type { KeyPlugin, KeyScope } from '../../src/domain/access/key-scope.ts';
import type { Reply, TestAppOptions } from './app.ts';
import { openPriced, type PricedApp } from './priced.ts';

export interface GreenfieldApp {
  readonly app: PricedApp;
  /** The store's id below `/api/v1`. */
  readonly storeId: string;
  readonly key: string;
  addKey(plugin?: KeyPlugin, scope?: KeyScope, storeId?: number): Promise<string>;
  /** Below `/api/v1`; `{s}` stands for the store. A text is sent as it is. */
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Reply>;
  /** Makes an invoice. */
  invoice(body?: object | string): Promise<Reply['body']>;
  invoiceOf(id: string): Promise<Reply['body']>;
  /** The address at which an invoice is paid. */
  addressOf(id: string): Promise<string>;
}

export async function openGreenfield(options: TestAppOptions = {}): Promise<GreenfieldApp> {
  const app = await openPriced(options);
  const addKey: GreenfieldApp['addKey'] = (plugin = 'standard', scope = 'payments', storeId = 1) =>
    app.withStore(({ keys, database }) =>
      database.write((tx) =>
        keys.add(tx, app.world.now(), {
          ...{ storeId, scope, plugin },
          secret: app.world.randomBytes(32),
        }),
      ),
    );
  const key = await addKey();
  const storeId = await app.withStore(async ({ catalog }) => catalog.store(1).publicId);
  const ask: GreenfieldApp['ask'] = (method, path, body, as = key) =>
    app.ask(`/api/v1${path.replace('{s}', storeId)}`, {
      method,
      headers: { Authorization: `token ${as}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const greenfield: GreenfieldApp = {
    ...{ app, storeId, key, addKey, ask },
    async invoice(body = { amount: '20.00', currency: 'EUR' }) {
      const made = await ask('POST', '/stores/{s}/invoices', body);
      if (made.status !== 200) throw new Error(`no invoice: ${JSON.stringify(made.body)}`);
      return made.body;
    },
    invoiceOf: async (id) => (await ask('GET', `/stores/{s}/invoices/${id}`)).body,
    async addressOf(id) {
      const { body } = await ask('GET', `/stores/{s}/invoices/${id}/payment-methods`);
      return body[0].destination;
    },
  };
  return greenfield;
}
