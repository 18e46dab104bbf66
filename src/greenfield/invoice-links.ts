// Addresses of an invoice that browsers get from plugins, and the script for a frame in the shop.

import { type Context, Hono } from 'hono';
import { isId } from '../domain/order/order-id.ts';
import { PaygateError } from '../lib/errors.ts';
import type { LimitVisit } from '../web/limits/visit-limit.ts';
import script from './browser/modal.client.js?raw';

export function createInvoiceLinks(limitVisit: LimitVisit): Hono {
  /** @param to before the id, from the path of the request */
  const lead = (context: Context, to: string, id = context.req.param('id') ?? ''): Response => {
    limitVisit(context, 'page');
    if (!isId('ord', id)) throw new PaygateError('not_found', 'There is no such invoice');
    return context.redirect(`${to}/${id}`);
  };
  const links = new Hono();
  links.get('/i/:id', (context) => lead(context, '../o'));
  links.get('/i/:id/:method', (context) => lead(context, '../../o'));
  links.get('/invoice', (context) => lead(context, 'o', context.req.query('id')));
  links.get('/invoices/:id', (context) => lead(context, '../dashboard/orders'));
  links.get('/modal/btcpay.js', (context) => {
    limitVisit(context, 'file');
    context.header('Content-Type', 'text/javascript; charset=utf-8');
    context.header('Cache-Control', 'public, max-age=3600');
    return context.body(script);
  });
  return links;
}
