// What browsers load beside a page: Pico CSS, our own look, one small script. All of it is in the bundle
// and is sent by us; its address changes with its content, so it may be kept for ever.

import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import pico from '@picocss/pico/css/pico.classless.min.css?raw';
import { Hono } from 'hono';
import icon from './browser/icon.svg?raw';
import script from './browser/live.client.js?raw';
import style from './browser/style.css?raw';
import { base } from './visit.ts';

interface Asset {
  readonly path: string;
  readonly type: string;
  readonly text: string;
}

function asset(name: string, type: string, text: string): Asset {
  const [stem, end] = name.split('.');
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return { path: `/assets/${stem}-${digest}.${end}`, type, text };
}

const assets = {
  style: asset('style.css', 'text/css', `${pico}\n${style}`),
  icon: asset('icon.svg', 'image/svg+xml', icon),
  script: asset('script.js', 'text/javascript', script),
};

export const stylePath = base + assets.style.path;
export const iconPath = base + assets.icon.path;
export const scriptPath = base + assets.script.path;

export function createAssets(): Hono {
  const app = new Hono();
  for (const { path, type, text } of Object.values(assets)) {
    let gzipped: Uint8Array<ArrayBuffer> | undefined;
    app.get(path, (context) => {
      context.header('Content-Type', `${type}; charset=utf-8`);
      context.header('Cache-Control', 'public, max-age=31536000, immutable');
      context.header('X-Content-Type-Options', 'nosniff');
      context.header('Vary', 'Accept-Encoding');
      if (!/\bgzip\b/.test(context.req.header('Accept-Encoding') ?? '')) return context.body(text);
      context.header('Content-Encoding', 'gzip');
      // With the first request: a start has no time for it.
      gzipped ??= new Uint8Array(gzipSync(text));
      return context.body(gzipped);
    });
  }
  return app;
}
