// A page for people: plain HTML, everything escaped, one style that the policy names by its hash, nothing
// from anywhere else, in no frame.

import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { once } from '../once.ts';

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}' +
  'table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.25rem 1rem .25rem 0}' +
  'code{overflow-wrap:anywhere}' +
  'pre{white-space:pre-wrap;user-select:all;border-left:.25rem solid #888;padding-left:1rem}';

/** Made with the first page: a hash at a start would load all of OpenSSL's. */
const policy = once(() =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
);

export type Markup = ReturnType<typeof html>;

export function page(
  context: Context,
  title: string,
  body: Markup,
  status: ContentfulStatusCode = 200,
): Response | Promise<Response> {
  context.header('Content-Security-Policy', policy());
  context.header('X-Content-Type-Options', 'nosniff');
  context.header('Referrer-Policy', 'no-referrer');
  const markup = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title}</title>
        <style>${raw(style)}</style>
      </head>
      <body>
        <main>${body}</main>
      </body>
    </html>`;
  return context.html(markup, status);
}
