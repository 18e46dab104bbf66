// `/llms.txt`: what this paygate has for programs that read, as one text. docs/llms.txt is its
// beginning, which `npm run docs` makes from the manual. The routes are those of two documents.
// https://llmstxt.org

import manual from '../../../docs/llms.txt?raw';
import type { OpenapiDocument } from './openapi-shape.ts';

/** Pages of this paygate, each with what it has. */
export const servedPages: Readonly<Record<string, string>> = {
  '/docs/quickstart': 'from a key to a shop, by orders and webhooks',
  '/docs/new-address': 'addresses and callbacks, for a shop that sums up payments itself',
  '/docs': 'every operation, for people',
  '/docs/greenfield': 'what plugins for BTCPay Server use',
  '/api/openapi.json': 'every operation, for programs (OpenAPI 3.1)',
};

/**
 * @param base scheme, host and port under which the reader reaches us
 * @param documents with routes below `/api`
 */
export function llmsTextOf(base: string, documents: readonly OpenapiDocument[]): string {
  const pages = Object.entries(servedPages).map(
    ([path, text]) => `- [${path}](${base}${path}): ${text}`,
  );
  const routes = documents.flatMap(({ paths }) =>
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { summary }]) => `- \`${method.toUpperCase()} /api${path}\`: ${summary}`,
      ),
    ),
  );
  return [manual, '## Pages', '', ...pages, '', '## Routes', '', ...routes, ''].join('\n');
}
