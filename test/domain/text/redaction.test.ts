import { describe, expect, test } from 'vitest';
import { withoutSecrets } from '../../../src/domain/text/redaction.ts';

const secret = 'Stup3r/S&cret <Mail> "wört"';
const bytes = Buffer.from(secret);

describe('a secret is left out', () => {
  test.each([
    ['as it is', secret],
    ['percent-encoded', encodeURIComponent(secret)],
    ['percent-encoded, in small letters', encodeURIComponent(secret).toLowerCase()],
    ['as a form sends it', new URLSearchParams({ '': secret }).toString().slice(1)],
    ['quoted-printable', encodeURIComponent(secret).replaceAll('%', '=')],
    ['in base64', bytes.toString('base64')],
    ['in base64 for URLs', bytes.toString('base64url')],
    ['in hexadecimal', bytes.toString('hex')],
    ['in capital hexadecimal', bytes.toString('hex').toUpperCase()],
    ['as JSON', JSON.stringify(secret).slice(1, -1)],
    ['as JSON of PHP', JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/')],
    ['as HTML of PHP', 'Stup3r/S&amp;cret &lt;Mail&gt; &quot;wört&quot;'],
    ['in capitals', secret.toUpperCase()],
  ])('%s', (_, echoed) => {
    expect(withoutSecrets(`no ${echoed} here`, [secret])).toMatch(/^no …=* here$/);
  });

  test.each([
    ['over rows', 'A correct\r\n horse', 'Acorrecthorse'],
    ['in base64 over rows', 'dmVsdmV0IG90\n dGVyIGxhZGRlcg==', 'velvet otter ladder'],
    ['its beginning, as PHP prints arguments', "check('s3cr3tValueOf…')", 's3cr3tValueOfTheShop'],
    ['its end', 'ends with lueOfTheShop.', 's3cr3tValueOfTheShop'],
    ['eight characters of it', 'has cr3tValu in it', 's3cr3tValueOfTheShop'],
  ])('%s', (_, echoed, whole) => {
    const shown = withoutSecrets(echoed, [whole]);
    expect(shown).toContain('…');
    expect(shown).not.toMatch(/correct|horse|dmVs|dGVy|ladder|s3cr|lueOf|cr3tValu/);
  });

  test('from the first to the last character of what is repeated, and no further', () => {
    const [whole] = ['s3cr3tValueOfTheShop'];
    expect(withoutSecrets('<cr3tValueOfThe>', [whole])).toBe('<…>');
    expect(withoutSecrets('cr3tVal', [whole])).toBe('cr3tVal');
    expect(withoutSecrets('cr3tValu', [whole])).toBe('…');
    expect(withoutSecrets('cr3tValu, eOfTheSh', [whole])).toBe('…, …');
    expect(withoutSecrets('s3cr3tVa Xs3cr3tVa', [whole])).toBe('… X…');
    expect(withoutSecrets('x İs3cr3tVaİ y', [whole])).toBe('x İ…İ y');
  });
});

describe('what is left as it is', () => {
  test('a text without a secret, or without secrets', () => {
    expect(withoutSecrets('a\\b c', ['s3cr3tValue'])).toBe('a\\b c');
    expect(withoutSecrets('a\\b c', [])).toBe('a\\b c');
    expect(withoutSecrets('a\\b c', [''])).toBe('a\\b c');
    expect(withoutSecrets('', ['s3cr3tValue'])).toBe('');
  });

  test('a word that is like one of the secrets', () => {
    expect(withoutSecrets('this hop, a workshop', ['shop'])).toBe('this hop, a work…');
    expect(withoutSecrets('the shopkee, SHOP KEEPER', ['shopkeeper'])).toBe('the shopkee, …');
  });

  test('the names of a query', () => {
    const query = 'order_number=5&secret=t';
    expect(withoutSecrets(`no order_number in ${query}`, [query])).toBe('no order_number in …');
  });
});

test('a longer secret goes first', () => {
  expect(withoutSecrets('shop, shopkeeper', ['shop', 'shopkeeper'])).toBe('…, …');
});

test('characters that are no Unicode are no fault', () => {
  expect(withoutSecrets('a \ud800 b', ['\ud800'])).toBe('a … b');
});
