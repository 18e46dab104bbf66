// The answer to a customer who says that they paid. It has facts of this order alone: a transaction
// that pays another order of the shop pays another address, as any foreign one does. A transaction
// that the file does not have is one question to the servers. A Lightning payment is named by its
// invoice, its payment hash or its preimage.

import { addressToScript } from '../bitcoin/address.ts';
import type { Txid } from '../bitcoin/ids.ts';
import { networks } from '../bitcoin/network.ts';
import { valuePaidTo } from '../bitcoin/transaction.ts';
import { paymentHashOf } from '../domain/order/lightning-invoice.ts';
import type { ShownPayment } from '../domain/order/order-json.ts';
import { isFinalState } from '../domain/payment/payment.ts';
import { withoutInvisible } from '../domain/text/pasted-text.ts';
import { Allowance, refusalCost } from '../electrum/budget.ts';
import { PaygateError } from '../lib/errors.ts';
import { minuteMs } from '../lib/time-units.ts';
import { readInvoice } from '../lightning/bolt11.ts';
import type { Records } from '../store/open-records.ts';
import type { OrderRow } from '../store/orders/order-view.ts';
import type { ChainReader } from '../watcher/reader.ts';
import type { World } from '../world/world.ts';
import { blocksText, join } from './instructions.ts';
import { Sentence } from './page-parts.tsx';
import { codeInput, FormField } from './payer-form.tsx';
import type { Reading } from './reading.ts';
import { blocksOf } from './shown-order.ts';
import type { Translation } from './words/languages.ts';

export interface ClaimOptions {
  readonly records: Pick<Records, 'orderView' | 'network' | 'lightningInvoices'>;
  readonly world: Pick<World, 'now' | 'monotonic'>;
  readonly reader: Pick<ChainReader, 'find'>;
}

/** @param takeQuestion counts a question to the servers. @throws PaygateError limited */
export type AnswerClaim = (
  row: OrderRow,
  text: string,
  reading: Pick<Translation, 'words' | 'formats'>,
  takeQuestion: () => void,
) => Promise<string>;

/** What all customers together may cost: 6 transactions that no server has. */
const maxHourlyCost = 6 * refusalCost;

/** Returns what answers claims, in the language of the reader. */
export function createClaims({ records, world, reader }: ClaimOptions): AnswerClaim {
  const { orderView, network, lightningInvoices } = records;
  const allowance = new Allowance(world, maxHourlyCost);

  /** Undefined for a transaction that no server has. @throws PaygateError unavailable */
  async function find(txid: Txid) {
    const end = allowance.reserve(refusalCost);
    if (end === undefined)
      throw new PaygateError('unavailable', 'Too many transactions were asked');
    try {
      const found = await reader.find(txid);
      if (found === undefined) allowance.charge(refusalCost);
      return found;
    } finally {
      end();
    }
  }

  return async (row, text, { words, formats }, takeQuestion) => {
    const { claim, receipt } = words;
    const record = orderView.record(row);
    const { details, payments } = record;
    const { missingSat } = orderView.standing(record, world.now());
    const tooLittle = (sat: number | null): string | false =>
      sat !== null && sat > 0 && claim.tooLittle(formats.amount(sat));

    function known(payment: ShownPayment): string {
      const { state, firstSeenAt, preimage } = payment;
      if (state === 'dropped') return receipt.gone;
      if (preimage !== null) return join(claim.byLightning, tooLittle(missingSat));
      const agoMs = world.now() - firstSeenAt;
      const seen = agoMs < minuteMs ? claim.seenNow : claim.seen(formats.ago(agoMs));
      if (isFinalState(state)) return join(receipt.confirmed, tooLittle(missingSat));
      const blocks = blocksText(blocksOf(record, payment), { words, formats });
      return join(seen, blocks, tooLittle(missingSat));
    }

    const typed = withoutInvisible(text).toLowerCase();
    const newest = payments.findLast(({ state }) => state !== 'dropped') ?? payments.at(-1);
    if (typed === '') return newest === undefined ? claim.unseen : known(newest);
    const isInvoice = invoiceText.test(typed);
    if (!isInvoice && !/^[0-9a-f]{64}$/.test(typed)) return claim.wrong;
    const hashes = isInvoice ? [hashOf(typed)] : [typed, paymentHashOf(typed)];
    const own = payments.find(({ txid }) => hashes.includes(txid));
    if (own !== undefined) return known(own);
    const isAsked = hashes.some((hash) => lightningInvoices.orderOf(hash ?? '') === row.id);
    if (isAsked) return claim.unpaidInvoice;
    if (isInvoice) return claim.foreignInvoice;
    try {
      takeQuestion();
      const found = await find(typed as Txid);
      if (found === undefined) return claim.unseen;
      const script = addressToScript(details.address, networks[network]);
      const paidSat = valuePaidTo(found, script);
      if (paidSat === 0) return claim.elsewhere;
      return join(claim.justNow, tooLittle((missingSat ?? 0) - paidSat));
    } catch (error) {
      if (error instanceof PaygateError && error.code !== 'internal') return claim.later;
      throw error;
    }
  };
}

/** As wallets show and copy it. */
const invoiceText = /^(?:lightning:)?ln(?:bc|tb)/;

/** The payment hash of an invoice; undefined for a text that is none. */
function hashOf(typed: string): string | undefined {
  try {
    return readInvoice(typed.replace(/^lightning:/, '')).paymentHash;
  } catch (error) {
    if (error instanceof PaygateError) return undefined;
    throw error;
  }
}

interface ClaimFormProps {
  readonly orderId: string;
  readonly reading: Reading;
  /** What the customer asked for, answered. */
  readonly answer: string | undefined;
}

export const ClaimForm = ({ orderId, reading, answer }: ClaimFormProps) => {
  const { claim } = reading.words;
  return (
    <details id="claim" class="unprinted" open={answer !== undefined}>
      <summary>{claim.title}</summary>
      {answer === undefined ? null : (
        <p role="status">
          <Sentence text={answer} />
        </p>
      )}
      <form method="post" action={`${orderId}${reading.langQuery}#claim`}>
        <FormField name="txid" label={claim.txid} hint={undefined} error={undefined}>
          {(described) => <input {...described} {...codeInput} />}
        </FormField>
        <button type="submit">{claim.ask}</button>
      </form>
    </details>
  );
};
