// The shapes of links in the API: the body of a new or changed link, and the answers.

import * as z from 'zod';
import { maxSuggested, noteRules } from '../../domain/order/link-input.ts';
import { pageOf } from '../listed.ts';
import { satoshis, unixTime } from '../shared-schemas.ts';
import { id } from '../store-list.ts';

const text = (example: string) => z.string(`text such as ${example} is expected`);
const sat = z.int('whole satoshis are expected');
const oneOf = <T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, `one of ${words.join(', ')} is expected`);

/** Every rule of a field is in domain/order/link-input.ts, which reports all problems at once. */
const title = z.string('text is expected').describe('Shown to the payer; at most 200 bytes');
const otherFields = {
  description: z.string('text is expected').nullish().describe('At most 1024 bytes'),
  currency: text('"EUR"').nullish().describe('ISO 4217; without it, all amounts are in satoshis'),
  amount: text('"25.00"').nullish().describe('Fixed; without it, the payer enters an amount'),
  min: text('"5.00"').nullish().describe('The least that a payer may enter'),
  max: text('"500.00"').nullish().describe('The most that a payer may enter'),
  suggested: z
    .array(text('"5.00"'), 'a list is expected')
    .nullish()
    .describe(`At most ${maxSuggested} amounts that the payer may choose`),
  amount_sat: sat.nullish().describe('The same four in satoshis, without a `currency`'),
  min_sat: sat.nullish(),
  max_sat: sat.nullish(),
  suggested_sat: z.array(sat, 'a list is expected').nullish(),
  note: oneOf(noteRules)
    .nullish()
    .describe('Whether the payer enters a line, the `reference` of the order; default no'),
  active: z.boolean('true or false is expected').nullish().describe('Default true'),
  most_orders: z
    .int('a whole number is expected')
    .nullish()
    .describe('It ends once so many of its orders are paid'),
  adjust_percent: z
    .number('a number is expected')
    .nullish()
    .meta({ format: 'double' })
    .describe('A discount below 0, or a surcharge: -20 to 20; the default is that of the store'),
  ask_email: z
    .boolean('true or false is expected')
    .nullish()
    .describe('Whether the payer may enter a mail address, which has the mails of the order'),
};

export const newLinkBody = z
  .object({
    title,
    ...otherFields,
    store_id: id.nullish().describe('Needed with several stores and a key of all stores'),
  })
  .meta({ id: 'NewLink' });

export const newLinkExample = { title: 'Poster', amount: '25.00', currency: 'EUR' };

export const linkChangeBody = z.object({ title: title.optional(), ...otherFields }).meta({
  id: 'LinkChange',
  description: 'A missing field stays as it is; null is the default of a new link',
});

const exampleLink = {
  id: 'lnk_8Fj2RkW5nXc1vB7mQd4tLs',
  store_id: 1,
  title: 'Poster',
  description: 'A2',
  currency: 'EUR',
  amount: '25.00',
  min: null,
  max: null,
  suggested: [],
  amount_sat: null,
  min_sat: null,
  max_sat: null,
  suggested_sat: [],
  note: 'optional' as const,
  active: true,
  most_orders: null,
  adjust_percent: null,
  ask_email: false,
  order_count: 3,
  paid_count: 2,
  url: 'https://pay.example.com/l/lnk_8Fj2RkW5nXc1vB7mQd4tLs',
  created_at: 1_763_650_000,
};

export const linkAnswer = z
  .object({
    id: z.string(),
    store_id: z.int(),
    title: z.string(),
    description: z.string().nullable(),
    currency: z.string().nullable().describe('null for satoshis'),
    amount: z.string().nullable().describe('null where the payer enters it'),
    min: z.string().nullable(),
    max: z.string().nullable(),
    suggested: z.array(z.string()),
    amount_sat: satoshis.nullable(),
    min_sat: satoshis.nullable(),
    max_sat: satoshis.nullable(),
    suggested_sat: z.array(satoshis),
    note: z.enum(noteRules),
    active: z.boolean(),
    most_orders: z.int().nullable(),
    adjust_percent: z
      .number()
      .nullable()
      .meta({ format: 'double' })
      .describe('null for that of the store'),
    ask_email: z.boolean(),
    order_count: z.int().nonnegative(),
    paid_count: z.int().nonnegative(),
    url: z.string().describe('The page for the payer'),
    created_at: unixTime,
  })
  .meta({ id: 'Link', description: 'Makes orders for strangers', examples: [exampleLink] });

export const linkPage = pageOf(linkAnswer, 'The newest first').meta({ id: 'LinkPage' });
