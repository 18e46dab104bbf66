// Static files of pages. The bundle contains them. Each URL contains a digest of the content, so
// browsers may cache it without a time limit.

import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Hono } from 'hono';
import { lazy } from '../lib/lazy.ts';
import script from './browser/page-refresh.client.js?raw';
import type { LimitVisit } from './limits/visit-limit.ts';

export interface HashedAsset {
  readonly type: string;
  /** File name with the digest of the content. */
  readonly name: () => string;
  /** Unread responses share these bytes. */
  readonly bytes: () => Uint8Array<ArrayBuffer>;
  readonly gzipped: () => Uint8Array<ArrayBuffer>;
}

// Digests and compressed copies are made at the first request, so that a start stays fast.
export const hashedAsset = (
  stem: string,
  end: string,
  type: string,
  text: string,
): HashedAsset => ({
  type,
  name: lazy(() => {
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
    return `${stem}-${digest}.${end}`;
  }),
  bytes: lazy(() => new TextEncoder().encode(text)),
  gzipped: lazy(() => new Uint8Array(gzipSync(text))),
});

export const pageScript = hashedAsset('script', 'js', 'text/javascript', script);

/** Serves `/assets/<name>`. */
export function serveAssets(assets: readonly HashedAsset[], limitVisit: LimitVisit): Hono {
  return new Hono().get('/assets/:name', (context) => {
    limitVisit(context, 'file');
    const asset = assets.find(({ name }) => name() === context.req.param('name'));
    if (asset === undefined) return context.notFound();
    context.header('Content-Type', `${asset.type}; charset=utf-8`);
    context.header('Cache-Control', 'public, max-age=31536000, immutable');
    context.header('X-Content-Type-Options', 'nosniff');
    context.header('Vary', 'Accept-Encoding');
    const isZipped = /\bgzip\b/.test(context.req.header('Accept-Encoding') ?? '');
    if (!isZipped) return context.body(asset.bytes());
    context.header('Content-Encoding', 'gzip');
    return context.body(asset.gzipped());
  });
}
