import { describe, expect, it } from 'vitest';
import type { AnswerVerdict } from '../../../src/domain/delivery/callback-answer.ts';
import { carriesSecret, testResult } from '../../../src/domain/delivery/test-answer.ts';

const withSecret = 'https://shop.example/?wc-api=WC_Gateway&secret=tulip';
const bare = 'https://shop.example/?wc-api=WC_Gateway';

function resultOf(verdict: AnswerVerdict, callbackUrl = withSecret, hasOrder = false) {
  const answer = { verdict, httpStatus: 200, body: '' };
  const { accepts, meaning } = testResult(answer, { callbackUrl, hasOrder });
  return [accepts, meaning];
}

describe('P-66 the answer to a test', () => {
  it.each([
    ['accepted', true, 'the shop accepted it'],
    ['unknown-order', true, 'the secret and URL are right; the plugin knows no such order'],
    ['empty', true, 'a test payment to a real order shows more'],
    ['wrong-secret', false, 'wrong secret'],
    ['web-page', false, 'the shop’s page answered, not the plugin'],
    ['refused', false, 'the shop refused it'],
  ] as const)('%s', (verdict, accepts, words) => {
    const meaning = expect.stringContaining(words.replace('’', "'"));
    expect(resultOf(verdict)).toEqual([accepts, meaning]);
  });

  it('for a real order means that the shop has it, or does not know it', () => {
    expect(resultOf('accepted', withSecret, true)[0]).toBe(true);
    expect(resultOf('empty', withSecret, true)).toEqual([
      true,
      expect.stringContaining('see the order in the shop'),
    ]);
    expect(resultOf('unknown-order', withSecret, true)).toEqual([
      false,
      expect.stringContaining('knows no order with this address'),
    ]);
  });

  it('that is a page is the good answer of Easy Digital Downloads, and may be that of no plugin', () => {
    const edd = 'https://shop.example/?edd-listener=blockonomics&secret=tulip';
    expect(resultOf('web-page', edd)).toEqual([
      true,
      expect.stringMatching(/^a page: .* shop without it.* a test payment to a real order/),
    ]);
    expect(resultOf('web-page', edd, true)).toEqual([
      true,
      expect.stringMatching(/^a page: .* see the order in the shop$/),
    ]);
    const doubtful = { verdict: 'web-page', httpStatus: 200, body: '', doubt: 'a page' } as const;
    expect(testResult(doubtful, { callbackUrl: edd, hasOrder: true })).toMatchObject({
      accepts: false,
      meaning: expect.stringContaining('not the plugin'),
    });
  });

  it('that is empty, from a URL without a secret, is not accepted', () => {
    const lost = [false, expect.stringContaining('did the URL lose its secret?')];
    expect(resultOf('empty', bare)).toEqual(lost);
    expect(resultOf('empty', bare, true)).toEqual(lost);
  });

  it('of WordPress without the plugin is explained; another failure has its reason', () => {
    const failed = (httpStatus: number | null, body: string | null) =>
      testResult({ verdict: null, httpStatus, body }, { callbackUrl: bare, hasOrder: false });
    expect(failed(400, ' -1\n')).toEqual({
      ...{ verdict: 'not-delivered', accepts: false },
      meaning: expect.stringContaining('is the plugin on?'),
    });
    for (const [httpStatus, body] of [
      [400, 'no'],
      [500, '-1'],
      [null, null],
    ] as const) {
      expect(failed(httpStatus, body)).toMatchObject({ accepts: false, meaning: null });
    }
  });
});

describe('a Callback URL', () => {
  it.each([
    withSecret,
    'https://shop.example/wc-api/WC_Gateway_Blockonomics/?secret=a',
    'https://shop.example/index.php?route=extension/payment/blockonomics/callback&secret=a',
    'https://shop.example/cb?k=tulip',
    'https://shop.example/cb?f81d4fae7dec11d0a765',
    'https://shop.example/hook/f81d4fae7dec11d0a765',
  ])('has a secret: %s', (url) => {
    expect(carriesSecret(url)).toBe(true);
  });

  it.each([
    bare,
    'https://shop.example',
    'https://f81d4fae7dec11d0a765.example/cb?',
    'https://shop.example/wc-api/WC_Gateway_Blockonomics/',
    'https://shop.example/opencart3/index.php?route=extension/payment/blockonomics/callback',
    'https://shop.example/?give-listener=blockonomics&secret=',
    'https://shop.example/index.php?fc=module&module=blockonomics&controller=callback&id_lang=1',
  ])('has none: %s', (url) => {
    expect(carriesSecret(url)).toBe(false);
  });
});
