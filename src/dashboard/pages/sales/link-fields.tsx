// The form of a link, for a new one and for a change.

import { BodyProblems, createFieldReader } from '../../../domain/order/body-fields.ts';
import {
  type LinkBody,
  type LinkInput,
  linkBodyOf,
  maxSuggested,
  noteRules,
} from '../../../domain/order/link-input.ts';
import { asOfApi } from '../../../domain/order/typed-amount.ts';
import { namedCurrencies } from '../../../domain/payment/currency.ts';
import { signedNumberIn } from '../../../domain/store/store-settings.ts';
import type { LinkRow } from '../../../store/orders/link-view.ts';
import { field, type PageRequest } from '../../page.ts';
import { choiceValue, FieldErrors, isOn } from '../../parts/form-fields.ts';
import {
  chosenBefore,
  FaultNote,
  Field,
  faultAttributes,
  Select,
  Switch,
} from '../../parts/form-parts.tsx';

const labels = {
  title: 'Title',
  description: 'Description',
  currency: 'Currency',
  amount: 'Amount',
  min: 'At least',
  max: 'At most',
  suggested: 'Suggested amounts',
  'most-orders': 'Ends after so many paid orders',
  'adjust-percent': 'Discount or surcharge (percent)',
  'ask-email': 'Ask for a mail address (optional for the payer)',
} as const;

interface LinkFieldsProps {
  readonly request: PageRequest;
  /** The action of the form that contains the fields. */
  readonly form: string;
  readonly row?: LinkRow;
  /** The currency that a new link begins with. */
  readonly currency?: string | null;
}

const noteTexts = { no: 'No', optional: 'If they like', required: 'Always' } as const;
const decimal = { inputmode: 'decimal', autocomplete: 'off' };

export function LinkFields({ request, form, row, currency = null }: LinkFieldsProps) {
  const link = row && linkBodyOf(row);
  const text = (value: string | number | null | undefined) => value ?? undefined;
  const choice = (name: string, before: string | null | undefined) =>
    chosenBefore(request, form, name) ?? before ?? undefined;
  const suggested = [link?.suggested ?? [], link?.suggested_sat ?? []].flat().join(' ');
  return (
    <>
      <Field request={request} name="title" label={labels.title} value={text(link?.title)} />
      <label>
        {labels.description}
        <textarea name="description" rows={2} {...faultAttributes(request, 'description')}>
          {request.form.get('description') ?? link?.description ?? ''}
        </textarea>
      </label>
      <FaultNote request={request} name="description" />
      <Select
        name="currency"
        label={labels.currency}
        options={[['', 'Satoshis'], ...namedCurrencies()]}
        chosen={choice('currency', row === undefined ? currency : (row.currency ?? ''))}
      />
      <Field
        request={request}
        name="amount"
        label={labels.amount}
        value={text(link?.amount ?? link?.amount_sat)}
        required={false}
        help="If empty, the payer enters an amount: a donation, a tip."
        attributes={decimal}
      />
      <fieldset>
        <legend>What a payer may enter</legend>
        <div class="row">
          <Field
            request={request}
            name="min"
            label={labels.min}
            value={text(link?.min ?? link?.min_sat)}
            required={false}
            attributes={decimal}
          />
          <Field
            request={request}
            name="max"
            label={labels.max}
            value={text(link?.max ?? link?.max_sat)}
            required={false}
            attributes={decimal}
          />
        </div>
        <Field
          request={request}
          name="suggested"
          label={labels.suggested}
          value={suggested}
          required={false}
          help={`At most ${maxSuggested}, separated by spaces.`}
          attributes={{ autocomplete: 'off' }}
        />
      </fieldset>
      <Select
        name="note"
        label="The payer adds a note"
        options={noteRules.map((rule) => [rule, noteTexts[rule]] as const)}
        chosen={choice('note', link?.note)}
      />
      <Field
        request={request}
        name="most-orders"
        label={labels['most-orders']}
        value={text(link?.most_orders)}
        required={false}
        help="If empty, it never ends."
        attributes={{ inputmode: 'numeric' }}
      />
      <Field
        request={request}
        name="adjust-percent"
        label={labels['adjust-percent']}
        value={text(link?.adjust_percent)}
        required={false}
        help="-5 is a discount of 5 %. If empty, that of the store. Only with a currency."
        attributes={{ autocomplete: 'off' }}
      />
      <Switch
        request={request}
        form={form}
        name="ask-email"
        label={labels['ask-email']}
        on={link?.ask_email ?? false}
      />
      <p class="note">
        It gets a mail when the payment is seen, and one when the order is paid. The page asks only
        while a mail server is set.
      </p>
    </>
  );
}

/** Reads the body of the form. @throws FieldErrors, with each problem at its field */
export function readingLink(read: () => LinkInput): LinkInput {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BodyProblems)) throw error;
    const faults = error.problems.map(([name, text]) => {
      const own = name.replace('_sat', '').replace('_', '-') as keyof typeof labels;
      return [own, { label: labels[own], text }] as const;
    });
    throw new FieldErrors('invalid', new Map(faults));
  }
}

/** The fields of the form as a body of the API. */
export function linkBodyIn(request: PageRequest): LinkBody {
  const textOrNull = (name: string) => field(request, name) || null;
  const currency = textOrNull('currency');
  const { field: read, problems } = createFieldReader<keyof typeof labels>();
  const typed = (name: 'amount' | 'min' | 'max') =>
    read(name, textOrNull(name), null, (text) => asOfApi(text, currency));
  const amounts = { amount: typed('amount'), min: typed('min'), max: typed('max') };
  const suggested = read('suggested', field(request, 'suggested'), [], (list) =>
    list
      .split(/\s+/)
      .filter(Boolean)
      .map((text) => asOfApi(text, currency)),
  );
  if (problems.length > 0) throw new BodyProblems(problems);
  return {
    title: field(request, 'title'),
    description: textOrNull('description'),
    currency,
    ...(currency === null
      ? {
          amount_sat: numberOf(amounts.amount),
          min_sat: numberOf(amounts.min),
          max_sat: numberOf(amounts.max),
          suggested_sat: suggested.map(Number),
        }
      : { amount: amounts.amount, min: amounts.min, max: amounts.max, suggested }),
    note: choiceValue(request, 'note', noteRules),
    most_orders: numberOf(textOrNull('most-orders')),
    adjust_percent: adjustPercentIn(textOrNull('adjust-percent')),
    ask_email: isOn(request, 'ask-email'),
  };
}

const adjustPercentIn = (text: string | null): number | null =>
  text === null ? null : signedNumberIn(text);

/** NaN for a text that is no whole number, which is refused with all other problems. */
const numberOf = (text: string | null): number | null =>
  text === null ? null : /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
