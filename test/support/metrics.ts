// Scrapes /metrics of a test's app.

import { expect } from 'vitest';
import type { TestApp } from './app.ts';

export async function scrape(app: Pick<TestApp, 'metricsPort'>): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${app.metricsPort}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  return response.text();
}
