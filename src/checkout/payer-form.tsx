// The form of a link: an amount unless the link has one, a note if the link asks for it, and the
// suggested amounts. Errors stand at their field. It is whole without JavaScript.

import type { Child } from 'hono/jsx';
import { typedText } from '../domain/order/typed-amount.ts';
import { formatMoney } from '../domain/payment/money.ts';
import type { LinkRow } from '../store/orders/link-view.ts';
import { Sentence } from './page-parts.tsx';
import type { Reading } from './reading.ts';
import { type LanguageFormats, nameInText } from './words/language-formats.ts';

/** Texts at the fields of the form. */
export interface FieldTexts {
  readonly amount?: string | undefined;
  readonly note?: string | undefined;
  readonly email?: string | undefined;
}

export interface ShownLink {
  readonly link: LinkRow;
  readonly storeName: string;
  /** Its discount below 0 or surcharge; missing for none. */
  readonly adjustBasisPoints?: number;
  /** See `SentForm`. */
  readonly formKey: string;
  readonly typed: FieldTexts;
  readonly errors: FieldTexts;
}

export interface LinkPageProps {
  readonly shown: ShownLink;
  readonly reading: Reading;
}

/** @param amount in minor units of the currency, or in satoshis without one */
export const shownAmount = (
  amount: number,
  currency: string | null,
  formats: LanguageFormats,
): string =>
  currency === null
    ? formats.sat(amount)
    : formats.money(formatMoney(BigInt(amount), currency), currency);

export const PayerForm = ({ shown, reading }: LinkPageProps) => {
  const { link, formKey } = shown;
  return (
    // Without novalidate, a browser complains in its own language.
    <form method="post" action={`${link.publicId}${reading.langQuery}`} novalidate>
      <input type="hidden" name="key" value={formKey} />
      {link.amount === null ? <AmountField shown={shown} reading={reading} /> : null}
      {link.note === 'no' ? null : <NoteField shown={shown} reading={reading} />}
      {link.asksEmail ? <EmailField shown={shown} reading={reading} /> : null}
      <p>
        <button type="submit" class="main">
          {reading.words.link.payWithBitcoin}
        </button>
      </p>
      <Suggestions shown={shown} reading={reading} />
    </form>
  );
};

const AmountField = ({
  shown: { link, typed, errors },
  reading: { words, formats },
}: LinkPageProps) => {
  const { currency, minAmount, maxAmount } = link;
  const [least, most] = [minAmount, maxAmount].map((bound) =>
    bound === null ? undefined : shownAmount(bound, currency, formats),
  );
  const { between, atLeast, atMost, amountIn } = words.link;
  const hint =
    least && most ? between(least, most) : (least && atLeast(least)) || (most && atMost(most));
  return (
    <FormField
      name="amount"
      label={amountIn(nameInText(currency ?? 'sat'))}
      hint={hint}
      error={errors.amount}
    >
      {(described) => (
        <input
          {...described}
          type="text"
          dir="ltr"
          inputmode={currency === null ? 'numeric' : 'decimal'}
          autocomplete="off"
          required
          value={typed.amount ?? ''}
          autofocus={errors.amount !== undefined}
        />
      )}
    </FormField>
  );
};

const NoteField = ({ shown: { link, typed, errors }, reading: { words } }: LinkPageProps) => {
  const { note, optional, noteHint } = words.link;
  return (
    <FormField
      name="note"
      label={link.note === 'optional' ? `${note} (${optional})` : note}
      hint={noteHint}
      error={errors.note}
    >
      {(described) => (
        <input
          {...described}
          type="text"
          dir="auto"
          autocomplete="off"
          required={link.note === 'required'}
          value={typed.note ?? ''}
          autofocus={errors.note !== undefined && errors.amount === undefined}
        />
      )}
    </FormField>
  );
};

const EmailField = ({ shown: { typed, errors }, reading: { words } }: LinkPageProps) => {
  const { email, emailHint } = words.link;
  const isFirst = errors.amount === undefined && errors.note === undefined;
  return (
    <FormField name="email" label={email} hint={emailHint} error={errors.email}>
      {(described) => (
        <input
          {...described}
          type="email"
          dir="ltr"
          autocomplete="email"
          value={typed.email ?? ''}
          autofocus={errors.email !== undefined && isFirst}
        />
      )}
    </FormField>
  );
};

/** What an input for an address or a hash has. */
export const codeInput = {
  type: 'text',
  dir: 'ltr',
  autocomplete: 'off',
  autocapitalize: 'none',
  spellcheck: false,
} as const;

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly error: string | undefined;
  /** Takes the attributes that connect the input to its texts. */
  readonly children: (described: object) => Child;
}

export const FormField = ({ name, label, hint, error, children }: FieldProps) => {
  const ids = [error && `${name}-error`, hint && `${name}-hint`].filter(Boolean);
  return (
    <p class="field">
      <label for={name}>
        <Sentence text={label} />
      </label>
      {children({
        id: name,
        name,
        ...(ids.length > 0 && { 'aria-describedby': ids.join(' ') }),
        ...(error !== undefined && { 'aria-invalid': 'true' }),
      })}
      {error && (
        <span class="error" id={`${name}-error`}>
          <Sentence text={error} />
        </span>
      )}
      {hint && (
        <span class="hint" id={`${name}-hint`}>
          <Sentence text={hint} />
        </span>
      )}
    </p>
  );
};

/** They follow the main button, because the Enter key presses the first button of a form. */
const Suggestions = ({ shown: { link }, reading: { words, formats } }: LinkPageProps) => {
  const { suggested, currency } = link;
  if (suggested.length === 0) return null;
  return (
    <fieldset>
      <legend>{words.link.suggestions}</legend>
      <p class="suggestions">
        {suggested.map((amount) => (
          <button
            type="submit"
            name="amount"
            value={typedText(amount, currency, formats.decimalSeparator())}
          >
            <Sentence text={shownAmount(amount, currency, formats)} />
          </button>
        ))}
      </p>
    </fieldset>
  );
};
