import { expect, test } from 'vitest';
import { contactUrl, parseContact } from '../../../src/domain/store/store-contact.ts';

test.each([
  ['shop@example.com', 'mailto:shop@example.com'],
  ['+49 (30) 123-45/6', 'tel:+4930123456'],
  ['030 12345', 'tel:03012345'],
  ['https://shop.example/contact?lang=de', 'https://shop.example/contact?lang=de'],
  ['http://shop.lan', 'http://shop.lan/'],
])('%s is a contact that opens %s', (contact, url) => {
  expect(parseContact(` ${contact} `)).toBe(contact);
  expect(contactUrl(contact)).toBe(url);
});

test.each([
  '',
  'the counter',
  'shop@example',
  'shop@example.com?subject=x',
  'a b@example.com',
  'javascript:alert(1)',
  'data:text/html,x',
  'https://user:secret@shop.example/',
  'https://user@shop.example/',
  'https://',
  'https://shop.example/"><b>',
  '1234',
  '+',
  `${'a'.repeat(200)}@example.com`,
])('%j is no contact', (contact) => {
  expect(() => parseContact(contact)).toThrow('contact: a mail address');
});
