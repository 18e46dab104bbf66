// The sentences that say what the customer of an order does now. They never ask for money where an
// earlier payment may still count.

import type { ShownOrder, Stage } from './shown-order.ts';
import type { Translation } from './words/languages.ts';

/** What the customer does now. */
export function instructionOf(shown: ShownOrder, { words, formats }: Translation): string {
  const { order, stage } = shown;
  const { now } = words;
  const late = order.late && now.cameLate;
  const excess = order.excess_sat > 0 && now.paidTooMuch(formats.amount(order.excess_sat));
  switch (stage) {
    case 'processing':
      return join(now.wait, late, excess);
    case 'paid':
      return join(now.done, late, excess);
    case 'undecided':
      return now.undecided(formats.amount(shown.undecidedSat));
    default:
      return unpaidInstruction(shown, stage, { words, formats });
  }
}

function unpaidInstruction(
  { order, hasFallen }: ShownOrder,
  stage: Exclude<Stage, 'processing' | 'paid' | 'undecided'>,
  { words: { now }, formats }: Pick<Translation, 'words' | 'formats'>,
): string {
  const { received_sat, missing_sat } = order;
  const received = formats.amount(received_sat);
  const hasMoney = received_sat > 0;
  const arrived = hasMoney && now.arrived(received);
  const fallen = hasFallen && now.fellAway;
  switch (stage) {
    case 'payable': {
      const missing = hasMoney && now.payMissing(received, formats.amount(missing_sat ?? 0));
      return hasFallen ? join(fallen, now.payAgain, missing) : missing || now.pay;
    }
    case 'lapsed':
      return hasFallen
        ? join(fallen, arrived, now.renewPriceAgain)
        : join(arrived, now.renewPrice, now.foundByItself);
    case 'over':
      return join(fallen, arrived, now.timeIsOver, now.foundByItself);
    case 'expired':
      if (hasMoney) return join(fallen, now.expiredWithMoney(received));
      return hasFallen ? join(fallen, now.expiredAfterFall) : join(now.expired, now.foundByItself);
    case 'canceled':
      return hasMoney ? now.canceledWithMoney(received) : now.canceled;
  }
}

/** Japanese has no spaces between sentences. */
const join = (...sentences: readonly (string | false)[]): string =>
  sentences.filter(Boolean).join(' ').replaceAll('。 ', '。');
