// The label of an order's address, as other wallets import it (BIP-329).
// https://github.com/bitcoin/bips/blob/master/bip-0329.mediawiki

export interface AddressLabel {
  readonly type: 'addr';
  /** The address. */
  readonly ref: string;
  readonly label: string;
}

interface LabelledOrder {
  readonly publicId: string;
  readonly reference: string | null;
  readonly address: string;
}

/** Line breaks, and characters that change how text is shown. A label has one row. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Names the order by the shop's number and by its id. It has nothing of the customer. */
export const addressLabel = ({ publicId, reference, address }: LabelledOrder): AddressLabel => ({
  type: 'addr',
  ref: address,
  label: ['Order', reference?.replace(unprintable, ' ').trim(), publicId].filter(Boolean).join(' '),
});
