// HTML pages: the document frame of every page, and the style that the pages for customers begin
// with.

import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import { lazy } from '../lib/lazy.ts';
import tokens from './browser/design-tokens.css?raw';
import reload from './browser/page-reload.client.js?raw';

export const textStyle =
  tokens +
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem;background:var(--back);color:var(--text)}' +
  'a{color:var(--link)}' +
  'nav{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem}nav a:first-child{font-weight:700}' +
  'h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2rem}' +
  'code{overflow-wrap:anywhere}';

export type Markup = ReturnType<typeof html>;

export interface InlineStyle {
  readonly markup: Markup;
  readonly hash: () => string;
}

export const inlineStyle = (rules: string): InlineStyle => ({
  markup: html`<style>${raw(rules)}</style>`,
  // Computed with the first page, because the hash loads all of OpenSSL.
  hash: lazy(() => hashOf(rules)),
});

const hashOf = (text: string): string =>
  `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** A live page whose script does not run is loaded again this often. */
export const reloadSeconds = 20;

/**
 * A blocked script can't be seen from here: the script of a live page cancels the reload.
 * @param waitSeconds how long to wait at least
 */
export const reloadUnlessFollowed = (context: Context, waitSeconds = reloadSeconds): void =>
  context.header('Refresh', String(Math.max(reloadSeconds, waitSeconds)));

/**
 * Reloads a live page whose script never arrives. Browsers start a Refresh only once all files of
 * the page have arrived or failed, so one file without an answer would hold that back.
 */
export const reloadScript = {
  markup: html`<script id="reload">${raw(reload)}</script>`,
  hash: lazy(() => hashOf(reload)),
};

/** Path of the icon for text pages. */
export const iconPath = '/favicon.svg';

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
      <meta name="generator" content="paygate" />
      <title>${title}</title>
      ${head}
    </head>
    <body>${body}</body>
  </html>`;
