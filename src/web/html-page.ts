// HTML pages: the document frame of every page, and the pages of text outside of the dashboard. A
// page of text has one inline style, loads nothing from other sites, and follows the dark mode of
// the reader. Pages for customers add rules to that style.

import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { lazy } from '../lib/lazy.ts';
import tokens from './browser/design-tokens.css?raw';
import { setTextPageHeaders } from './content-policy.ts';

export const textStyle =
  tokens +
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem;background:var(--back);color:var(--text)}' +
  'a{color:var(--link)}' +
  'nav{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem}nav a:first-child{font-weight:700}' +
  'h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2rem}h3{font-size:1.05rem}' +
  '.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}' +
  'td,th{text-align:start;vertical-align:top;padding-block:.4rem;padding-inline:0 1rem}' +
  'code{overflow-wrap:anywhere}td code{white-space:nowrap}.whole td code{white-space:normal}' +
  'pre{white-space:pre-wrap;user-select:all;background:var(--quiet);border-inline-start:.25rem solid #888;padding:.5rem 1rem}';

export type Markup = ReturnType<typeof html>;

/** An inline style, and its hash for the content policy. */
export interface InlineStyle {
  readonly markup: Markup;
  readonly hash: () => string;
}

export const inlineStyle = (rules: string): InlineStyle => ({
  markup: html`<style>${raw(rules)}</style>`,
  // Computed with the first page, because the hash loads all of OpenSSL.
  hash: lazy(() => `sha256-${createHash('sha256').update(rules).digest('base64')}`),
});

const style = inlineStyle(textStyle);

/** Path of the icon for text pages. */
export const iconPath = '/favicon.svg';

/** Navigation between the pages for programmers, and to the dashboard. */
export const docsNavigation: Markup = html`<header><nav aria-label="Pages">
  <a href="/dashboard">paygate</a> <a href="/docs">API</a> <a href="/docs/quickstart">Quickstart</a>
</nav></header>`;

export interface TextPageOptions {
  readonly header?: Markup;
  readonly status?: ContentfulStatusCode;
}

interface DocumentParts {
  readonly title: string;
  /** Language tag of the texts; English without one. */
  readonly lang?: string;
  readonly dir?: 'ltr' | 'rtl';
  /** Icon, style and script. */
  readonly head: Markup;
  readonly body: Markup | HtmlEscapedString;
}

/** The frame of every HTML page that paygate sends. */
export const htmlDocument = ({
  title,
  lang = 'en',
  dir = 'ltr',
  head,
  body,
}: DocumentParts): Markup => html`<!doctype html>
  <html lang="${lang}" dir="${dir}">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>${title}</title>
      ${head}
    </head>
    <body>${body}</body>
  </html>`;

export function textPage(
  context: Context,
  title: string,
  body: Markup,
  { header, status = 200 }: TextPageOptions = {},
): Response | Promise<Response> {
  setTextPageHeaders(context, style.hash());
  const markup = htmlDocument({
    title,
    head: html`<link rel="icon" href="${iconPath}" type="image/svg+xml" />
      ${style.markup}`,
    body: html`${header ?? ''}<main>${body}</main>`,
  });
  return context.html(markup, status);
}
