// Parts of the pages for customers. JSX escapes all text. Amounts and names are isolated from the
// direction of the text around them.

import type { Child } from 'hono/jsx';
import type { OrderJson } from '../domain/order/order-json.ts';
import type { StateWord } from '../domain/order/state-words.ts';
import { contactUrl } from '../domain/store/store-contact.ts';
import { QrCode } from '../web/qr-code.tsx';
import type { Reading } from './reading.ts';
import {
  isolateEnd,
  type LanguageFormats,
  leftToRight,
  ownDirection,
  slot,
} from './words/language-formats.ts';

const partsOfText = new RegExp(
  `([${leftToRight}${ownDirection}][^${isolateEnd}]*${isolateEnd}|${slot})`,
);

interface AdjustmentProps extends Pick<Reading, 'words' | 'formats'> {
  /** Below 0 for a discount. */
  readonly basisPoints: number;
  /** The price before it, as text; undefined where the customer has not named one. */
  readonly price?: string | undefined;
}

/** `10.00 EUR · 5% discount`, below what is due. */
export const Adjustment = ({ basisPoints, price, words, formats }: AdjustmentProps) => {
  if (basisPoints === 0) return null;
  const named = basisPoints < 0 ? words.discount : words.surcharge;
  const texts = [price, named(formats.percent(Math.abs(basisPoints)))];
  return (
    <p class="adjustment">
      <Sentence text={texts.filter((text) => text !== undefined).join(' · ')} />
    </p>
  );
};

interface SentenceProps {
  readonly text: string;
  /** Stands where the text has its slot. */
  readonly children?: Child;
}

/** A text whose isolates become elements. */
export const Sentence = ({ text, children }: SentenceProps) => (
  <>
    {text.split(partsOfText).map((part) => {
      if (part === slot) return children;
      if (part.startsWith(leftToRight)) return <bdi dir="ltr">{part.slice(1, -1)}</bdi>;
      if (part.startsWith(ownDirection)) return <bdi>{part.slice(1, -1)}</bdi>;
      return part;
    })}
  </>
);

/** An address or a hash. */
export const Code = ({ text }: { readonly text: string }) => (
  <bdi dir="ltr">
    <code>{text}</code>
  </bdi>
);

interface TimeProps {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly formats: LanguageFormats;
}

/** In UTC; the script shows it in the zone of the reader. */
export const Time = ({ at, formats }: TimeProps) => (
  <time datetime={new Date(at).toISOString()} data-local>
    {formats.time(at)}
  </time>
);

interface AmountProps {
  readonly sat: number;
  readonly formats: LanguageFormats;
}

/** In bitcoins and in satoshis. */
export const BothUnits = ({ sat, formats }: AmountProps) => (
  <Sentence text={`${formats.bitcoin(sat)} = ${formats.sat(sat)}`} />
);

interface FactProps {
  readonly name: string;
  readonly children?: Child | false | '' | null;
}

/** A name and a value of a `<dl>`; nothing without a value. */
export const Fact = ({ name, children }: FactProps) =>
  children ? (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  ) : null;

/** A contact of the shop, as a link. */
export const Contact = ({ contact }: { readonly contact: string }) => (
  <a href={contactUrl(contact) ?? ''} target="_top">
    <bdi dir="ltr">{contact}</bdi>
  </a>
);

interface PillProps {
  readonly tone: StateWord['tone'];
  readonly children?: Child;
}

export const Pill = ({ tone, children }: PillProps) => (
  <span class={`pill ${tone}`}>{children}</span>
);

/** A tick that is seen from afar: money arrived. The pill below it says which state it is. */
export const Tick = ({ tone }: Pick<PillProps, 'tone'>) => (
  <svg class={`tick ${tone} unprinted`} viewBox="0 0 24 24" aria-hidden="true">
    <path d="m6.5 12.5 4 4 7-9" />
  </svg>
);

interface CopyButtonProps {
  /** Id of the element whose text is copied. */
  readonly name: string;
  readonly label: string;
  readonly reading: Reading;
}

export const CopyButton = ({ name, label, reading: { words } }: CopyButtonProps) => (
  <button type="button" class="unready unprinted" data-copy={name} data-copied={words.copied}>
    {label}
  </button>
);

/** Names that every language writes so. */
export const chainName = 'Bitcoin';
export const lightningName = 'Lightning';

interface WaysProps {
  readonly order: OrderJson;
  /** The one that is shown first. */
  readonly first: 'chain' | 'lightning';
  readonly reading: Reading;
}

/**
 * The choice between two ways to pay, before the element `pay`. Outside of it, so that a choice
 * does not keep the page from changing. Without a script, both ways are shown.
 */
export const Ways = ({ order: { lightning }, first, reading: { words } }: WaysProps) => {
  if (lightning === null) return null;
  const ways = [
    ['chain', chainName],
    ['lightning', lightningName],
  ] as const;
  return (
    <fieldset class="ways" aria-label={words.pay.payment}>
      {(first === 'chain' ? ways : ways.toReversed()).map(([way, name]) => (
        <label>
          <input type="radio" name="way" value={way} checked={way === first} />
          {name}
        </label>
      ))}
    </fieldset>
  );
};

/** The QR code of an invoice, in capitals: wallets take both, and its modules are larger. */
export const InvoiceCode = ({
  invoice,
  reading: { words },
}: {
  readonly invoice: string;
  readonly reading: Reading;
}) => <QrCode text={`lightning:${invoice}`.toUpperCase()} label={words.pay.qrCodeOfInvoice} />;
