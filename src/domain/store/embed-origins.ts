// Origins whose pages may show the pages for customers in a frame. They stand in a header as they
// are (`frame-ancestors`), so nothing but plain origins is let through.
// Source: https://www.w3.org/TR/CSP3/#directive-frame-ancestors

import { throwInvalid } from '../../lib/errors.ts';
import type { CallbackFlags } from '../delivery/callback-url-policy.ts';
import { isHttpAllowed } from '../order/order-input.ts';

const maxOrigins = 20;

/**
 * Origins separated by white space, each once, in their usual form; empty for none.
 * @throws PaygateError invalid
 */
export function parseEmbedOrigins(text: string): string {
  const origins = text.split(/\s+/).filter(Boolean).map(parseOrigin);
  if (origins.length > maxOrigins) throwInvalid(`at most ${maxOrigins} origins are allowed`);
  return [...new Set(origins)].join(' ');
}

function parseOrigin(text: string): string {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin =
    url !== undefined &&
    `${url.origin}/` === url.href &&
    /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/.test(url.hostname);
  if (isOrigin) return url.origin;
  throwInvalid('an origin such as https://shop.example is expected, without a path');
}

/**
 * Plain http is for this machine, and as for callbacks.
 * @param origins as `parseEmbedOrigins` returns them
 * @throws PaygateError invalid
 */
export function checkEmbedOrigins(origins: string, flags: CallbackFlags): void {
  for (const origin of origins.split(' ').filter(Boolean)) {
    const { protocol, hostname } = new URL(origin);
    if (protocol === 'https:' || isLoopback(hostname) || isHttpAllowed(hostname, flags)) continue;
    throwInvalid(`${origin}: must start with https://, as the callbacks of this store must`);
  }
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
