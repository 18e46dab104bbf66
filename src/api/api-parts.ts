// What the API is given by the composition root.

import type { Scripthash } from '../bitcoin/ids.ts';
import type { CallbackSender } from '../domain/callback-url-policy.ts';
import type { Proxies } from '../domain/client-address.ts';
import type { Prices } from '../price/prices.ts';
import type { Store } from '../store/open-store.ts';
import type { IssuedAddress } from '../store/records/address-row.ts';
import type { ChainReader } from '../watcher/reader.ts';
import type { Rates } from '../web/request-limits.ts';
import type { UntrustedProxies } from '../web/untrusted-proxies.ts';
import type { Logger } from '../world/world.ts';

export interface ApiOptions {
  readonly store: Store;
  readonly log: Logger;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds of a clock that never runs backwards. */
  readonly monotonic: () => number;
  readonly rates: Rates;
  /** Whose `X-Forwarded-For` is believed. */
  readonly proxies: Proxies;
  readonly untrustedProxies: UntrustedProxies;
  /** What the merchant's own wallet is set to. */
  readonly walletGap: number;
  /** Unpaid addresses in a row after which a wallet's next one is refused; undefined: never. */
  readonly refuseGap: number | undefined;
  /** Asks Electrum servers for what the file does not have. */
  readonly reader: ChainReader;
  /** Undefined where they are switched off. */
  readonly prices: Prices | undefined;
  /** Whether balances of addresses that are not ours may be asked for. */
  readonly foreignBalances: boolean;
  /** Runs once after a delay; the answer takes it back. */
  readonly after: (delayMs: number, run: () => void) => () => void;
  /** What is known of the machine that sends callbacks. */
  readonly surroundings: () => CallbackSender;
  /** For a store that a plugin adds. */
  readonly newWebhookSecret: () => string;
  /** Throws when no address may be issued now. */
  readonly checkIssuing: () => void;
  /** Why the scan of a wallet has failed at its last try; undefined when it has not. */
  readonly scanFault: () => string | undefined;
  /** After the commit of an address that was issued. */
  readonly onIssued: (issued: IssuedAddress) => void;
  /** Whether all addresses have been compared with a server: then an empty history is a fact. */
  readonly isCaughtUp: () => boolean;
  /** Whether a server told of a history of this script that is not worked up yet: then it is not known whether it was paid. */
  readonly isPending: (scripthash: Scripthash) => boolean;
}
