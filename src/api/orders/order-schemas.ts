// The shapes of orders and events in the API: the body of a new order, and the answers.

import * as z from 'zod';
import { maxExpirySeconds } from '../../domain/order/order-input.ts';
import type { OrderJson } from '../../domain/order/order-json.ts';
import { refundStates } from '../../domain/order/refund.ts';
import { pageOf } from '../listed.ts';
import { satoshis, unixTime } from '../shared-schemas.ts';
import { id } from '../store-list.ts';

const orderStatus = z.enum(['open', 'processing', 'paid', 'expired', 'canceled']).meta({
  id: 'OrderStatus',
  description: 'open: not enough is seen. processing: enough is seen. paid: enough is final',
});

const eventType = z
  .enum([
    ...['order.processing', 'order.paid', 'order.expired', 'order.canceled'],
    ...['order.reversed', 'order.updated'],
    ...['payment.seen', 'payment.mined', 'payment.confirmed', 'payment.reversed'],
  ] as const)
  .meta({ id: 'EventType' });

const text = (message: string) => z.string(message).nullish();
const count = (message: string) => z.int(message).nullish();

/** Every rule of a field is in domain/order/order-input.ts, which reports all problems at once. */
export const newOrderBody = z
  .object({
    amount: text('text such as "12.50" is expected').describe(
      'Decimal text such as 12.50, with `currency`; or `amount_sat` instead of both',
    ),
    currency: text('text such as "EUR" is expected').describe('ISO 4217'),
    amount_sat: count('whole satoshis are expected').describe('A price in satoshis; at least 546'),
    reference: text('text is expected').describe("The shop's own number; at most 128 bytes"),
    description: text('text is expected').describe('Shown to the customer; at most 1024 bytes'),
    expires_in: count('whole seconds are expected').describe(
      `Seconds from 300 to ${maxExpirySeconds}, or 0 for never`,
    ),
    quote_seconds: count('whole seconds are expected').describe(
      'How long a rate is held; 300 to 3600',
    ),
    tolerance_percent: z
      .number('a number is expected')
      .nullish()
      .meta({ format: 'double' })
      .describe('By how much the payments may fall short; 0 to 10'),
    adjust_percent: z
      .number('a number is expected')
      .nullish()
      .meta({ format: 'double' })
      .describe('A discount below 0, or a surcharge: -20 to 20; the default is that of the store'),
    return_url: text('text is expected').describe('A link on the page of the order'),
    language: text('text is expected').describe('Of the page, such as de'),
    customer_email: text('text is expected').describe(
      'Gets a mail when the payment is seen, and when it is paid; never on the page',
    ),
    metadata: z
      .record(z.string(), z.string('text is expected'), 'pairs of text are expected')
      .nullish()
      .describe('At most 20 pairs of text and 2048 bytes; never on the page'),
    store_id: id.nullish().describe('Needed with several stores and a key of all stores'),
  })
  .meta({ id: 'NewOrder' });

export const newOrderExample = {
  amount: '12.50',
  currency: 'EUR',
  reference: '1007',
  description: '2 posters',
  return_url: 'https://shop.example/thanks/1007',
  metadata: { cart: '7f' },
};

const quote = z
  .object({
    rate: z.string().describe('The price of one bitcoin'),
    amount_sat: satoshis,
    created_at: unixTime,
    expires_at: unixTime,
  })
  .meta({ id: 'Quote', description: 'A rate that is promised until it expires' });

const onChainFields = {
  kind: z.literal('onchain'),
  txid: z.string(),
  value_sat: satoshis,
  rate: z.string().nullable().describe('The rate at which it counts; null for none'),
  late: z.boolean().describe('It was seen within no quote'),
  status: z.literal([0, 1, 2]).describe('0 unconfirmed, 1 in a block, 2 final'),
  confirmations: z.int().nonnegative(),
  first_seen_at: unixTime,
  height: z.int().nullable(),
  rbf: z.boolean().describe('It can be replaced while it is unconfirmed'),
  gone: z.boolean().describe('It is in no mempool and in no block any more'),
  replaced_by: z.string().nullable(),
};

const address = z.string().optional().describe('Only in events of payments');

const payment = z
  .discriminatedUnion('kind', [
    z.object({ ...onChainFields, address }).meta({
      id: 'OnChainPayment',
      description: "What one transaction pays to an order's address",
    }),
    z
      .object({
        kind: z.literal('lightning'),
        payment_hash: z.string(),
        preimage: z.string().describe('SHA-256 of its bytes is the payment hash'),
        value_sat: satoshis,
        rate: onChainFields.rate,
        late: onChainFields.late,
        settled_at: unixTime,
        address,
      })
      .meta({ id: 'LightningPayment', description: 'A paid invoice of an order. It is final' }),
  ])
  .meta({ id: 'Payment' });

const lightning = z
  .object({ invoice: z.string().describe('BOLT 11'), amount_sat: satoshis, expires_at: unixTime })
  .meta({ id: 'LightningInvoice' });

const refund = z
  .object({
    amount_sat: satoshis,
    address: z.string().nullable().describe('null while the customer is asked for it'),
    state: z
      .enum(refundStates)
      .describe('`asked` for an address, `prepared`, `sent`, `confirmed` in a block'),
    txid: z.string().nullable().describe('null until it is sent'),
    created_at: unixTime,
    sent_at: unixTime.nullable(),
  })
  .meta({ id: 'Refund', description: 'What the merchant pays back, from a wallet of their own' });

export const orderAnswer = z
  .object({
    id: z.string(),
    store_id: z.int(),
    link_id: z.string().nullable().describe('The link that made it'),
    version: z.int().describe('Rises with each event of the order'),
    status: orderStatus,
    late: z.boolean().describe('A payment that counts is late'),
    amount: z.string().nullable().describe('The price; null for a price in satoshis'),
    currency: z.string().nullable(),
    adjust_percent: z
      .number()
      .meta({ format: 'double' })
      .describe('The discount below 0, or the surcharge; 0 for a price in satoshis'),
    amount_due: z
      .string()
      .nullable()
      .describe('What is due of the price, rounded up to the last decimal'),
    amount_sat: satoshis.describe('What is due in satoshis, by the newest quote'),
    received_sat: satoshis,
    confirmed_sat: satoshis.describe('What is final of it'),
    missing_sat: satoshis.nullable().describe('null while no quote is in force'),
    excess_sat: satoshis,
    quote: quote.nullable().describe('The quote in force'),
    address: z.string(),
    uri: z.string().nullable().describe('For a QR code; null while nothing may be paid'),
    lightning: lightning.nullable().describe('For what is missing; null without a Lightning node'),
    page_url: z.string().describe('The page for the customer'),
    reference: z.string().nullable(),
    description: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    return_url: z.string().nullable(),
    language: z.string().nullable(),
    customer_email: z.string().nullable(),
    created_at: unixTime,
    expires_at: unixTime.nullable().describe('null for never'),
    paid_at: unixTime.nullable(),
    canceled_at: unixTime.nullable(),
    accepted_at: unixTime.nullable(),
    payments: z.array(payment).describe('The newest first, at most 200'),
    refunds: z.array(refund).describe('The newest first'),
  })
  .meta({
    id: 'Order',
    description: 'A price, one address for ever, and the payments to it',
    examples: [exampleOrder()],
  });

const eventFields = z.object({
  type: eventType,
  timestamp: z.string().describe('RFC 3339, such as 2025-11-20T14:53:32Z'),
  data: z.object({
    was: orderStatus.optional().describe('The status of the order before'),
    order: orderAnswer.optional().describe('Of `order.*`: the order as of this event'),
    payment: payment.optional().describe('Of `payment.*`'),
    order_id: z.string().nullable().optional().describe('Of `payment.*`; null for no order'),
  }),
});

/** An event as the webhook receives it. */
export const webhookBody = eventFields.meta({ id: 'WebhookBody', examples: [exampleEvent()] });

export const eventAnswer = eventFields
  .extend({ id: z.string().describe('The `webhook-id` of its deliveries') })
  .meta({
    id: 'Event',
    description: 'A change of an order or of a payment',
    examples: [{ id: 'evt_2Lh9KRbwpzN4LePd3XiA4v', ...exampleEvent() }],
  });

export type EventAnswer = z.infer<typeof eventAnswer>;

export const orderQuery = { status: orderStatus.optional() };
export const eventQuery = { type: eventType.optional() };

export const orderPage = pageOf(orderAnswer, 'The newest first').meta({ id: 'OrderPage' });
export const eventPage = pageOf(eventAnswer, 'The oldest first').meta({ id: 'EventPage' });

function exampleOrder(): OrderJson {
  const createdAt = 1_763_650_000;
  const address = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
  return {
    id: 'ord_3yQ8tZr6WmB1nK5vXc2dLp',
    store_id: 1,
    link_id: null,
    version: 1,
    status: 'open',
    late: false,
    amount: '12.50',
    currency: 'EUR',
    adjust_percent: 0,
    amount_due: '12.50',
    amount_sat: 25_000,
    received_sat: 0,
    confirmed_sat: 0,
    missing_sat: 25_000,
    excess_sat: 0,
    quote: {
      rate: '50000.00',
      amount_sat: 25_000,
      created_at: createdAt,
      expires_at: createdAt + 900,
    },
    address,
    uri: `bitcoin:${address}?amount=0.00025&label=My%20shop`,
    lightning: null,
    page_url: 'https://pay.example.com/o/ord_3yQ8tZr6WmB1nK5vXc2dLp',
    reference: '1007',
    description: '2 posters',
    metadata: { cart: '7f' },
    return_url: 'https://shop.example/thanks/1007',
    language: 'de',
    customer_email: null,
    created_at: createdAt,
    expires_at: createdAt + 3_600,
    paid_at: null,
    canceled_at: null,
    accepted_at: null,
    payments: [],
    refunds: [],
  };
}

function exampleEvent() {
  const order = exampleOrder();
  return {
    type: 'order.canceled',
    timestamp: '2025-11-20T14:56:40Z',
    data: {
      was: 'open',
      order: { ...order, version: 2, status: 'canceled', uri: null, canceled_at: 1_763_650_600 },
    },
  };
}
