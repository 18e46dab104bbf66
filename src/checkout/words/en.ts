// The texts of the pages for customers, in English.

import { formatsOf } from './language-formats.ts';
import type { Words } from './words.ts';

const { number, plural } = formatsOf('en');

export const en: Words = {
  language: 'Language',
  languageIs: (name) => `Language: ${name}`,
  copied: 'Copied',
  orderStates: {
    open: 'Waiting for your payment',
    processing: 'Processing',
    paid: 'Paid',
    expired: 'Expired',
    canceled: 'Canceled',
  },
  paymentStates: {
    seen: 'Seen',
    confirming: 'Confirming',
    confirmed: 'Confirmed',
    gone: 'Gone',
  },
  now: {
    pay: 'Scan the code with your wallet, or open your wallet with the button below, and send the amount.',
    payMissing: (arrived, missing) =>
      `${arrived} arrived. Pay the missing ${missing} to the same address.`,
    payAgain:
      'Look into your wallet before you pay again. If it still shows that payment as sent, wait.',
    renewPrice: 'The price is no longer valid. Show the price of now before you pay.',
    renewPriceAgain:
      'Look into your wallet before you pay again. If it still shows that payment as sent, wait. If not, show the price of now first.',
    undecided: (arrived) =>
      `${arrived} arrived after the price had ended. Do not pay again: wait, or ask the shop.`,
    timeIsOver: 'The time to pay is over. Do not pay any more.',
    wait: 'Your payment arrived. You need do nothing more: it waits for its confirmation.',
    done: 'Thank you. You need do nothing more, and this page is your receipt.',
    expired: 'Do not pay any more.',
    expiredWithMoney: (arrived) =>
      `${arrived} arrived, but that is not enough. Do not pay any more: ask the shop, which can accept it or pay it back.`,
    expiredAfterFall:
      'The time to pay is over. Do not pay again: ask the shop for a new order if you still want it.',
    canceled: 'The shop canceled this order. Do not pay.',
    canceledWithMoney: (arrived) =>
      `The shop canceled this order. ${arrived} arrived. Do not pay any more: ask the shop to pay it back.`,
    arrived: (arrived) => `${arrived} arrived.`,
    foundByItself: 'If you have paid already, you need do nothing: it is found by itself.',
    fellAway: 'Your payment fell away: the shop did not receive it.',
    cameLate: 'Your payment came late, so the shop may look at the order before it delivers.',
    paidTooMuch: (excess) => `You paid ${excess} too much: ask the shop about it.`,
    tooLittleMissing: (missing) =>
      `Only ${missing} is missing: too little to send. The shop is asked to accept it, and you need do nothing.`,
    paidAgain: (excess) =>
      `The order was paid already, and ${excess} came again: ask the shop to pay it back.`,
    refunded: (amount) => `The shop paid ${amount} back.`,
  },
  late: 'Late',
  shortBy: (amount) => `Short by ${amount}`,
  overBy: (amount) => `Over by ${amount}`,
  discount: (percent) => `${percent} discount`,
  surcharge: (percent) => `${percent} surcharge`,
  pay: {
    payment: 'Payment',
    openWallet: 'Open in a wallet',
    copyAddress: 'Copy address',
    copyAmount: 'Copy amount',
    copyInvoice: 'Copy Lightning invoice',
    payAgain: 'Pay again',
    qrCode: 'QR code of the address and the amount',
    qrCodeOfInvoice: 'QR code of the Lightning invoice',
    qrCodeOfAddress: 'QR code of the address, without the amount',
    addressAlone: 'QR code of the address alone',
    priceHoldsUntil: (time) => `The price holds until ${time}`,
    payUntil: (time) => `Pay until ${time}`,
    timeLeft: 'Time left:',
    showPriceNow: 'Show the price of now',
    leaves: (time) => `You go back to the shop in ${time}.`,
    backTo: (shop) => `Back to ${shop}`,
  },
  facts: {
    order: 'Order',
    description: 'Description',
    reference: 'Reference',
    amount: 'Amount',
    price: 'Price',
    rate: 'Rate',
    received: 'Received',
    overBy: 'Over by',
    ordered: 'Ordered',
    paid: 'Paid',
    payments: 'Payments',
    payment: 'Payment',
    state: 'State',
    seen: 'Seen',
    transaction: 'Transaction',
    address: 'To address',
    confirmations: 'Confirmations',
    refunded: 'Paid back',
    shopAddress: 'Shop',
    contact: 'Contact of the shop',
  },
  refund: {
    offered: (amount) => `The shop pays ${amount} back. Type an address of your own wallet below.`,
    prepared: (amount) => `The shop has your address, and sends ${amount} to it.`,
    address: 'Your bitcoin address',
    hint: 'Copy it from “Receive” in your wallet. It cannot be changed here afterwards.',
    send: 'Send the address to the shop',
    wrong: 'This is no address that can be paid. Copy it from your wallet again.',
    own: 'This is an address of the shop. Copy one from your own wallet.',
    states: { prepared: 'In preparation', sent: 'Sent' },
  },
  claim: {
    title: 'I have paid',
    txid: 'Transaction id, if your wallet shows it',
    ask: 'Look for my payment',
    seen: (ago) => `Your payment was seen ${ago}.`,
    seenNow: 'Your payment was seen just now.',
    blocks: (have, need, left) => `It is in ${have} of ${need} blocks: about ${left} more.`,
    tooLittle: (amount) => `It is ${amount} too little.`,
    elsewhere:
      'This transaction pays another address. Compare the address in your wallet with the one on this page.',
    justNow:
      'This transaction pays this order. It was seen just now, and this page shows it in a moment.',
    unseen:
      'Our servers have not seen your payment yet. If your wallet shows it as sent, ask again in some minutes.',
    later: 'It cannot be looked up right now. Ask again in a minute.',
    wrong: 'This is no transaction id. It has 64 digits and letters from a to f.',
    byLightning: 'Your Lightning payment arrived, and is final.',
    unpaidInvoice:
      'The Lightning node of the shop has not received it yet. If your wallet shows it as paid, ask again in a minute.',
    foreignInvoice: 'This invoice is not one of this order. Compare it with the one on this page.',
  },
  rateOf: (price, bitcoin) => `${price} for ${bitcoin}`,
  newestPayments: (shown) =>
    plural(shown, {
      one: `The newest payment is shown. The sums count all.`,
      other: `The newest ${number(shown)} payments are shown. The sums count all.`,
    }),
  receipt: {
    title: 'Receipt',
    seen: 'Your payment was seen. You need do nothing: it waits for its first confirmation.',
    confirming: 'Your payment is in a block. You need do nothing: it waits for more confirmations.',
    confirmed: 'Your payment is confirmed. This page is your receipt.',
    gone: 'Your payment fell away: the shop did not receive it. Look into your wallet before you pay again.',
    toOrder: 'Show the order',
    unknown:
      'No such payment is known here. If it was made a moment ago, load this page again in a minute.',
    unnamed:
      'This link names no payment: a part of it is missing, or was changed. Open it again where the shop shows it.',
  },
  link: {
    pay: 'Pay',
    payWithBitcoin: 'Pay with Bitcoin',
    amountIn: (currency) => `Amount in ${currency}`,
    suggestions: 'Suggested amounts',
    atLeast: (least) => `At least ${least}`,
    atMost: (most) => `At most ${most}`,
    between: (least, most) => `From ${least} to ${most}`,
    note: 'Note for the shop',
    optional: 'optional',
    noteHint: 'One line, such as your name or a number.',
    email: 'Mail address (optional)',
    emailHint:
      'You get a mail when your payment is seen, and one when the order is paid. The shop sees the address, too.',
    closed: {
      title: 'This link is closed',
      text: 'No more payments are taken here. Do not pay: ask the shop for another link.',
    },
    missingAmount: 'Type the amount that you want to pay.',
    wrongAmount: (example) => `Type the amount as a number, such as ${example}.`,
    tooSmall: (least) => `This is too small for a bitcoin payment. Pay at least ${least}.`,
    missingNote: 'Type a note: the shop asks for it.',
    longNote: (maxCharacters) =>
      plural(maxCharacters, {
        one: 'The note may have one character at most.',
        other: `The note may have ${number(maxCharacters)} characters at most.`,
      }),
    wrongEmail: (example) =>
      `Type one mail address, such as ${example}, or leave this field empty.`,
    manyEmails:
      'Your network has typed as many mail addresses as it may within a day. Leave this field empty: the page of your order shows your payment.',
    privateKey:
      'This looks like a private key or recovery words. Never type them into a page: who has them has your money.',
  },
  till: {
    keypad: 'Keypad',
    deleteDigit: 'Delete the last digit',
    wholeUnits: 'Whole units only',
    charge: 'Charge',
    waiting: 'Waiting for payment',
    next: 'Next',
    cancel: 'Cancel the sale',
    sales: 'Sales of today',
    seen: 'Seen, not yet final',
    letGo: 'Small enough: you can let the customer go.',
    waitForBlock: 'Let the customer wait for a confirmation.',
    offline: 'This device is offline. What it shows may be old.',
    useAs: (name) => `Use this device as ${name}`,
    pair: {
      title: 'Add this device as a till',
      text: 'It can make sales and see its own. It sees no key, no wallet and no setting.',
    },
    noTill: {
      title: 'This device is no till',
      text: 'Add a till in the dashboard, and scan its code with this device.',
    },
    codeOver: {
      title: 'This code is over',
      text: 'It works once, and for 15 minutes. Make a new one in the dashboard.',
    },
    notCanceled: {
      title: 'The sale is not canceled',
      text: 'It is paid, or has ended. Look at the sales of today.',
    },
  },
  errors: {
    unknownOrder: {
      title: 'No such order',
      text: 'Nothing is known under this link. Open it again where the shop shows it, or ask the shop.',
    },
    unknownLink: {
      title: 'No such page',
      text: 'Nothing is known under this link. Open it again where the shop shows it, or ask the shop.',
    },
    limited: {
      title: 'Please wait',
      text: 'Too many requests came from your network. Load the page in a minute.',
    },
    foreignForm: {
      title: 'That did not work',
      text: 'Open the page again, and press its button there.',
    },
    noPrice: {
      title: 'No price right now',
      text: 'The price of now cannot be had. Nothing is lost: wait a minute, then try again. Do not pay before.',
    },
    gap: {
      title: 'Please ask the shop',
      text: 'The shop cannot take a payment by this link right now. Do not pay: ask the shop.',
    },
    network: {
      title: 'Too many unpaid orders',
      text: 'Several orders from your network wait for a payment. Pay one of them, use another network such as mobile data, or ask the shop.',
    },
    unexpected: {
      title: 'That did not work',
      text: 'Load the page again in a minute. If this stays, tell the shop.',
    },
    backToOrder: 'Back to the order',
    back: 'Back',
  },
};
