// What the composition root gives to the API.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { Proxies } from '../domain/access/client-address.ts';
import type { CallbackSender } from '../domain/delivery/callback-url-policy.ts';
import type { Prices } from '../price/prices.ts';
import type { Records } from '../store/open-records.ts';
import type { IssuedAddress } from '../store/wallets/address-row.ts';
import type { ChainReader } from '../watcher/reader.ts';
import type { Rates } from '../web/limits/request-limits.ts';
import type { UntrustedProxies } from '../web/limits/untrusted-proxies.ts';
import type { Logger } from '../world/world.ts';

export interface ApiOptions {
  readonly records: Records;
  readonly log: Logger;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly monotonic: () => number;
  readonly rates: Rates;
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly proxies: Proxies;
  readonly untrustedProxies: UntrustedProxies;
  /** The gap limit of the merchant's own wallet. */
  readonly walletGap: number;
  /** Unpaid addresses in a row after which the next one is refused; undefined: never refused. */
  readonly refuseGap: number | undefined;
  /** Asks Electrum servers for data that the database does not have. */
  readonly reader: ChainReader;
  /** Undefined when switched off. */
  readonly prices: Prices | undefined;
  /** Whether balances of foreign addresses may be asked for. */
  readonly foreignBalances: boolean;
  /** Runs once after a delay. Returns what cancels it. */
  readonly after: (delayMs: number, run: () => void) => () => void;
  /** The addresses and the proxy of the machine that sends callbacks. */
  readonly surroundings: () => CallbackSender;
  /** For the ids of orders. */
  readonly randomBytes: (length: number) => Uint8Array;
  /** For a store that a plugin adds. */
  readonly newWebhookSecret: () => string;
  /** Throws when no address may be issued now. */
  readonly checkIssuing: () => void;
  /** Why the last attempt to scan a wallet failed; undefined when it did not. */
  readonly scanFault: () => string | undefined;
  /** To call after the commit that issued an address. */
  readonly onIssued: (issued: IssuedAddress) => void;
  /** Whether all addresses were compared with a server. Only then an empty history is a fact. */
  readonly isCaughtUp: () => boolean;
  /** Whether a server notified a history of this script that is not processed: it may be paid. */
  readonly isPending: (scripthash: Scripthash) => boolean;
}
