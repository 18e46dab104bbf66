// What the page of an order says in each of its states, and that it never asks for money twice.

import { afterEach, expect, test } from 'vitest';
import { allTranslations, translationOf } from '../../src/checkout/words/languages.ts';
import { cleanUp } from '../support/files.ts';
import { openState, renderOrder, type StateName, stateNames } from '../support/order-pages.ts';
import { pseudoLocale } from '../support/pseudo-locale.ts';

afterEach(cleanUp);

const english = translationOf('en');

/** The live status, without tags. */
function statusOf(page: string): string {
  const [, status = ''] = /<div id="status"[^>]*>([\s\S]*?)<\/div>/.exec(page) ?? [];
  return status
    .replaceAll('</p>', ' ')
    .replaceAll('</span>', ' ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

const wallet = 'If it still shows that payment as sent, wait.';
const itself = 'If you have paid already, you need do nothing: it is found by itself.';
const cameLate = 'Your payment came late, so the shop may look at the order before it delivers.';

test.each<[StateName, string]>([
  ['open', 'Open Scan the code with your wallet, or open your wallet with the button below'],
  [
    'partPaid',
    'Open Short by 15,000 sat 10,000 sat arrived. Pay the missing 15,000 sat to the same',
  ],
  ['lapsed', `Open The price is no longer valid. Show the price of now before you pay. ${itself}`],
  ['lapsedPartPaid', 'Open 10,000 sat arrived. The price is no longer valid.'],
  ['fallen', `Open Your payment fell away: the shop did not receive it. Look into your wallet`],
  ['fallen', wallet],
  ['takenBack', wallet],
  ['fallenAndLapsed', `${wallet} If not, show the price of now first.`],
  [
    'fallenAndExpired',
    'Expired Your payment fell away: the shop did not receive it. The time to pay',
  ],
  ['fallenAndExpired', 'Do not pay again: ask the shop for a new order'],
  ['replaced', 'Processing Your payment arrived. You need do nothing more'],
  ['unpriced', 'Open Late 25,000 sat arrived after the price had ended. Do not pay again: wait'],
  ['asked', 'Open 25,000 sat arrived after the price had ended. Do not pay again: wait, or ask'],
  ['askedAndExpired', 'Expired 25,000 sat arrived after the price had ended. Do not pay again'],
  ['processing', 'Processing Your payment arrived. You need do nothing more: it waits for its'],
  ['processingLate', `Processing Late Your payment arrived. You need do nothing more`],
  ['processingLate', cameLate],
  ['paid', 'Paid Thank you. You need do nothing more, and this page is your receipt.'],
  ['paidTooMuch', 'You paid 1,000 sat too much: ask the shop about it.'],
  ['expired', `Expired Do not pay any more. ${itself}`],
  ['expiredWithMoney', 'Expired 10,000 sat arrived, but that is not enough. Do not pay any more'],
  ['canceled', 'Canceled The shop canceled this order. Do not pay.'],
  ['canceledWithMoney', '10,000 sat arrived. Do not pay any more: ask the shop to pay it back.'],
])('%s: %s', async (name, text) => {
  expect(statusOf(await renderOrder(await openState(name), english))).toContain(text);
});

const payable: readonly StateName[] = [
  ...(['open', 'openInSatoshis', 'openWithoutEnd', 'partPaid', 'fallen', 'takenBack'] as const),
];
const renewable: readonly StateName[] = ['lapsed', 'lapsedPartPaid', 'fallenAndLapsed'];

test.each(stateNames)(
  '%s has a QR code, an amount and a button only where they are due',
  async (name) => {
    const page = await renderOrder(await openState(name), english);
    expect(page.includes('href="bitcoin:')).toBe(payable.includes(name));
    expect(page.includes('<svg class="qr"')).toBe(payable.includes(name));
    expect(page.includes('id="amount"')).toBe(payable.includes(name));
    expect(page.includes('<form')).toBe(renewable.includes(name));
  },
);

const bodyOf = (page: string): string => page.replace(/^[\s\S]*<body>/, '');

/** Without what is data: amounts, names, addresses, times, languages, texts to copy. */
const withoutData = (page: string): string =>
  bodyOf(page)
    .replaceAll(/<code[^>]*>[^<]*<\/code>/g, '')
    .replaceAll(/<(bdi|time)\b[^>]*>[^<]*<\/\1>/g, '')
    .replaceAll(/<span[^>]*(hidden|class="language")[^>]*>[^<]*<\/span>/g, '')
    .replaceAll(/<a[^>]*class="language"[^>]*>[^<]*<\/a>/g, '');

/** What people read of a page: the texts of its elements, and of attributes. */
function textsOf(page: string): string[] {
  const blocks = page.replaceAll(/<\/?(span|bdi|time|a)\b[^>]*>/g, ' ').split(/<[^>]*>/);
  const attributes = page.matchAll(/(?:aria-label|title|alt|placeholder|data-copied)="([^"]*)"/g);
  return [...blocks, ...Array.from(attributes, ([, text = '']) => text)]
    .map((text) => text.trim())
    .filter((text) => /\p{L}/u.test(text));
}

test.each(stateNames)('%s has no text of its own beside the words', async (name) => {
  const page = withoutData(await renderOrder(await openState(name), pseudoLocale));
  // Sentences of the words may follow each other; no letter stands between them.
  const own = textsOf(page).filter(
    (text) => text !== 'paygate' && /\p{L}/u.test(text.replaceAll(/\[[^\]]*\]/g, '')),
  );
  expect(own).toEqual([]);
  expect(textsOf(page).length).toBeGreaterThan(8);
});

test.each(allTranslations.map((each) => [each.code, each] as const))(
  'in %s, states have different sentences, and amounts run from left to right',
  async (_, translation) => {
    const sentences = new Set<string>();
    const names: readonly StateName[] = ['open', 'partPaid', 'asked', 'paid', 'canceledWithMoney'];
    for (const name of names) {
      const page = await renderOrder(await openState(name), translation);
      expect(page).toContain(`<html lang="${translation.code}" dir="${translation.dir}">`);
      expect(textsOf(withoutData(page)).filter((text) => /\d|\bsat\b|BTC/.test(text))).toEqual([]);
      sentences.add(statusOf(page));
    }
    expect(sentences.size).toBe(names.length);
  },
);

test('a page and the script together weigh less than 60 KB in every state', async () => {
  for (const name of stateNames) {
    const page = await renderOrder(await openState(name), translationOf('ar'));
    expect([name, Buffer.byteLength(page) < 56 * 1024]).toEqual([name, true]);
  }
});
