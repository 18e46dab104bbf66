// The pages of links in each language: all their texts are of the words, and amounts are isolated
// from the direction of the text.

import { expect, test } from 'vitest';
import { fieldErrors } from '../../src/checkout/payer-errors.ts';
import { LinkPage } from '../../src/checkout/payer-page.tsx';
import { allTranslations, type Translation } from '../../src/checkout/words/languages.ts';
import { type LinkBody, parseLinkInput } from '../../src/domain/order/link-input.ts';
import type { PayerProblem } from '../../src/domain/order/payer-input.ts';
import { readerOf } from '../support/order-pages.ts';
import { pseudoLocale } from '../support/pseudo-locale.ts';

const open: LinkBody = {
  currency: 'EUR',
  min: '1',
  max: '900',
  suggested: ['5'],
  note: 'optional',
  ask_email: true,
};
const inSatoshis: LinkBody = { min_sat: 1_000, suggested_sat: [5_000], note: 'required' };
const problems: readonly PayerProblem[] = [
  ...(['missing', 'no-number', 'private-material'] as const).map(
    (reason) => ({ field: 'amount', reason }) as const,
  ),
  { field: 'amount', reason: 'too-many-decimals', limit: 2 },
  { field: 'amount', reason: 'too-small', limit: 1_000 },
  { field: 'amount', reason: 'too-large', limit: 90_000 },
  { field: 'note', reason: 'missing' },
  { field: 'note', reason: 'too-long', limit: 200 },
  { field: 'note', reason: 'bad-characters' },
  { field: 'note', reason: 'private-material' },
  { field: 'email', reason: 'no-address' },
  { field: 'email', reason: 'private-material' },
];

async function render(
  body: LinkBody,
  translation: Translation,
  problem?: PayerProblem,
): Promise<string> {
  const link = {
    ...parseLinkInput({ title: 'Data', description: 'Data', ...body }),
    ...{ id: 1, publicId: 'lnk_3yQ8tZr6WmB1nK5vXc2dLp', storeId: 1, createdAt: 0 },
    ...{ idempotencyKey: null, bodyHash: null, orderCount: 0, paidCount: 0 },
  };
  const reading = readerOf(translation);
  const errors = fieldErrors(link, problem === undefined ? [] : [problem], reading);
  const shown = { link, storeName: 'Data', formKey: 'key', typed: {}, errors };
  return String(await LinkPage({ shown, reading }));
}

/** The texts of a page without its data. */
const textsOf = (page: string): string[] =>
  page
    .replace(/^[\s\S]*<\/head>/, '')
    .replaceAll(/<footer[\s\S]*<\/footer>/g, '')
    .replaceAll(/<bdi[^>]*>[^<]*<\/bdi>/g, '')
    .replaceAll(/<[^>]* aria-label="([^"]*)"[^>]*>/g, '<>$1<>')
    .replaceAll(/<\/?(b|bdi)>/g, '')
    .split(/<[^>]*>/)
    .map((text) => text.trim())
    .filter((text) => text !== '');

const pages: readonly (readonly [string, LinkBody])[] = [
  ['an open amount', open],
  ['satoshis', inSatoshis],
  ['a fixed amount', { currency: 'EUR', amount: '5', note: 'optional' }],
];

test.each(pages)('the page of %s has no text of its own beside the words', async (_, body) => {
  const texts = textsOf(await render(body, pseudoLocale));
  // A sentence may begin or end around data that was removed.
  const own = texts.filter((text) => /\p{L}/u.test(text) && !/^\[|\]$/.test(text));
  expect(own).toEqual([]);
  expect(texts.length).toBeGreaterThan(0);
});

test.each(allTranslations.map((each) => [each.code, each] as const))(
  'in %s, amounts run from left to right, and each error is a sentence of its own',
  async (_, translation) => {
    for (const [, body] of pages) {
      const page = await render(body, translation);
      expect(page).toContain(`<html lang="${translation.code}" dir="${translation.dir}">`);
      expect(textsOf(page).filter((text) => /\d{2}|€/.test(text))).toEqual([]);
    }
    const sentences = new Set<string | undefined>();
    for (const problem of problems) {
      const page = await render(open, translation, problem);
      sentences.add(/class="error" id="\w+-error">([\s\S]*?)<\/span>/.exec(page)?.[1]);
    }
    // One for both ways in which an amount is no number, one for private keys in three fields.
    expect(sentences.size).toBe(problems.length - 3);
    expect(sentences).not.toContain(undefined);
  },
);
