// The frame of every page for customers: one inline style, one script, nothing from other hosts,
// and the choice of the language.

import type { Context, MiddlewareHandler } from 'hono';
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { rehearsalMark } from '../domain/order/rehearsal.ts';
import { PaygateError } from '../lib/errors.ts';
import { Wordmark } from '../web/brand.tsx';
import { setCheckoutHeaders } from '../web/content-policy.ts';
import { beginRefusal, logFailure } from '../web/error-body.ts';
import {
  htmlDocument,
  iconPath,
  inlineStyle,
  reloadScript,
  reloadUnlessFollowed,
  textStyle,
} from '../web/html-page.ts';
import type { Logger } from '../world/world.ts';
import rules from './browser/checkout-style.css?raw';
import { Contact, Sentence } from './page-parts.tsx';
import { type Reading, readingOf } from './reading.ts';
import { slot } from './words/language-formats.ts';
import { allTranslations } from './words/languages.ts';
import type { Message } from './words/words.ts';

export const checkoutStyle = inlineStyle(`${textStyle}${rules}`);

/** Until the store of a page is known, no site may frame it. */
export const unframedHeaders: MiddlewareHandler = (context, next) => {
  setCheckoutHeaders(context, checkoutStyle.hash(), []);
  return next();
};

interface PageOwner {
  readonly language: string | null;
  /** Sites that may frame the page, with spaces between them. */
  readonly embedOrigins: string;
  /** Null without one. */
  readonly contact: string | null;
}

/** Gives a page, also of an error that follows, the frames of its store and its language. */
export function beginPage(
  context: Context,
  owner: PageOwner | undefined,
  order?: Pick<PageOwner, 'language'>,
): Reading {
  setCheckoutHeaders(context, checkoutStyle.hash(), (owner?.embedOrigins ?? '').split(' '));
  const reading = readingOf(context, order, owner);
  context.set('reading', reading);
  context.set('contact', owner?.contact ?? undefined);
  return reading;
}

/** What a page has that no customer sees. */
export interface Rehearsal {
  /** Above the page. */
  readonly panel: Child;
  /** Leads to the receipt; undefined for the answer to a form, which has no URL. */
  readonly receiptUrl: string | undefined;
  readonly scripts: readonly string[];
}

interface FrameProps {
  readonly reading: Reading;
  readonly title: string;
  /** URLs of scripts; a page that never changes has none. */
  readonly scripts?: readonly string[];
  /** False for the answer to a form, which no link can load again. */
  readonly hasLanguages?: boolean;
  /** URL of the manifest of a page for the home screen, which has an icon. */
  readonly manifest?: string;
  /** Read across a counter. */
  readonly isTill?: boolean;
  readonly rehearsal?: Rehearsal | undefined;
  readonly children?: Child;
}

export const CheckoutFrame = ({
  reading,
  title,
  scripts = [],
  hasLanguages = true,
  manifest,
  isTill = false,
  rehearsal,
  children,
}: FrameProps) =>
  htmlDocument({
    title,
    lang: reading.code,
    dir: reading.dir,
    head: html`${checkoutStyle.markup}
      ${scripts.length > 0 ? reloadScript.markup : ''}
      ${manifest === undefined ? '' : html`<link rel="manifest" href="${manifest}" /><link rel="icon" href="${iconPath}" />`}
      ${scripts.map((url) => html`<script type="module" src="${url}"></script>`)}`,
    body: (
      <>
        <main {...(isTill && { class: 'till' })}>
          {rehearsal === undefined ? null : (
            <section class="box rehearsal" aria-label={rehearsalMark} lang="en" dir="ltr">
              {rehearsal.panel}
            </section>
          )}
          {children}
        </main>
        <footer class="unprinted">
          {hasLanguages ? <Languages reading={reading} /> : null}
          <Wordmark />
        </footer>
      </>
    ),
  });

const Languages = ({ reading: { code, name, words, queryIn } }: Pick<FrameProps, 'reading'>) => (
  <details class="languages">
    <summary>
      <Sentence text={words.languageIs(slot)}>
        <span class="language">{name}</span>
      </Sentence>
      {code === 'en' ? null : <span lang="en"> (Language)</span>}
    </summary>
    <nav aria-label={words.language}>
      {allTranslations.map((each) => (
        <a
          href={queryIn(each.code)}
          lang={each.code}
          hreflang={each.code}
          dir={each.dir}
          class="language"
          {...(each.code === code && { 'aria-current': 'true' })}
        >
          {each.name}
        </a>
      ))}
    </nav>
  </details>
);

interface ErrorPageOptions extends Pick<MessageOptions, 'hasLanguages' | 'link'> {
  readonly log: Logger;
  /** What is logged of an unexpected error. */
  readonly message: string;
  /** What is logged as the path, because an id is a secret. */
  readonly path: string;
  /** Undefined for an error of which the customer need not know more. */
  readonly text: Message | undefined;
}

/** Customers are asked to wait a minute. */
const retryAfterSeconds = 60;

/**
 * The status of a refusal. A page with 429 or 503 is loaded again, because the customer may have
 * only this tab; the answer to a form is not.
 */
export function beginPageRefusal(context: Context, error: PaygateError): ContentfulStatusCode {
  const status = beginRefusal(context, error, retryAfterSeconds);
  if (context.req.method === 'GET' && (status === 429 || status === 503)) {
    reloadUnlessFollowed(context, error.retryAfterSeconds ?? retryAfterSeconds);
  }
  return status;
}

/** The page of an error, with its status. An unexpected one is logged. */
export function sendErrorPage(
  context: Context,
  reading: Reading,
  error: Error,
  { log, message, path, text, ...options }: ErrorPageOptions,
): Response | Promise<Response> {
  const known = error instanceof PaygateError && error.code !== 'internal' ? error : undefined;
  if (known === undefined) logFailure(log, context, message, error, path);
  return sendMessage(context, reading, text ?? reading.words.errors.unexpected, {
    ...options,
    // A refusal must cost less than the page.
    hasLanguages: options.hasLanguages !== false && known?.code !== 'limited',
    status: known === undefined ? 500 : beginPageRefusal(context, known),
  });
}

interface MessageOptions extends Pick<FrameProps, 'hasLanguages'> {
  readonly status: ContentfulStatusCode;
  /** A way back. */
  readonly link?: { readonly url: string; readonly text: string } | undefined;
}

/** A page with one message. */
export const sendMessage = (
  context: Context,
  reading: Reading,
  { title, text }: Message,
  { status, link, hasLanguages = true }: MessageOptions,
): Response | Promise<Response> => {
  const contact = context.get('contact');
  return context.html(
    <CheckoutFrame reading={reading} title={title} hasLanguages={hasLanguages}>
      <h1>{title}</h1>
      <p>{text}</p>
      {contact === undefined ? null : (
        <p>
          {reading.words.facts.contact}: <Contact contact={contact} />
        </p>
      )}
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
};
