// The frame of every page for customers: one inline style, one script, nothing from other hosts.

import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { htmlDocument, inlineStyle, textStyle } from '../web/html-page.ts';
import rules from './browser/checkout-style.css?raw';

export const checkoutStyle = inlineStyle(`${textStyle}${rules}`);

/** Without a script, an order that waits for money is loaded again this often. */
const refreshSeconds = 20;

interface FrameProps {
  readonly title: string;
  /** URL of the script; a page that never changes has none. */
  readonly script?: string;
  readonly refreshes?: boolean;
  readonly children?: Child;
}

export const CheckoutFrame = ({ title, script, refreshes = false, children }: FrameProps) =>
  htmlDocument({
    title,
    head: html`${checkoutStyle.markup}
      ${script === undefined ? '' : html`<script type="module" src="${script}"></script>`}
      ${refreshes ? html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}" /></noscript>` : ''}`,
    body: <main>{children}</main>,
  });

interface Message {
  readonly status: ContentfulStatusCode;
  readonly title: string;
  readonly text: string;
  /** A way back to the order. */
  readonly link?: { readonly url: string; readonly text: string } | undefined;
}

/** A page with one message. */
export const sendMessage = (
  context: Context,
  { status, title, text, link }: Message,
): Response | Promise<Response> =>
  context.html(
    <CheckoutFrame title={title}>
      <h1>{title}</h1>
      <p>{text}</p>
      {link === undefined ? null : (
        <p>
          <a class="button" href={link.url}>
            {link.text}
          </a>
        </p>
      )}
    </CheckoutFrame>,
    status,
  );
