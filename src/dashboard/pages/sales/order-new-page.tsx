// Takes a payment: a new order by hand, whose page has the code that the customer scans.

import { BodyProblems } from '../../../domain/order/body-fields.ts';
import type { OrderBody } from '../../../domain/order/order-input.ts';
import { asOfApi } from '../../../domain/order/typed-amount.ts';
import { namedCurrencies } from '../../../domain/payment/currency.ts';
import { PaygateError } from '../../../lib/errors.ts';
import {
  type ActionResult,
  type DashboardParts,
  field,
  type Page,
  type PageRequest,
} from '../../page.ts';
import {
  atField,
  FieldErrors,
  fieldError,
  versionOf,
  wholeNumber,
} from '../../parts/form-fields.ts';
import {
  AddStoreFirst,
  chosenBefore,
  FaultNote,
  Field,
  Form,
  faultAttributes,
  Select,
  StoreSelect,
} from '../../parts/form-parts.tsx';
import { Layout } from '../../parts/layout.tsx';
import { inWordsOfPages } from '../../parts/page-words.ts';
import { orderPath } from './order-parts.ts';

const labels = {
  amount: 'Amount',
  currency: 'Currency',
  reference: 'Reference',
  description: 'Description',
} as const;

export const newOrderPage: Page = {
  path: '/orders/new',
  show(request) {
    const stores = request.parts.records.catalog.stores();
    const [first] = stores;
    return (
      <Layout request={request} title="Take a payment">
        {first === undefined ? (
          <AddStoreFirst />
        ) : (
          <Form request={request} action="take" button="Show the code">
            <input type="hidden" name="once" value={onceOf(request)} />
            <Field
              request={request}
              name="amount"
              label={labels.amount}
              attributes={{ inputmode: 'decimal', autocomplete: 'off' }}
            />
            <Currencies request={request} currency={first.currency} />
            <Field
              request={request}
              name="reference"
              label={labels.reference}
              required={false}
              help="Your own number, for example of an invoice. Customers see it."
            />
            <label>
              {labels.description}
              <textarea name="description" rows={2} {...faultAttributes(request, 'description')}>
                {request.form.get('description') ?? ''}
              </textarea>
            </label>
            <FaultNote request={request} name="description" />
            <StoreSelect request={request} form="take" />
          </Form>
        )}
      </Layout>
    );
  },
  actions: { take },
};

const Currencies = ({ request, currency }: { request: PageRequest; currency: string | null }) => {
  const own = request.parts.prices === undefined ? '' : (currency ?? '');
  return (
    <Select
      request={request}
      name="currency"
      label={labels.currency}
      options={[['', 'Satoshis'], ...namedCurrencies()]}
      chosen={chosenBefore(request, 'take', 'currency') ?? own}
    />
  );
};

const onceBytes = 12;

/** Names one showing of the form: sent twice, it makes one order. */
function onceOf({ form, parts }: PageRequest): string {
  const sent = form.get('once') ?? '';
  if (/^[0-9a-f]{24}$/.test(sent)) return sent;
  return Buffer.from(parts.world.randomBytes(onceBytes)).toString('hex');
}

async function take(request: PageRequest): Promise<ActionResult> {
  const { prices, takePayment } = request.parts;
  const storeId = wholeNumber(request, 'store', 1, Number.MAX_SAFE_INTEGER);
  const body = orderBodyIn(request);
  if (body.currency != null) await checkPrice(prices, body.currency);
  // Another content is another order, also after a step back in the browser.
  const idempotencyKey = `dashboard ${onceOf(request)} ${versionOf({ storeId, ...body })}`;
  try {
    const { publicId } = await takePayment({ storeId, idempotencyKey, body });
    return { to: orderPath(publicId) };
  } catch (error) {
    throw atItsField(error);
  }
}

/** The fields of the form as a body of the API. A comma is a decimal point as well. */
function orderBodyIn(request: PageRequest): OrderBody {
  const currency = field(request, 'currency') || null;
  const amount = amountIn(request, currency);
  const sat = /^\d{1,16}$/.test(amount) ? Number(amount) : Number.NaN;
  return {
    ...(currency === null ? { amount_sat: sat } : { amount, currency }),
    reference: field(request, 'reference') || null,
    description: field(request, 'description') || null,
  };
}

function amountIn(request: PageRequest, currency: string | null): string {
  try {
    return asOfApi(field(request, 'amount'), currency);
  } catch (error) {
    throw atField('amount', labels.amount, error);
  }
}

/** Throws at the field of the currency if it has no price now. The price is cached for a minute. */
async function checkPrice(prices: DashboardParts['prices'], currency: string): Promise<void> {
  try {
    if (prices === undefined) {
      throw new PaygateError('invalid', 'prices are switched off here: choose satoshis');
    }
    if ((await prices.rateCents(currency)) !== null) return;
    throw new PaygateError('invalid', `no source has a price in ${currency}: choose another`);
  } catch (error) {
    if (!(error instanceof PaygateError)) throw error;
    throw fieldError(error.code, 'currency', error.message, labels.currency);
  }
}

function atItsField(error: unknown): unknown {
  if (error instanceof BodyProblems) {
    const faults = error.problems.map(([name, text]) => {
      const own = name.replace('_sat', '') as keyof typeof labels;
      return [own, { label: labels[own], text: inWordsOfPages(text) }] as const;
    });
    return new FieldErrors('invalid', new Map(faults));
  }
  const isOfAmount = error instanceof PaygateError && error.code === 'invalid';
  return isOfAmount && error.number === undefined ? atField('amount', labels.amount, error) : error;
}
