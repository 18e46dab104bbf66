// The static files of the dashboard: Pico CSS, our stylesheet, an icon and the scripts.

import pico from '@picocss/pico/css/pico.classless.min.css?raw';
import type { Context, Hono } from 'hono';
import tokens from '../web/browser/design-tokens.css?raw';
import icon from '../web/browser/icon.svg?raw';
import { hashedAsset, pageScript, serveAssets } from '../web/hashed-asset.ts';
import type { LimitVisit } from '../web/limits/visit-limit.ts';
import content from './browser/content-style.css?raw';
import style from './browser/dashboard-style.css?raw';
import overview from './browser/overview-style.css?raw';
import passkeyScript from './browser/passkey-prompt.client.js?raw';
import zoneScript from './browser/zone-guess.client.js?raw';
import { base } from './page.ts';

/** Our rules without comments and indents; the comment of Pico is its license. */
const rules = [tokens, style, content, overview]
  .join('\n')
  .replaceAll(/\/\*.*?\*\/\s*|^\s+/gms, '');

const assets = {
  style: hashedAsset('style', 'css', 'text/css', `${pico}\n${rules}`),
  icon: hashedAsset('icon', 'svg', 'image/svg+xml', icon),
  script: pageScript,
  passkeyScript: hashedAsset('passkey', 'js', 'text/javascript', passkeyScript),
  zoneScript: hashedAsset('zone', 'js', 'text/javascript', zoneScript),
};

export const assetPath = (which: keyof typeof assets): string =>
  `${base}/assets/${assets[which].name()}`;

/** Sends the icon at a fixed path, for pages outside the dashboard. */
export function sendIcon(context: Context): Response {
  context.header('Content-Type', assets.icon.type);
  context.header('Cache-Control', 'public, max-age=86400');
  context.header('X-Content-Type-Options', 'nosniff');
  return context.body(assets.icon.bytes());
}

export const createAssets = (limitVisit: LimitVisit): Hono =>
  serveAssets(Object.values(assets), limitVisit);
