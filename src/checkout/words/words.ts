// All texts that a customer reads, as each language has them: order page, receipt, links, till. A
// parameter is a text that is formatted for the language already, or a number for a plural.

export interface Message {
  readonly title: string;
  readonly text: string;
}

type One = (text: string) => string;

export interface Words {
  /** Name of the language picker. */
  readonly language: string;
  readonly languageIs: One;
  /** On a button that has just copied. */
  readonly copied: string;
  readonly orderStates: Readonly<
    Record<'open' | 'processing' | 'paid' | 'expired' | 'canceled', string>
  >;
  readonly paymentStates: Readonly<Record<'seen' | 'confirming' | 'confirmed' | 'gone', string>>;
  /** What the customer does now, in each state of an order. */
  readonly now: {
    readonly pay: string;
    readonly payMissing: (arrived: string, missing: string) => string;
    /** A payment fell away, and the order can be paid. */
    readonly payAgain: string;
    /** The price has ended; the button below makes a new one. */
    readonly renewPrice: string;
    readonly renewPriceAgain: string;
    /** Money came after its price had ended, and does not count yet. */
    readonly undecided: One;
    readonly timeIsOver: string;
    readonly wait: string;
    readonly done: string;
    readonly expired: string;
    readonly expiredWithMoney: One;
    /** A payment fell away, and the time of the order is over. */
    readonly expiredAfterFall: string;
    readonly canceled: string;
    readonly canceledWithMoney: One;
    /** Follow one of the sentences above. */
    readonly arrived: One;
    readonly foundByItself: string;
    readonly fellAway: string;
    readonly cameLate: string;
    readonly paidTooMuch: One;
    /** Less than a wallet sends. */
    readonly tooLittleMissing: One;
    /** More came after the order was paid. */
    readonly paidAgain: One;
    readonly refunded: One;
  };
  /** Beside the state of an order. */
  readonly late: string;
  readonly shortBy: One;
  readonly overBy: One;
  /** The parameter is a percentage. */
  readonly discount: One;
  readonly surcharge: One;
  /** The parts that are paid from. */
  readonly pay: {
    readonly payment: string;
    readonly openWallet: string;
    readonly copyAddress: string;
    readonly copyAmount: string;
    /** A Lightning invoice, here and in the next one. */
    readonly copyInvoice: string;
    /** Shows the code after a payment fell away. */
    readonly payAgain: string;
    readonly qrCode: string;
    readonly qrCodeOfInvoice: string;
    readonly qrCodeOfAddress: string;
    readonly addressAlone: string;
    readonly priceHoldsUntil: One;
    readonly payUntil: One;
    readonly timeLeft: string;
    readonly showPriceNow: string;
    /** @param time until the page leads to the shop, such as `5 seconds` */
    readonly leaves: (time: string) => string;
    readonly backTo: One;
  };
  /** Names of facts. */
  readonly facts: {
    readonly order: string;
    readonly description: string;
    readonly reference: string;
    readonly amount: string;
    readonly price: string;
    readonly rate: string;
    readonly received: string;
    readonly overBy: string;
    readonly ordered: string;
    readonly paid: string;
    readonly payments: string;
    readonly payment: string;
    readonly state: string;
    readonly seen: string;
    readonly transaction: string;
    readonly address: string;
    readonly confirmations: string;
    readonly refunded: string;
    /** Before the name and the address of the merchant. */
    readonly shopAddress: string;
    /** How the shop is asked. */
    readonly contact: string;
  };
  /** The shop pays money back, to an address that the customer types. */
  readonly refund: {
    readonly offered: One;
    readonly prepared: One;
    readonly address: string;
    readonly hint: string;
    readonly send: string;
    readonly wrong: string;
    /** An address of the shop's own wallet. */
    readonly own: string;
    readonly states: Readonly<Record<'prepared' | 'sent', string>>;
  };
  /** The customer says that they paid, and asks what became of it. */
  readonly claim: {
    readonly title: string;
    readonly txid: string;
    readonly ask: string;
    /** @param ago such as `3 minutes ago` */
    readonly seen: (ago: string) => string;
    readonly seenNow: string;
    /** @param left such as `10 minutes` */
    readonly blocks: (have: string, need: string, left: string) => string;
    readonly tooLittle: One;
    readonly elsewhere: string;
    readonly justNow: string;
    readonly unseen: string;
    /** The servers cannot be asked now. */
    readonly later: string;
    readonly wrong: string;
    /** A Lightning payment, which no block confirms. */
    readonly byLightning: string;
    readonly unpaidInvoice: string;
    /** A Lightning invoice of another order or another shop. */
    readonly foreignInvoice: string;
  };
  /** @param bitcoin one bitcoin */
  readonly rateOf: (price: string, bitcoin: string) => string;
  /** An order has more payments than the page shows. */
  readonly newestPayments: (shown: number) => string;
  /** The page of one payment. */
  readonly receipt: {
    readonly title: string;
    readonly seen: string;
    readonly confirming: string;
    readonly confirmed: string;
    readonly gone: string;
    readonly toOrder: string;
    readonly unknown: string;
    /** The link lacks a part, or was changed. */
    readonly unnamed: string;
  };
  /** Pages of a payment link. */
  readonly link: {
    readonly pay: string;
    readonly payWithBitcoin: string;
    readonly amountIn: One;
    readonly suggestions: string;
    readonly atLeast: One;
    readonly atMost: One;
    readonly between: (least: string, most: string) => string;
    readonly note: string;
    readonly optional: string;
    readonly noteHint: string;
    readonly email: string;
    /** What the address is for. */
    readonly emailHint: string;
    readonly closed: Message;
    readonly missingAmount: string;
    /** @param example an amount as it may be typed */
    readonly wrongAmount: (example: string) => string;
    readonly tooSmall: One;
    readonly missingNote: string;
    readonly longNote: (maxCharacters: number) => string;
    /** @param example a mail address */
    readonly wrongEmail: (example: string) => string;
    /** The network of the customer typed as many as it may. */
    readonly manyEmails: string;
    /** The customer typed a private key or recovery words. */
    readonly privateKey: string;
  };
  readonly till: {
    readonly keypad: string;
    readonly deleteDigit: string;
    /** Digits are whole units, not cents. */
    readonly wholeUnits: string;
    readonly charge: string;
    readonly waiting: string;
    /** To the next sale. */
    readonly next: string;
    readonly cancel: string;
    readonly sales: string;
    /** A payment is in no block yet. */
    readonly seen: string;
    readonly letGo: string;
    readonly waitForBlock: string;
    readonly offline: string;
    /** @param name of the till */
    readonly useAs: One;
    readonly pair: Message;
    readonly noTill: Message;
    readonly codeOver: Message;
    readonly notCanceled: Message;
  };
  readonly errors: {
    readonly unknownOrder: Message;
    readonly unknownLink: Message;
    readonly limited: Message;
    readonly foreignForm: Message;
    readonly noPrice: Message;
    /** Too many addresses of the wallet are unpaid. */
    readonly gap: Message;
    /** Too many orders of the customer's network are unpaid. */
    readonly network: Message;
    readonly unexpected: Message;
    readonly backToOrder: string;
    readonly back: string;
  };
}
