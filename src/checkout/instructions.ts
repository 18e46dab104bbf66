// The sentences that say what the customer of an order does now. They never ask for money where an
// earlier payment may still count.

import type { Blocks, ShownOrder, Stage } from './shown-order.ts';
import type { Translation } from './words/languages.ts';

/** What the customer does now. */
export function instructionOf(shown: ShownOrder, { words, formats }: Translation): string {
  const { order, stage } = shown;
  const { now } = words;
  const late = order.late && now.cameLate;
  const { excessSat } = shown;
  const tooMuch = shown.isPaidAgain ? now.paidAgain : now.paidTooMuch;
  const excess = excessSat > 0 && tooMuch(formats.amount(excessSat));
  const refunds = refundSentences(shown, { words, formats });
  const isAsked = order.refunds.some(({ state }) => state === 'asked');
  switch (stage) {
    case 'processing':
      return join(
        now.wait,
        shown.blocks !== null && blocksText(shown.blocks, { words, formats }),
        late,
        ...refunds,
        excess,
      );
    case 'paid':
      return join(!isAsked && now.done, late, ...refunds, excess);
    case 'undecided':
      return join(now.undecided(formats.amount(shown.undecidedSat)), ...refunds);
    default:
      return unpaidInstruction(shown, stage, { words, formats });
  }
}

const blockMinutes = 10;

/** How far a payment is, and how long it usually takes from here. */
export function blocksText({ have, need }: Blocks, { words, formats }: Texts): string {
  const { number, minutes } = formats;
  const left = minutes(Math.max(1, need - have) * blockMinutes);
  return words.claim.blocks(number(have), number(need), left);
}

/** What the shop paid back, and what it is about to. */
function refundSentences(
  { order, refundedSat }: ShownOrder,
  { words: { now, refund }, formats }: Texts,
): readonly string[] {
  const done = refundedSat > 0 ? [now.refunded(formats.amount(refundedSat))] : [];
  const begun = order.refunds.flatMap(({ state, amount_sat }) => {
    const amount = formats.amount(amount_sat);
    if (state === 'asked') return refund.offered(amount);
    return state === 'prepared' ? refund.prepared(amount) : [];
  });
  return [...done, ...begun];
}

type Texts = Pick<Translation, 'words' | 'formats'>;

function unpaidInstruction(
  shown: ShownOrder,
  stage: Exclude<Stage, 'processing' | 'paid' | 'undecided'>,
  { words, formats }: Texts,
): string {
  const { order, hasFallen } = shown;
  const { now } = words;
  const { received_sat, missing_sat } = order;
  const received = formats.amount(received_sat);
  const hasMoney = received_sat > 0;
  const arrived = hasMoney && now.arrived(received);
  const fallen = hasFallen && now.fellAway;
  const refunds = refundSentences(shown, { words, formats });
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
      if (refunds.length > 0) return join(now.expired, ...refunds);
      if (hasMoney) return join(fallen, now.expiredWithMoney(received));
      return hasFallen ? join(fallen, now.expiredAfterFall) : join(now.expired, now.foundByItself);
    case 'canceled':
      if (refunds.length > 0) return join(now.canceled, ...refunds);
      return hasMoney ? now.canceledWithMoney(received) : now.canceled;
  }
}

/** Japanese has no spaces between sentences. */
export const join = (...sentences: readonly (string | false)[]): string =>
  sentences.filter(Boolean).join(' ').replaceAll('。 ', '。');
