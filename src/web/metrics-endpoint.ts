// /metrics, on a listener of its own.

import { Hono } from 'hono';
import type { Metrics } from '../status/metrics.ts';
import { noSniff } from './content-policy.ts';
import type { Fetch } from './http-server.ts';

export function createMetricsEndpoint(metrics: Pick<Metrics, 'contentType' | 'read'>): Fetch {
  const app = new Hono();
  app.use(noSniff);
  app.get('/metrics', async (context) =>
    context.body(await metrics.read(), 200, {
      'Content-Type': metrics.contentType,
      'Cache-Control': 'no-store',
    }),
  );
  return (request, env) => app.fetch(request, env);
}
