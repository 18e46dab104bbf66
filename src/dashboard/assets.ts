// The static files of the pages: Pico CSS, our stylesheet, an icon and one script. The bundle
// contains them. Each URL contains a digest of the content, so browsers may cache it without a time
// limit.

import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import pico from '@picocss/pico/css/pico.classless.min.css?raw';
import { type Context, Hono } from 'hono';
import { lazy } from '../lib/lazy.ts';
import script from '../web/browser/page-refresh.client.js?raw';
import style from './browser/dashboard-style.css?raw';
import icon from './browser/icon.svg?raw';
import { base } from './page.ts';

interface Asset {
  readonly type: string;
  readonly text: string;
  /** File name with the digest of the content. */
  readonly name: () => string;
  readonly gzipped: () => Uint8Array<ArrayBuffer>;
}

// Digests and compressed copies are made at the first request, so that a start stays fast.
const asset = (stem: string, end: string, type: string, text: string): Asset => ({
  type,
  text,
  name: lazy(() => {
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
    return `${stem}-${digest}.${end}`;
  }),
  gzipped: lazy(() => new Uint8Array(gzipSync(text))),
});

const assets = {
  style: asset('style', 'css', 'text/css', `${pico}\n${style}`),
  icon: asset('icon', 'svg', 'image/svg+xml', icon),
  script: asset('script', 'js', 'text/javascript', script),
};

export const assetPath = (which: keyof typeof assets): string =>
  `${base}/assets/${assets[which].name()}`;

/** Sends the icon at a fixed path, for pages outside the dashboard. */
export function sendIcon(context: Context): Response {
  context.header('Content-Type', assets.icon.type);
  context.header('Cache-Control', 'public, max-age=86400');
  context.header('X-Content-Type-Options', 'nosniff');
  return context.body(assets.icon.text);
}

export function createAssets(): Hono {
  return new Hono().get('/assets/:name', (context) => {
    const asset = Object.values(assets).find(({ name }) => name() === context.req.param('name'));
    if (asset === undefined) return context.notFound();
    context.header('Content-Type', `${asset.type}; charset=utf-8`);
    context.header('Cache-Control', 'public, max-age=31536000, immutable');
    context.header('X-Content-Type-Options', 'nosniff');
    context.header('Vary', 'Accept-Encoding');
    const isZipped = /\bgzip\b/.test(context.req.header('Accept-Encoding') ?? '');
    if (!isZipped) return context.body(asset.text);
    context.header('Content-Encoding', 'gzip');
    return context.body(asset.gzipped());
  });
}
