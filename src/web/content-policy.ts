// Content security policies and the other headers that isolate a page. Each kind of page has an
// entry that names what it needs; everything else is forbidden.
// Source: https://www.w3.org/TR/CSP3/

import type { Context, MiddlewareHandler } from 'hono';
import { lazy } from '../lib/lazy.ts';
import { reloadScript } from './html-page.ts';

/** Sources that a kind of page loads from, by CSP directive. */
const needs = {
  /** A text with one inline style, which the policy names by its hash. */
  text: { 'img-src': "'self'", 'form-action': "'none'" },
  /** A page for customers: an inline style as above, our script and forms, no image. */
  checkout: { 'connect-src': "'self'", 'form-action': "'self'" },
  /** The same, on the home screen of the merchant's device. */
  till: {
    'connect-src': "'self'",
    'form-action': "'self'",
    'manifest-src': "'self'",
    'img-src': "'self'",
  },
  /** A page with forms and our script. Pico CSS draws its arrows and ticks by `data:` images. */
  interactive: {
    'style-src': "'self'",
    'img-src': "'self' data:",
    'connect-src': "'self'",
  },
} as const;

/** Our script files, and the one inline script of live pages. */
const scripts = lazy(() => `'self' '${reloadScript.hash()}'`);

const policyOf = (sources: Readonly<Record<string, string>>, embedOrigins = "'none'"): string =>
  Object.entries({
    'default-src': "'none'",
    ...sources,
    'base-uri': "'none'",
    'frame-ancestors': embedOrigins,
  })
    .map(([directive, value]) => `${directive} ${value}`)
    .join('; ');

/** Set before there is a response, because changing the headers of one is slow. */
export const noSniff: MiddlewareHandler = (context, next) => {
  context.header('X-Content-Type-Options', 'nosniff');
  return next();
};

/** @param styleHash `sha256-…` of the inline style */
export function setTextPageHeaders(context: Context, styleHash: string): void {
  const policy = policyOf({ ...needs.text, 'style-src': `'${styleHash}'` });
  context.header('Content-Security-Policy', policy);
  context.header('X-Content-Type-Options', 'nosniff');
  context.header('Referrer-Policy', 'no-referrer');
}

/**
 * Sets the headers of a page for customers. Its URL is a secret, so no cache and no search engine
 * may have it.
 * @param styleHash `sha256-…` of the inline style
 * @param embedOrigins of pages that may show it in a frame
 */
export function setCheckoutHeaders(
  context: Context,
  styleHash: string,
  embedOrigins: readonly string[],
  kind: 'checkout' | 'till' = 'checkout',
): void {
  const sources = {
    'style-src': `'${styleHash}'`,
    'script-src': scripts(),
    ...needs[kind],
  };
  const policy = policyOf(sources, embedOrigins.join(' ') || undefined);
  context.header('Content-Security-Policy', policy);
  context.header('X-Content-Type-Options', 'nosniff');
  // With no-referrer, browsers send forms with "Origin: null", as a form in a foreign frame does.
  context.header('Referrer-Policy', 'same-origin');
  context.header('X-Robots-Tag', 'noindex');
  context.header('Cache-Control', 'no-store');
}

const interactivePolicy = (forms: string): string =>
  policyOf({ 'script-src': scripts(), ...needs.interactive, 'form-action': forms });

/** @param origin the only one to which the one form of this interactive page is sent */
export const setFormTarget = (context: Context, origin: string): void =>
  context.header('Content-Security-Policy', interactivePolicy(origin));

const interactiveHeaders = lazy(() => ({
  'Content-Security-Policy': interactivePolicy("'self'"),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // With no-referrer, browsers send forms with "Origin: null".
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}));

/** Sets the headers of interactive pages, and no-store on a response without Cache-Control. */
export const interactivePageHeaders: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(interactiveHeaders())) {
    if (!context.res.headers.has(name)) context.header(name, value);
  }
  if (!context.res.headers.has('Cache-Control')) context.header('Cache-Control', 'no-store');
};
