// The frame of the pages for programmers: the navigation between them and the dashboard, and one
// inline style. They load nothing from other sites, and follow the dark mode of the reader.

import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import { Wordmark } from './brand.tsx';
import tokens from './browser/design-tokens.css?raw';
import rules from './browser/docs-style.css?raw';
import { setTextPageHeaders } from './content-policy.ts';
import { htmlDocument, iconPath, inlineStyle, type Markup } from './html-page.ts';

const style = inlineStyle(tokens + rules);

export interface DocsPageParts {
  readonly title: string;
  /** A column beside the text on wide screens. */
  readonly contents?: Child;
  readonly body: Child;
}

export const docsPage = ({ title, contents, body }: DocsPageParts): Markup =>
  htmlDocument({
    title,
    head: (
      <>
        <link rel="icon" href={iconPath} type="image/svg+xml" />
        {style.markup}
      </>
    ),
    body: (
      <>
        <header>
          <nav aria-label="Pages">
            <a href="/dashboard">
              <Wordmark />
            </a>{' '}
            <a href="/docs">API</a> <a href="/docs/quickstart">Quickstart</a>
          </nav>
        </header>
        <div class="docs">
          {contents}
          <main>{body}</main>
        </div>
      </>
    ),
  });

/**
 * Encodes a page once for all readers that use the same URL. Responses that wait for slow readers
 * share these bytes.
 */
export function encodedPage(
  render: (base: string) => Markup | Promise<Markup>,
): (base: string) => Promise<Uint8Array<ArrayBuffer>> {
  let last: { readonly base: string; readonly bytes: Promise<Uint8Array<ArrayBuffer>> } | undefined;
  const encode = async (base: string) => new TextEncoder().encode(String(await render(base)));
  return (base) => {
    if (last?.base !== base) last = { base, bytes: encode(base) };
    return last.bytes;
  };
}

/** Sends a page that names the requested host, so that no cache may have it. */
export function sendDocsPage(context: Context, page: Uint8Array<ArrayBuffer>): Response {
  setTextPageHeaders(context, style.hash());
  context.header('Cache-Control', 'no-store');
  context.header('Content-Type', 'text/html; charset=UTF-8');
  return context.body(page);
}

/** A text with its code in backticks. */
export const Prose = ({ text }: { readonly text: string }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</>
);
