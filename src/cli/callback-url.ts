// The Callback URL as it is typed at a command line: what comes along when it is copied is left out, and what only the
// server that runs can know is said.

import { checkCallbackUrl } from '../domain/callback.ts';
import type { CallbackFlags } from '../domain/callback-url-policy.ts';
import { isOnion } from '../domain/onion.ts';
import type { StoreRow } from '../store/records/catalog.ts';
import { world } from './command.ts';

/** @param before the store as it is. @throws PaygateError invalid */
export const checkTypedUrl = (url: string, flags: CallbackFlags, before?: StoreRow): void =>
  // Whether the server that runs has a proxy is not known here.
  checkCallbackUrl(url, flags, before, { ownAddresses: world.ownAddresses() });

/** What is to be done for a URL. */
export const notesOn = (callbackUrl: string): string[] =>
  isOnion(new URL(callbackUrl).hostname)
    ? [
        'This Callback URL is reached only through Tor: start serve with --proxy socks5://127.0.0.1:9050 (or ' +
          'PAYGATE_PROXY), else its callbacks are refused.',
      ]
    : [];

/** The answer of a command with its notes, where there are any. */
export const withNotes = <T extends object>(answer: T, notes: readonly string[]) => ({
  ...answer,
  ...(notes.length > 0 && { note: notes.join(' ') }),
});
