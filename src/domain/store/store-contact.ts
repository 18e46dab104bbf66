// How customers reach the shop: a mail address, a phone number, or the URL of a page.

import { PaygateError } from '../../lib/errors.ts';
import { isPlainText } from '../order/body-fields.ts';

const mail = /^[^\s@<>"',;:?&]+@[^\s@<>"',;:?&]+\.[^\s@<>"',;:?&]+$/;
const phone = /^\+?\d[\d ()/.-]{4,}$/;

/** @throws PaygateError invalid */
export function parseContact(text: string): string {
  const contact = text.trim();
  if (contact.length <= 200 && contactUrl(contact) !== undefined) return contact;
  throw new PaygateError(
    'invalid',
    'contact: a mail address, a phone number or a URL such as https://shop.example/contact expected',
  );
}

/** @throws PaygateError invalid */
export function parseReceiptAddress(text: string): string {
  const address = text.trim();
  if (address.length <= 300 && isPlainText(address)) return address;
  throw new PaygateError('invalid', 'receipt-address: one line of at most 300 characters expected');
}

/** What a link to a contact opens; undefined for a text that is none. */
export function contactUrl(contact: string): string | undefined {
  if (mail.test(contact)) return `mailto:${contact}`;
  if (phone.test(contact)) return `tel:${contact.replaceAll(/[^+\d]/g, '')}`;
  const url = /^https?:\/\/[^\s<>"]+$/.test(contact) ? URL.parse(contact) : null;
  return url === null || url.username !== '' || url.password !== '' ? undefined : url.href;
}
