// QR codes as a customer's camera reads them: the pixels of a screenshot, decoded by jsqr, which
// shares no code with paygate. The text is a payment URI, parsed by BIP321.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Locator } from 'playwright-core';

const jsqr = readFileSync(createRequire(import.meta.url).resolve('jsqr/dist/jsQR.js'), 'utf8');

/** @returns a function that reads the code of an element; null where there is none */
export async function openScanner(
  browser: Browser,
): Promise<(element: Locator) => Promise<string | null>> {
  // A page of its own, because the policy of a page for customers allows no image.
  const page = await browser.newPage();
  await page.evaluate(jsqr);
  return async (element) => {
    const png = (await element.screenshot()).toString('base64');
    return page.evaluate(`(async () => {
      const image = new Image();
      image.src = 'data:image/png;base64,${png}';
      await image.decode();
      const { width, height } = image;
      const canvas = new OffscreenCanvas(width, height).getContext('2d');
      canvas.drawImage(image, 0, 0);
      const { data } = canvas.getImageData(0, 0, width, height);
      return jsQR(data, width, height)?.data ?? null;
    })()`);
  };
}

export interface ReadUri {
  readonly address: string;
  /** By their keys, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly amountSat: number | undefined;
}

/** @throws Error if a wallet would refuse it, or could read it in two ways */
export function readPaymentUri(uri: string): ReadUri {
  const [, address = '', query] = /^bitcoin:([a-zA-Z0-9]+)(?:\?([!-~]*))?$/.exec(uri) ?? [];
  if (address === '' || query?.includes('#')) throw new Error(`not a payment URI: ${uri}`);
  const parameters: Record<string, string> = {};
  for (const pair of query?.split('&') ?? []) {
    const [, key = '', value = ''] = /^([a-z]+)=([^=+]*)$/.exec(pair) ?? [];
    if (key === '' || key in parameters) throw new Error(`not a parameter: ${pair}`);
    parameters[key] = decodeURIComponent(value);
  }
  return { address, parameters, amountSat: satOf(parameters.amount) };
}

/** The digits of a decimal number, because a product with a fraction is rounded. */
function satOf(amount: string | undefined): number | undefined {
  if (amount === undefined) return undefined;
  const [, whole = '', part = ''] = /^(\d+)(?:\.(\d{1,8}))?$/.exec(amount) ?? [];
  if (whole === '') throw new Error(`not an amount: ${amount}`);
  return Number(whole + part.padEnd(8, '0'));
}
