// The sentences that say what the customer of an order does now. They never ask for money where an
// earlier payment may still count.

import type { ShownOrder, Stage } from './shown-order.ts';
import type { Translation } from './words/languages.ts';

/** What the customer does now. */
export function instructionOf(shown: ShownOrder, { words, formats }: Translation): string {
  const { order, stage } = shown;
  const { now } = words;
  const late = order.late && now.cameLate;
  const { excessSat, refundedSat } = shown;
  const tooMuch = shown.isPaidAgain ? now.paidAgain : now.paidTooMuch;
  const excess = excessSat > 0 && tooMuch(formats.amount(excessSat));
  const refunded = refundedSat > 0 && now.refunded(formats.amount(refundedSat));
  switch (stage) {
    case 'processing':
      return join(now.wait, late, refunded, excess);
    case 'paid':
      return join(now.done, late, refunded, excess);
    case 'undecided':
      return now.undecided(formats.amount(shown.undecidedSat));
    default:
      return unpaidInstruction(shown, stage, { words, formats });
  }
}

function unpaidInstruction(
  { order, hasFallen, refundedSat }: ShownOrder,
  stage: Exclude<Stage, 'processing' | 'paid' | 'undecided'>,
  { words: { now }, formats }: Pick<Translation, 'words' | 'formats'>,
): string {
  const { received_sat, missing_sat } = order;
  const received = formats.amount(received_sat);
  const hasMoney = received_sat > 0;
  const arrived = hasMoney && now.arrived(received);
  const fallen = hasFallen && now.fellAway;
  const refunded = now.refunded(formats.amount(refundedSat));
  switch (stage) {
    case 'payable': {
      const missing = hasMoney && now.payMissing(received, formats.amount(missing_sat ?? 0));
      return hasFallen ? join(fallen, now.payAgain, missing) : missing || now.pay;
    }
    case 'rest':
      return join(fallen, arrived, now.tooLittleMissing(formats.amount(missing_sat ?? 0)));
    case 'lapsed':
      return hasFallen
        ? join(fallen, arrived, now.renewPriceAgain)
        : join(arrived, now.renewPrice, now.foundByItself);
    case 'over':
      return join(fallen, arrived, now.timeIsOver, now.foundByItself);
    case 'expired':
      if (refundedSat > 0) return join(now.expired, refunded);
      if (hasMoney) return join(fallen, now.expiredWithMoney(received));
      return hasFallen ? join(fallen, now.expiredAfterFall) : join(now.expired, now.foundByItself);
    case 'canceled':
      if (refundedSat > 0) return join(now.canceled, refunded);
      return hasMoney ? now.canceledWithMoney(received) : now.canceled;
  }
}

/** Japanese has no spaces between sentences. */
const join = (...sentences: readonly (string | false)[]): string =>
  sentences.filter(Boolean).join(' ').replaceAll('。 ', '。');
