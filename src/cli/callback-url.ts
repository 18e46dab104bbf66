// Settings of a store as they are typed at a command line: checked, with notes on what only the
// running server can know.

import { isOnion } from '../domain/onion.ts';
import { checkStoreSettings, type StoreSettings } from '../domain/store-settings.ts';
import { world } from './command.ts';

/** @param before the store as it is. @throws PaygateError invalid */
export const checkTyped = (
  settings: Partial<StoreSettings>,
  before: StoreSettings | undefined,
): void =>
  // Whether the running server has a proxy is not known here.
  checkStoreSettings(settings, before, { ownAddresses: world.ownAddresses() });

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
