// The refusals of operations, for the documentation: what each status means, an example of its
// message, and the numbers that clients branch on.

export interface Refusal {
  readonly description: string;
  /** An example; the messages of most statuses differ by operation. */
  readonly message: string;
}

export const refusals: Readonly<Record<string, Refusal>> = {
  400: { description: 'Invalid request', message: 'currency is missing' },
  401: {
    description: 'Missing or invalid API key',
    message: 'This function requires you to login',
  },
  403: {
    description: 'The key may not do this',
    message: 'This key may only read, by GET, and asks for no address; use another key for this',
  },
  404: { description: 'Not found', message: 'There is no such order' },
  413: {
    description: 'The body is larger than 16 KiB',
    message: 'The body is larger than 16 KiB',
  },
  414: { description: 'The URL is longer than 8 KiB', message: 'The URL is longer than 8 KiB' },
  429: {
    description: 'Too often; Retry-After says how long to wait',
    message: 'Too many requests: 300 a minute are allowed, wait a little',
  },
  500: {
    description: 'A bug; the log of paygate says more',
    message: 'Internal error; the log of paygate says more',
  },
  503: {
    description: 'Not now; Retry-After says how long to wait',
    message: 'The chain is being searched for this; ask again in a moment',
  },
};

/** A number in `error.code` that is not the status. */
export interface RefusalCode extends Refusal {
  readonly status: 400 | 409;
}

export const refusalCodes = {
  1001: {
    status: 400,
    description: 'There is no store, or it has no wallet',
    message: 'There is no store yet: make one in the dashboard, or with `paygate store add`',
  },
  1003: {
    status: 400,
    description: '`match_account` or `match_callback` fits no store of the key',
    message:
      'match_account fits the wallet of no store (1 "Shop" at shop.example): send a part of the ' +
      'extended public key that a store uses, or none',
  },
  1008: {
    status: 409,
    description: 'The gap limit of `--refuse-gap` is reached',
    message:
      'The last 20 addresses of this wallet are unpaid, which is its gap limit: use reset=1 for ' +
      'abandoned orders, or raise --refuse-gap and the gap limit of the wallet',
  },
  1032: {
    status: 400,
    description: 'Several stores exist, and none is selected',
    message:
      'There are several stores: name one by match_callback (1 "Shop" at shop.example, 2 "Second" ' +
      'at second.example)',
  },
} as const satisfies Record<number, RefusalCode>;
