// The URI with which a wallet opens a payment. Valid under BIP21 and BIP321: the address is its
// body, the amount is in bitcoins with at most eight decimals.

import { shortBitcoin } from './money.ts';

export interface PaymentRequest {
  /** What the wallet is to pay; the payer chooses if it is undefined. */
  readonly amountSat?: number | undefined;
  /** The payee, such as the name of a store; cut to what a QR code may hold. */
  readonly label?: string | undefined;
  /** The purpose, such as the reference of an order. */
  readonly message?: string | undefined;
}

/** `bitcoin:bc1q…?amount=0.00025&label=My%20shop` */
export function paymentUri(
  address: string,
  { amountSat, label, message }: PaymentRequest = {},
): string {
  const query = [
    amountSat && `amount=${shortBitcoin(amountSat)}`,
    label && `label=${encodeStart(label, maxLabelLength)}`,
    message && `message=${encode(message)}`,
  ].filter(Boolean);
  const body = isSegwit.test(address) ? address.toLowerCase() : address;
  return `bitcoin:${body}${query.length > 0 ? '?' : ''}${query.join('&')}`;
}

/** The letters of a segwit address have no case; those of base58 have. */
const isSegwit = /^(bc|tb|bcrt)1/i;

const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

/** Encoded. A code of the longest address and amount has 65 modules a side: old cameras read it. */
const maxLabelLength = 150;

/** As many characters as fit into a length. */
function encodeStart(text: string, maxLength: number): string {
  let encoded = '';
  for (const character of text) {
    const next = encode(character);
    if (encoded.length + next.length > maxLength) break;
    encoded += next;
  }
  return encoded;
}
