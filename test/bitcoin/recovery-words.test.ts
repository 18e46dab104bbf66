// Both directions of docs/decisions/039. Words with a valid checksum are found in each layout that
// people paste. Baskets, sentences and words with a wrong checksum are not.

import { hmac } from '@noble/hashes/hmac.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { entropyToMnemonic, validateMnemonic } from '@scure/bip39';
import { wordlist as czech } from '@scure/bip39/wordlists/czech.js';
import { wordlist as english } from '@scure/bip39/wordlists/english.js';
import { wordlist as french } from '@scure/bip39/wordlists/french.js';
import { wordlist as italian } from '@scure/bip39/wordlists/italian.js';
import { wordlist as japanese } from '@scure/bip39/wordlists/japanese.js';
import { wordlist as korean } from '@scure/bip39/wordlists/korean.js';
import { wordlist as portuguese } from '@scure/bip39/wordlists/portuguese.js';
import { wordlist as simplifiedChinese } from '@scure/bip39/wordlists/simplified-chinese.js';
import { wordlist as spanish } from '@scure/bip39/wordlists/spanish.js';
import { wordlist as traditionalChinese } from '@scure/bip39/wordlists/traditional-chinese.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseWalletKey } from '../../src/bitcoin/keychain.ts';
import { containsPrivateMaterial } from '../../src/bitcoin/private-material.ts';
import { bip84 } from './vectors/accounts.ts';

const lists = [
  ...[czech, english, french, italian, japanese, korean, portuguese, spanish],
  ...[simplifiedChinese, traditionalChinese],
];
const entropySizes = [16, 20, 24, 28, 32];

/** A phrase of so many bytes of entropy. */
const phrase = (bytes: number, list = english) =>
  entropyToMnemonic(
    Uint8Array.from({ length: bytes }, (_, at) => at * 41 + bytes),
    list,
  );

const repeat = (word: string, last: string, count = 11) =>
  [...Array<string>(count).fill(word), last].join(' ');

/** Electrum's hash of a text that is in its normal form. */
const isElectrum = (text: string) =>
  /^(?:01|10[012])/.test(bytesToHex(hmac(sha512, utf8ToBytes('Seed version'), utf8ToBytes(text))));

const electrumWords: readonly string[] = [
  // SegWit and standard
  'wild father tree among universe such mobile favorite target dynamic credit identify',
  'cram swing cover prefer miss modify ritual silly deliver chunk behind inform able',
  // From the tests of Electrum: a hash over the words without their spaces
  'なのか ひろい しなん まなぶ つぶす さがす おしゃれ かわく おいかける けさき かいとう さたん',
];

const trueWords: readonly string[] = [
  repeat('abandon', 'about'),
  repeat('zoo', 'vote', 23),
  'legal winner thank year wave sausage worth useful legal winner thank yellow',
  'ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic',
  ...lists.flatMap((list) => [phrase(16, list), phrase(32, list)]),
  ...entropySizes.map((bytes) => phrase(bytes)),
  ...electrumWords,
];

type Layout = (words: readonly string[]) => string;

const numbered =
  (mark: (position: number) => string, between = ' '): Layout =>
  (words) =>
    words.map((word, at) => mark(at + 1) + word).join(between);

/** The words of a page with columns, read row by row: 1, 7, 2, 8 … of twelve in two columns. */
const inColumns =
  (columns: number, mark: (position: number) => string, between: string): Layout =>
  (words) => {
    const height = words.length / columns;
    if (!Number.isInteger(height)) return words.join(' ');
    return Array.from({ length: height }, (_, row) =>
      Array.from({ length: columns }, (__, column) => {
        const at = column * height + row;
        return mark(at + 1) + words[at];
      }).join(between),
    ).join('\n');
  };

const joined =
  (between: string): Layout =>
  (words) =>
    words.join(between);

/** Layouts of words and nothing else, in their order. */
const bareLayouts: readonly (readonly [string, Layout])[] = [
  ['one space', joined(' ')],
  ['spaces around', (words) => `\n  ${words.join(' ')} \t`],
  ['double spaces', joined('  ')],
  ['one a line', joined('\n')],
  ['one a line of Windows', joined('\r\n')],
  ['one a line of an old Mac', joined('\r')],
  ['blank lines', joined('\n\n')],
  ['line separators', joined('\u2028')],
  ['tabs', joined('\t')],
  ['commas', joined(', ')],
  ['commas alone', joined(',')],
  ['semicolons', joined('; ')],
  ['hyphens', joined('-')],
  ['dots', joined(' · ')],
  ['pluses of a form', joined('+')],
  ['percent-encoding', joined('%20')],
  ['percent-encoded lines', joined('%0D%0A')],
  ['no-break spaces', joined('\u00a0')],
  ['ideographic spaces', joined('\u3000')],
  ['HTML entities', joined('&nbsp;')],
  ['numbered HTML entities', joined('&#160;')],
  ['escapes', joined('\\n')],
  ['a byte order mark', (words) => `\ufeff${words.join(' ')}`],
  ['quotes', (words) => `"${words.join(' ')}"`],
  ['typographic quotes', (words) => `„${words.join(' ')}“`],
  ['quoted words', (words) => words.map((word) => `'${word}'`).join(' ')],
  ['brackets', (words) => `[${words.join(' ')}]`],
  ['a JSON array', (words) => JSON.stringify(words)],
  ['a JSON array in lines', (words) => JSON.stringify(words, undefined, 2)],
  ['JSON objects', (words) => JSON.stringify(words.map((word, index) => ({ index, word })))],
  ['a list of HTML', (words) => `<ol>${words.map((word) => `<li>${word}</li>`).join('\n')}</ol>`],
  ['1. ', numbered((at) => `${at}. `)],
  ['1.', numbered((at) => `${at}.`)],
  ['1) ', numbered((at) => `${at}) `, '\n')],
  ['1: ', numbered((at) => `${at}: `, '\n')],
  ['1 ', numbered((at) => `${at} `)],
  ['01 ', numbered((at) => `${at}`.padStart(2, '0').concat(' '), '\n')],
  ['01:', numbered((at) => `${at}`.padStart(2, '0').concat(':'))],
  ['0. ', numbered((at) => `${at - 1}. `)],
  ['#1 ', numbered((at) => `#${at} `)],
  ['(1)', numbered((at) => `(${at})`)],
  ['[1]', numbered((at) => `[${at}]`)],
  ['1/12', (words) => numbered((at) => `${at}/${words.length} `, '\n')(words)],
  ['1 of 12:', (words) => numbered((at) => `${at} of ${words.length}: `, '\n')(words)],
  [
    'an array of PHP',
    (words) => `array(${words.map((word, at) => `${at} => '${word}'`).join(', ')})`,
  ],
  ['1st', numbered((at) => `${at}${['st', 'nd', 'rd'][at - 1] ?? 'th'} `)],
  ['a) ', numbered((at) => `${'abcdefghijklmnopqrstuvwx'[at - 1]}) `)],
  ['word 1: ', numbered((at) => `word ${at}: `, '\n')],
  ['word1=', numbered((at) => `word${at}=`, '&')],
  ['w=', numbered(() => 'w=', '&')],
  ['a URL', (words) => `https://shop.example/?${numbered((at) => `w${at}=`, '&')(words)}`],
  ['numbers behind', (words) => words.map((word, at) => `${word} ${at + 1}`).join('\n')],
  [
    'numbers behind, in brackets',
    (words) => words.map((word, at) => `${word} (${at + 1})`).join(', '),
  ],
  ['a table', (words) => words.map((word, at) => `| ${at + 1} | ${word} |`).join('\n')],
  [
    'a Callback URL',
    (words) =>
      `https://shop.example/paid?m=5%25${encodeURIComponent(` k=${words.join(' ')} `)}&x=%ff%`,
  ],
];

/** All layouts for any number of words. */
const layouts: readonly (readonly [string, Layout])[] = [
  ...bareLayouts,
  ['zero-width spaces', joined('\u200b')],
  ['hidden letters within', (words) => words.join(' ').replace(/(?<=\p{L})(?=\p{L})/u, '\u200b')],
  [
    'soft hyphens within',
    (words) => words.map((word) => `${word[0]}\u00ad${word.slice(1)}`).join(' '),
  ],
  ['a JSON field', (words) => JSON.stringify({ mnemonic: words.join(' ') })],
  ['a JSON field with an array', (words) => JSON.stringify({ words })],
  ['two columns', inColumns(2, () => '', '\t')],
  ['three columns', inColumns(3, () => '', '   ')],
  ['four columns', inColumns(4, () => '', '   ')],
  ['two numbered columns', inColumns(2, (at) => `${at}. `, '   ')],
  ['three numbered columns', inColumns(3, (at) => `${at}) `, '\t')],
  ['rows of four', (words) => words.join(' ').replace(/((?:\S+ ){3}\S+) /g, '$1\n')],
  ['a label', (words) => `seed: ${words.join(' ')}`],
  ['a label in upper case', (words) => `SEED PHRASE\n${words.join(' ')}`],
  ['a label without a colon', (words) => `my words are ${words.join(' ')}`],
  ['a label with a number', (words) => `My ${words.length} words:\n${words.join('\n')}`],
  ['a label of BIP39', (words) => `BIP39 mnemonic (bip-39): ${words.join(', ')}`],
  ['a label behind', (words) => `${words.join(' ')} (seed)`],
  ['thanks behind', (words) => `Here are the words of my wallet: ${words.join(', ')}. Thank you!`],
  ['a label and numbers', (words) => `Recovery phrase: ${numbered((at) => `${at}. `)(words)}`],
  ['twice', (words) => `${words.join(' ')}\n${words.join(' ')}`],
  ['a row in a sentence', (words) => `The shop's wallet has ${words.join(' ')}; call me today.`],
  [
    'rows in a letter',
    (words) => `Hi Bob,\n\n${words.join(' ').replace(/((?:\S+ ){5}\S+) /g, '$1\n')}\n\nBye`,
  ],
  [
    'a row behind another key',
    (words) => `Key ${bip84.zpub}, and the words are ${words.join(' ')}. Bye!`,
  ],
];

/** Layouts of 24 words beside other text. */
const embedded: readonly (readonly [string, Layout])[] = [
  ['commas', (words) => `Bitte prüfen: ${words.join(', ')} – danke, Anna`],
  ['lines', (words) => `Bitte prüfen\n${words.join('\n')}\ndanke`],
  ['numbers', (words) => `Bitte 3 mal prüfen: ${numbered((at) => `${at}. `)(words)}, danke`],
  [
    'numbers behind',
    (words) => `Bitte prüfen: ${words.map((word, at) => `${word} ${at + 1}`).join(' ')}, danke`,
  ],
  [
    'numbered columns',
    (words) => `Bitte prüfen\n${inColumns(2, (at) => `${at}. `, '  ')(words)}\ndanke`,
  ],
  ['JSON', (words) => JSON.stringify({ cart: { items: words }, customer: 'Anna' })],
];

const found = (words: string, layout: Layout): string => {
  const text = layout(words.split(/[ \u3000]/));
  return containsPrivateMaterial(text) ? 'found' : text;
};

describe('recovery words are found', () => {
  test.each(trueWords)('P-37 %s', (words) => {
    for (const [name, layout] of layouts)
      expect([name, found(words, layout)]).toEqual([name, 'found']);
  });

  test('P-37 without a hint that is stored or shown', () => {
    const options = { network: 'mainnet', scriptType: 'p2wpkh' } as const;
    for (const [, layout] of layouts) {
      const parse = () => parseWalletKey(layout(phrase(16).split(' ')), options);
      expect(parse).toThrow('looks like a private key or recovery words');
      expect(parse).not.toThrow(phrase(16).split(' ')[0]);
    }
  });

  test.each(embedded)('P-37 24 words beside other text: %s', (name, layout) => {
    for (const list of lists)
      expect([name, found(phrase(32, list), layout)]).toEqual([name, 'found']);
  });

  test('P-37 in each case, and in each form of Unicode', () => {
    for (const list of lists) {
      for (const words of [phrase(16, list), phrase(32, list)]) {
        const spellings = [
          words.toUpperCase(),
          words.replace(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase()),
          ...(['NFC', 'NFD', 'NFKC', 'NFKD'] as const).map((form) => words.normalize(form)),
        ];
        for (const text of spellings) expect(found(text, joined(' '))).toBe('found');
      }
    }
    const bare = (list: string[]) => phrase(16, list).normalize('NFD').replace(/\p{M}/gu, '');
    for (const list of [spanish, french]) expect(found(bare(list), joined(' '))).toBe('found');
  });

  test('P-37 without separators', () => {
    for (const list of lists.filter((each) => !/\p{sc=Han}/u.test(each[0] ?? ''))) {
      for (const words of [phrase(16, list), phrase(32, list)]) {
        expect(found(words, joined(''))).toBe('found');
        expect(found(words.normalize('NFC'), joined(''))).toBe('found');
        expect(found(words, (each) => `seed: ${each.join('')}`)).toBe('found');
      }
    }
    expect(
      found(phrase(16), (words) =>
        words.map((it) => it.replace(/./, (c) => c.toUpperCase())).join(''),
      ),
    ).toBe('found');
  });

  test('P-37 law: every phrase in every layout', () => {
    const words = fc
      .tuple(
        fc
          .constantFrom(...entropySizes)
          .chain((size) => fc.uint8Array({ minLength: size, maxLength: size })),
        fc.constantFrom(...lists),
      )
      .map(([entropy, list]) => entropyToMnemonic(entropy, list));
    fc.assert(
      fc.property(words, fc.constantFrom(...layouts), (text, [, layout]) => {
        expect(found(text, layout)).toBe('found');
      }),
      { numRuns: 500 },
    );
  });
});

/** Words of the English list that shops sell. */
const goods = english.filter((word) =>
  'apple avocado banana bread butter cake candy cheese cherry chicken coconut coffee corn cream egg fish fruit garlic ginger grape honey juice lemon mango meat melon milk mushroom nut oil olive onion orange pasta peanut pear pepper pizza potato rice salad salmon salt sauce sausage spice sugar tomato tuna vegetable wine bag ball basket bench bicycle blanket book bottle bowl box brick broom brush candle canvas carpet chair clock comb cup curtain desk dress fabric glove guitar hammer hat jacket jar jeans kit ladder lamp laptop lens mirror needle oven paper pen pencil piano pillow plate razor ribbon ring rug scarf shirt shoe soap spoon sweater table tent ticket towel toy umbrella vase wheel'
    .split(' ')
    .includes(word),
);

const isSecret = (words: readonly string[]) =>
  validateMnemonic(words.join(' '), english) || isElectrum(words.join(' '));

/** 24 words may be two phrases. */
const isHalves = (words: readonly string[]) =>
  words.length === 24 && isSecret(words.slice(0, 12)) && isSecret(words.slice(12));

/** Words of the list that also stand around phrases. */
const labels = 'index key phrase please position private secret seed thank this word you'.split(
  ' ',
);

/** A basket whose checksum is valid by chance. */
function fitting(basket: readonly string[]): string[] | undefined {
  const last = goods.find((word) =>
    validateMnemonic([...basket.slice(1), word].join(' '), english),
  );
  return last === undefined ? undefined : [...basket.slice(1), last];
}

const title = (word: string) => word.replace(/^./, (letter) => letter.toUpperCase());

/** Layouts of shops: there is more in them than words. */
const shopLayouts: readonly (readonly [string, Layout])[] = [
  ['1 x', (words) => words.map((word) => `1 x ${title(word)}`).join(', ')],
  ['1x', (words) => words.map((word) => `1x ${word}`).join('\n')],
  ['2 ×', (words) => words.map((word, at) => `${(at % 3) + 1} × ${word}`).join('\n')],
  ['quantities', (words) => words.map((word, at) => `${(at % 5) + 1} ${word}`).join(', ')],
  ['quantities behind', (words) => words.map((word, at) => `${word} (${(at * 7) % 5})`).join(', ')],
  [
    'quantities in columns',
    (words) => words.map((word, at) => `${word}\t${(at % 4) + 1}`).join('\n'),
  ],
  ['prices', (words) => words.map((word, at) => `${word} ${at + 1}.50`).join('; ')],
  [
    'prices and a total',
    (words) => `${words.map((word) => `${word}: 2.00 EUR`).join(', ')}. Total 24.00 EUR`,
  ],
  ['sizes', (words) => words.map((word) => `${word} 500g`).join(', ')],
  ['adjectives', (words) => words.map((word) => `fresh organically grown ${word}`).join(', ')],
  ['a sentence', (words) => `Please bring ${words.slice(1).join(', ')} and ${words[0]} on Monday`],
  ['a basket', (words) => `Your basket: ${words.map(title).join(', ')}`],
  ['a numbered basket', (words) => `Order 4711\n${numbered((at) => `${at}. `, '\n')(words)}`],
  ['a list under a heading', (words) => `Shopping list\n${words.join('\n')}`],
  [
    'a list under blank lines',
    (words) => `Hello there\n\n${words.join('\n\n')}\n\nGreetings, Anna`,
  ],
  ['hyphens', (words) => words.map((word) => `- ${word} each\n`).join('')],
  [
    'JSON of a cart',
    (words) => JSON.stringify(words.map((name, id) => ({ id: id + 1, name, qty: 1 }))),
  ],
  ['JSON without numbers', (words) => JSON.stringify(words.map((sku) => ({ sku })))],
  ['JSON with a heading', (words) => JSON.stringify({ products: words })],
  [
    'a query',
    (words) => `https://shop.example/buy?${words.map((word) => `item=${word}`).join('&')}`,
  ],
];

const basketOf = (minLength: number, maxLength: number) =>
  fc.uniqueArray(fc.constantFrom(...goods), { minLength, maxLength });

describe('text that is no phrase', () => {
  test('law: a basket is a phrase only with a valid checksum and nothing else', () => {
    fc.assert(
      fc.property(basketOf(12, 25), fc.constantFrom(...bareLayouts), (words, [, layout]) => {
        const text = layout(words);
        const isFound = [12, 13, 15, 18, 21, 24].includes(words.length) && isSecret(words);
        expect([text, containsPrivateMaterial(text)]).toEqual([text, isFound || isHalves(words)]);
      }),
      { numRuns: 1000 },
    );
  });

  test('law: a basket as shops write it is none, also if its checksum is valid', () => {
    const baskets = fc.oneof(...[12, 15, 18, 21].map((length) => basketOf(length, length)));
    fc.assert(
      fc.property(baskets, fc.constantFrom(...shopLayouts), (words, [, layout]) => {
        for (const basket of [words, fitting(words) ?? words]) {
          const text = layout(basket);
          expect([text, containsPrivateMaterial(text)]).toEqual([text, false]);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('the test of baskets has some with a valid checksum', () => {
    const baskets = fc.sample(basketOf(12, 12), { numRuns: 20, seed: 1 }).map(fitting);
    const valid = baskets.filter((words) => words !== undefined);
    expect(valid.length).toBeGreaterThan(15);
    for (const words of valid) {
      expect(isSecret(words)).toBe(true);
      // Nothing but words: they look like a phrase in all respects.
      expect(containsPrivateMaterial(words.join(', '))).toBe(true);
      expect(containsPrivateMaterial(words.map((word) => `1 x ${word}`).join(', '))).toBe(false);
    }
  });

  test('law: a wrong checksum is no phrase in any layout', () => {
    const words = english.filter((word) => !labels.includes(word));
    const wrong = fc
      .array(fc.constantFrom(...words), { minLength: 12, maxLength: 24 })
      .filter((some) => !isSecret(some) && !isHalves(some));
    fc.assert(
      fc.property(wrong, fc.constantFrom(...bareLayouts), (some, [, layout]) => {
        const text = layout(some);
        expect([text, containsPrivateMaterial(text)]).toEqual([text, false]);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    'abandon ability able about above absent absorb abstract absurd abuse access accident',
    '1 x Apple, 1 x Banana, 1 x Bread, 1 x Butter, 1 x Coffee, 1 x Cream, 1 x Chicken, 1 x Rice, 1 x Sugar, 1 x Cheese, 1 x Tuna, 1 x Lemon',
    '["Apple","Banana","Bread","Butter","Coffee","Cream","Chicken","Rice","Sugar","Cheese","Tuna","Lemon"]',
    'powerful random nobody notice nothing important anyway look away hidden message over',
    // Years, which are positions in a word list too
    '1999 2001 1984 2010 2012 2008 2015 2020 2021 1969 1977 1995',
    '012916241303084516670189078404261695180106681904',
    // 13 words, of which the first 12 are a phrase
    `${phrase(16)} banana`.split(' ').join(', '),
    // Positions with a gap, from 2, twice, and too many
    ...[(at: number) => at * 2, (at: number) => at + 1, (at: number) => Math.ceil(at / 2)].map(
      (mark) => numbered((at) => `${mark(at)}. `, '\n')(phrase(16).split(' ')),
    ),
    `${numbered((at) => `${at}. `)(phrase(16).split(' '))} 14.`,
  ])('%s', (text) => expect(containsPrivateMaterial(text)).toBe(false));
});
