// `GET /api/price` and `GET /api/currencies` (wire §3): without a key, the shapes that shops have relied
// on for years.

import { Hono } from 'hono';
import { PaygateError } from '../errors.ts';
import type { Prices } from '../price/prices.ts';
import { refuseRepeated } from './api.ts';

/** @param prices undefined where the operator has switched them off */
export function createPriceRoutes(prices: Prices | undefined): Hono {
  const routes = new Hono();
  const open = (): Prices => {
    if (prices !== undefined) return prices;
    throw new PaygateError('not_found', 'Prices are switched off at this paygate');
  };
  routes.get('/price', refuseRepeated, async (context) => {
    const { currency, crypto = 'BTC' } = context.req.query();
    const source = open();
    if (!currency) throw new PaygateError('invalid', 'Name a currency, such as ?currency=USD');
    const price = crypto.toUpperCase() === 'BTC' ? await source.price(currency) : null;
    return context.json({ price });
  });
  routes.get('/currencies', refuseRepeated, async (context) =>
    context.json(await open().currencies()),
  );
  return routes;
}
