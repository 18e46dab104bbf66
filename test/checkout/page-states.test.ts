// What the page of an order says in each of its states, and that it never asks for money twice.

import { afterAll, expect, test } from 'vitest';
import {
  allTranslations,
  type Translation,
  translationOf,
} from '../../src/checkout/words/languages.ts';
import { cleanUp } from '../support/files.ts';
import { openState, renderOrder, type StateName, stateNames } from '../support/order-pages.ts';
import type { OrderScene } from '../support/order-scene.ts';
import { pseudoLocale } from '../support/pseudo-locale.ts';

afterAll(cleanUp);

const english = translationOf('en');

const scenes = new Map<StateName, Promise<OrderScene>>();

/** The page of an order in a state, which is reached once for all tests that only look. */
async function pageOf(name: StateName, translation: Translation = english): Promise<string> {
  const scene = scenes.get(name) ?? openState(name);
  scenes.set(name, scene);
  return renderOrder(await scene, translation);
}

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
  ['open', 'Waiting for your payment Scan the code with your wallet, or open your wallet with'],
  [
    'partPaid',
    'Waiting for your payment Short by 15,000 sat 10,000 sat arrived. Pay the missing 15,000 sat to the same',
  ],
  [
    'lapsed',
    `Waiting for your payment The price is no longer valid. Show the price of now before you pay. ${itself}`,
  ],
  ['lapsedPartPaid', 'Waiting for your payment 10,000 sat arrived. The price is no longer valid.'],
  [
    'fallen',
    `Waiting for your payment Your payment fell away: the shop did not receive it. Look into your wallet`,
  ],
  ['fallen', wallet],
  ['takenBack', wallet],
  ['fallenAndLapsed', `${wallet} If not, show the price of now first.`],
  [
    'fallenAndExpired',
    'Expired Your payment fell away: the shop did not receive it. The time to pay',
  ],
  ['fallenAndExpired', 'Do not pay again: ask the shop for a new order'],
  ['replaced', 'Processing Your payment arrived. You need do nothing more'],
  ['unpriced', 'Late 25,000 sat arrived after the price had ended. Do not pay again: wait'],
  ['asked', 'Late 25,000 sat arrived after the price had ended. Do not pay again: wait, or ask'],
  [
    'askedAndExpired',
    'Expired Late 25,000 sat arrived after the price had ended. Do not pay again',
  ],
  ['processing', 'Processing Your payment arrived. You need do nothing more: it waits for its'],
  ['processingLate', `Processing Late Your payment arrived. You need do nothing more`],
  ['processingLate', cameLate],
  ['paid', 'Paid Thank you. You need do nothing more, and this page is your receipt.'],
  ['paidTooMuch', 'You paid 1,000 sat too much: ask the shop about it.'],
  [
    'paidAgain',
    'Paid Over by 5,000 sat Thank you. You need do nothing more, and this page is your receipt. The order was paid already, and 5,000 sat came again: ask the shop to pay it back.',
  ],
  [
    'refunded',
    'Paid Thank you. You need do nothing more, and this page is your receipt. The shop paid 5,000 sat back.',
  ],
  [
    'refundedInPart',
    'The shop paid 2,000 sat back. You paid 4,000 sat too much: ask the shop about it.',
  ],
  ['refundAsked', 'Paid The shop pays 6,000 sat back. Type an address of your own wallet below.'],
  [
    'refundPrepared',
    'Canceled The shop canceled this order. Do not pay. The shop has your address, and sends 10,000 sat to it.',
  ],
  [
    'canceledAndRefunded',
    'Canceled The shop canceled this order. Do not pay. The shop paid 10,000 sat back.',
  ],
  ['expiredAndRefunded', 'Expired Do not pay any more. The shop paid 10,000 sat back.'],
  [
    'rest',
    'Short by 500 sat 24,500 sat arrived. Only 500 sat is missing: too little to send. The shop is asked to accept it, and you need do nothing.',
  ],
  ['expired', `Expired Do not pay any more. ${itself}`],
  ['expiredWithMoney', 'Expired 10,000 sat arrived, but that is not enough. Do not pay any more'],
  ['canceled', 'Canceled The shop canceled this order. Do not pay.'],
  ['canceledWithMoney', '10,000 sat arrived. Do not pay any more: ask the shop to pay it back.'],
])('%s: %s', async (name, text) => {
  expect(statusOf(await pageOf(name))).toContain(text);
});

const payable: readonly StateName[] = [
  ...(['open', 'openInSatoshis', 'openWithoutEnd', 'partPaid', 'fallen', 'takenBack'] as const),
];
const renewable: readonly StateName[] = ['lapsed', 'lapsedPartPaid', 'fallenAndLapsed'];

test.each(stateNames)(
  '%s has a QR code, an amount and a button only where they are due',
  async (name) => {
    const page = await pageOf(name);
    expect(page.includes('href="bitcoin:')).toBe(payable.includes(name));
    expect(page.includes('<svg class="qr"')).toBe(payable.includes(name));
    expect(page.includes('id="amount"')).toBe(payable.includes(name));
    expect(page.includes('/quote"')).toBe(renewable.includes(name));
    expect(page.includes('name="refund"')).toBe(name === 'refundAsked');
  },
);

const partOf = (page: string, begin: string, end: string): string => {
  const from = page.indexOf(begin);
  return from === -1 ? '' : page.slice(from, page.indexOf(end, from));
};

test.each(stateNames)(
  '%s that lost a payment has its code behind "Pay again" alone',
  async (name) => {
    const page = await pageOf(name);
    const folded = partOf(page, '<summary>Pay again</summary>', '</section>');
    expect(folded.includes('<svg class="qr"')).toBe(name === 'fallen' || name === 'takenBack');
    expect(folded.includes('href="bitcoin:')).toBe(name === 'fallen' || name === 'takenBack');
  },
);

test('an open order prints its code and its address, and no button', async () => {
  const page = await pageOf('open');
  const box = partOf(page, '<div id="pay"', '</section>');
  expect(box).toMatch(/^<div id="pay" data-live="[^"]+"><section class="box"[^>]*><svg class="qr"/);
  expect(box).toContain('<code id="address">');
  for (const [tag] of box.matchAll(/<button[^>]*>/g)) expect(tag).toContain('unprinted');
  expect(box).toMatch(/<p class="unprinted"><a class="button main" href="bitcoin:/);
});

test.each([
  [24_001, 999, true],
  [24_000, 1_000, false],
])(
  'after %i sat, a rest of %i sat is asked for only if wallets send it',
  async (paid, missing, isRest) => {
    const scene = await openState('openInSatoshis');
    await scene.pay(paid);
    const page = await renderOrder(scene, english);
    expect(page.includes('too little to send')).toBe(isRest);
    expect(page.includes('href="bitcoin:')).toBe(!isRest);
    expect(statusOf(page)).toContain(
      `Short by ${english.formats.sat(missing).replace(/[^\d,]/g, '')} sat`,
    );
  },
);

test.each(stateNames)('%s names the contact of the shop, if there is one', async (name) => {
  const scene = await openState(name);
  expect(await renderOrder(scene, english)).not.toContain('Contact of the shop');
  await scene.shop.write((tx) =>
    scene.shop.catalog.changeStore(tx, 1, { contact: 'a@shop.example' }),
  );
  expect(await renderOrder(scene, english)).toContain(
    '<dt>Contact of the shop</dt><dd><a href="mailto:a@shop.example" target="_top">',
  );
});

test('what came after an order was paid is no late payment on the page', async () => {
  const page = await pageOf('paidAgain');
  expect(page).not.toContain('Late');
  expect(await pageOf('refunded')).toContain(
    '<dt>Paid back</dt><dd><bdi dir="ltr">5,000 sat</bdi></dd>',
  );
});

test.each(stateNames)('%s says each amount of the box once', async (name) => {
  const page = await pageOf(name);
  const facts = partOf(page, '<div id="facts"', '</dl>');
  expect(facts).not.toContain('<dt>Missing</dt>');
  const isDone = page.includes('data-status="paid"') || page.includes('data-status="processing"');
  expect(facts.includes('<dt>Amount</dt>')).toBe(isDone);
  if (payable.includes(name)) expect(facts).not.toContain('<dt>Price</dt>');
  expect(page).not.toContain('Copy link');
});

test.each(allTranslations)(
  '$code awaits a payment in the words of the customer',
  async ({ words }) => {
    expect(
      words.orderStates.open.split(' ').length > 1 ||
        /[\u3040-\u9fff]/.test(words.orderStates.open),
    ).toBe(true);
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
  const page = withoutData(await pageOf(name, pseudoLocale));
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
      const page = await pageOf(name, translation);
      expect(page).toContain(`<html lang="${translation.code}" dir="${translation.dir}">`);
      expect(textsOf(withoutData(page)).filter((text) => /\d|\bsat\b|BTC/.test(text))).toEqual([]);
      sentences.add(statusOf(page));
    }
    expect(sentences.size).toBe(names.length);
  },
);

test('a page and the script together weigh less than 60 KB in every state', async () => {
  for (const name of stateNames) {
    const page = await pageOf(name, translationOf('ar'));
    expect([name, Buffer.byteLength(page) < 56 * 1024]).toEqual([name, true]);
  }
});
