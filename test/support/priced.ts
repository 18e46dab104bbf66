// The whole app with two price sources whose rates a test sets, and requests about orders.

import { parsePriceSource } from '../../src/price/sources.ts';
import { openReady, type Reply, type TestApp, type TestAppOptions } from './app.ts';
import { whenOver } from './files.ts';
import { startReceiver } from './receiver.ts';

/** The price of one bitcoin by currency; the sources answer 500 while it is undefined. */
export interface Market {
  rates: Record<string, number> | undefined;
}

export interface PricedApp extends TestApp {
  readonly market: Market;
  /** POST to a route of `/api/v3`; a text is sent as it is. */
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  get(path: string): Promise<Reply>;
  /** Makes an order. */
  order(body: object): Promise<Reply['body']>;
}

/** Opens an app; end it by `cleanUp` and `closeApps`. */
export async function openPriced({ config, ...options }: TestAppOptions = {}): Promise<PricedApp> {
  const market: Market = { rates: { EUR: 50_000, USD: 60_000 } };
  const answer = () =>
    market.rates === undefined
      ? { status: 500 }
      : { status: 200, body: JSON.stringify(market.rates) };
  const sources = [await startReceiver({ answer }), await startReceiver({ answer })];
  for (const source of sources) whenOver(() => source.close());
  const priceSource = sources.map(({ origin }) => parsePriceSource(`${origin}/#{CODE}`));
  const app = await openReady({ ...options, config: { price: 'own', priceSource, ...config } });

  const post: PricedApp['post'] = (path, body, headers = {}) =>
    app.ask(`/api/v3${path}`, {
      method: 'POST',
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  // Its getters stay getters.
  return Object.assign(Object.create(app) as TestApp, {
    market,
    post,
    get: (path: string) => app.ask(`/api/v3${path}`),
    async order(body: object) {
      const made = await post('/orders', body);
      if (made.status !== 200) throw new Error(`no order: ${JSON.stringify(made.body)}`);
      return made.body;
    },
  });
}
