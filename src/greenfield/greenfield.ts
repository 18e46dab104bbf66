// The Greenfield API: what plugins for BTCPay Server call.

import { Hono } from 'hono';
import type { ApiOptions } from '../api/api-parts.ts';
import type { GreenfieldRoutes } from '../api/http-app.ts';
import { openapiOf } from '../api/reference/openapi.ts';
import { lazy } from '../lib/lazy.ts';
import { greenfieldForm, greenfieldNotes } from './greenfield-document.tsx';
import { createRoutes } from './greenfield-routes.ts';
import { createInvoiceLinks } from './invoice-links.ts';
import { invoiceOperations } from './invoice-operations.ts';
import { serverOperations } from './server-operations.ts';
import { webhookOperations } from './webhook-operations.ts';

export const createGreenfield =
  (given: ApiOptions): GreenfieldRoutes =>
  ({ limitVisit, ...shared }) => {
    const options = { ...given, ...shared, keys: given.records.keys };
    const operations = [
      ...serverOperations(options),
      ...invoiceOperations(options),
      ...webhookOperations(options),
    ];
    const description = lazy(() => openapiOf(operations, options.rates, greenfieldForm));
    const app = new Hono().get('/api/v1/openapi.json', (context) => {
      limitVisit(context, 'page');
      return context.json(description());
    });
    return {
      app: app
        .route('/api', createRoutes(options, operations))
        .route('/', createInvoiceLinks(limitVisit)),
      description,
      notes: greenfieldNotes,
    };
  };
