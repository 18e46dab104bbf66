// `node scripts/gallery.ts`: makes the pictures of the app stores from docs/img, in Chromium.

import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { chromiumPath } from '../test/support/chromium.ts';

const umbrel = 'packaging/umbrel/paygate-gateway';
const pictures = ['overview', 'order', 'payments'];

if (chromiumPath === undefined) throw new Error('name a Chromium with PAYGATE_CHROMIUM');
const browser = await chromium.launch({ executablePath: chromiumPath });
try {
  // The size of Umbrel's gallery.
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  for (const [at, name] of pictures.entries()) {
    const picture = readFileSync(`docs/img/${name}.png`, 'base64');
    await page.setContent(
      `<body style="margin: 0; height: 100vh; display: grid; place-items: center; background: #0172ad">
         <img src="data:image/png;base64,${picture}" style="border-radius: 12px">`,
    );
    await page.screenshot({ path: `${umbrel}/gallery/${at + 1}.png` });
  }
  // CasaOS and YunoHost show PNG.
  await page.setViewportSize({ width: 256, height: 256 });
  const icon = readFileSync('src/web/browser/icon.svg', 'utf8');
  const style = 'html, body, svg { margin: 0; display: block; width: 256px; height: 256px }';
  await page.setContent(`<style>${style}</style>${icon}`);
  await page.screenshot({ path: 'packaging/icon.png', omitBackground: true });
} finally {
  await browser.close();
}
