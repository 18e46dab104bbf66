// The frame of every page of the demo shop, and its tables. Everything is escaped, and everything
// that the browser loads comes from here: one stylesheet, one script.

import type { Context } from 'hono';
import { html } from 'hono/html';
import { htmlDocument, type Markup } from '../../web/html-page.ts';

export interface PageOptions {
  readonly title: string;
  readonly body: Markup;
  /** Without JavaScript the page is loaded again after so many seconds. */
  readonly refreshSeconds?: number;
}

export function page(context: Context, options: PageOptions): Response | Promise<Response> {
  const { title, body, refreshSeconds } = options;
  const refresh =
    refreshSeconds === undefined
      ? ''
      : html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}" /></noscript>`;
  return context.html(
    htmlDocument({
      title: `${title} · paygate sandbox`,
      head: html`<link rel="icon" href="data:," />
        <link rel="stylesheet" href="/style.css" />
        <script type="module" src="/live.js"></script>
        ${refresh}`,
      body: html`<header>
          <nav aria-label="Sandbox">
            <ul><li><strong>paygate sandbox</strong></li></ul>
            <ul><li><a href="/">Shop</a></li></ul>
          </nav>
        </header>
        <main>${body}</main>
        <footer><small>A simulated chain: nothing here has any value.</small></footer>`,
    }),
  );
}

/** A table that scrolls for itself where it is wider than the screen, by keyboard too. */
export const table = (
  name: string,
  headings: readonly string[],
  rows: readonly Markup[],
): Markup => html`<div class="wide" role="region" aria-label="${name}" tabindex="0"><table>
    <thead><tr>${headings.map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
    <tbody>${rows}</tbody>
  </table></div>`;
