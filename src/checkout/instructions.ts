// The texts of the customer's page, in English. A sentence of a status says what the customer does
// now.

import { formatSat } from '../domain/format.ts';
import type { ShownOrder, Stage } from './shown-order.ts';

const foundByItself = 'If you have paid already, you need do nothing: it is found by itself.';

/** The state of an order, and the colour in which it is shown. */
export const pills: Readonly<Record<Stage, readonly [text: string, colour: string]>> = {
  payable: ['Open', 'neutral'],
  lapsed: ['Open', 'neutral'],
  over: ['Open', 'neutral'],
  processing: ['Processing', 'waiting'],
  paid: ['Paid', 'good'],
  expired: ['Expired', 'bad'],
  canceled: ['Canceled', 'bad'],
};

/** What the customer does now. */
export function instructionOf({ stage, order }: ShownOrder): string {
  const { received_sat, missing_sat, excess_sat } = order;
  const arrived = received_sat > 0 ? `${formatSat(received_sat)} arrived. ` : '';
  const excess =
    excess_sat > 0 ? ` You paid ${formatSat(excess_sat)} too much: ask the shop about it.` : '';
  switch (stage) {
    case 'payable':
      return arrived === ''
        ? 'Scan the code with your wallet, or open the link below, and send the amount.'
        : `${arrived}Pay the missing ${formatSat(missing_sat ?? 0)} to the same address.`;
    case 'lapsed':
      return `${arrived}The price is no longer valid. Ask for the price of now before you pay. ${foundByItself}`;
    case 'over':
      return `${arrived}The time to pay is over. Do not pay any more. ${foundByItself}`;
    case 'processing':
      return `Your payment arrived. You need do nothing more: it waits for its confirmation.${excess}`;
    case 'paid':
      return `Thank you. You need do nothing more, and this page is your receipt.${excess}`;
    case 'expired':
      return `${arrived}Do not pay any more. ${foundByItself}`;
    case 'canceled':
      return `${arrived}The shop canceled this order. Do not pay. If you have paid, ask the shop for a refund.`;
  }
}

/** States of a payment by its number. */
const paymentStates = ['Seen', 'Confirming', 'Confirmed'] as const;

export const paymentState = ({ gone, status }: ShownOrder['order']['payments'][number]): string =>
  gone ? 'Gone' : paymentStates[status];
