// Choosing a wallet by its key, in two steps: the key is pasted, then the merchant types what their own wallet
// shows, which says which of the possible wallets it is. The page hides what is to be typed, so that it
// can't be copied from there. The key travels in the form; nothing is kept before it is sure.

import {
  firstAddresses,
  highestIndex,
  possibleWallets,
  type WalletKey,
} from '../../bitcoin/keychain.ts';
import { PaygateError } from '../../errors.ts';
import { isOn, wholeNumber } from '../form.ts';
import { Form } from '../layout.tsx';
import { field, type Visit } from '../visit.ts';

const typedLetters = 6;

/** The first step. The key is never filled in again; where another gateway left off must not be lost with it. */
export const KeyForm = ({ visit }: { readonly visit: Visit }) => (
  <Form visit={visit} does="look" button="Show its addresses">
    <label>
      Public key of the wallet
      <textarea name="key" rows={4} required spellcheck={false} autocomplete="off" />
      <small>
        The xpub, ypub or zpub of the account (on test networks tpub, upub or vpub), or an output
        descriptor. Wallets show it under names such as “account public key”. Never a private key or
        recovery words: paygate refuses those, and needs none.
      </small>
    </label>
    <details open={visit.problem !== undefined || isOn(visit, 'allow-depth')}>
      <summary>Coming from another payment gateway, or a key from below the account level</summary>
      <label>
        Start at index
        <input
          name="start-index"
          value={field(visit, 'start-index')}
          inputmode="numeric"
          pattern="\d*"
        />
        <small>
          Beyond the last address that the other gateway gave out. Left empty, the chain is searched
          for used addresses.
        </small>
      </label>
      <label>
        <input type="checkbox" name="allow-depth" value="on" checked={isOn(visit, 'allow-depth')} />
        Accept a key from below the account level
      </label>
    </details>
  </Form>
);

/** Whether the second step's form comes back; a key that was refused as private is gone from it. */
export const isAtSecondStep = (visit: Visit, does: string): boolean =>
  visit.form.get('do') === does && field(visit, 'key') !== '';

/** The wallets that the pasted key may be. @throws PaygateError invalid */
export const walletsIn = (visit: Visit): readonly WalletKey[] =>
  possibleWallets(field(visit, 'key'), {
    network: visit.parts.store.network,
    allowDepth: isOn(visit, 'allow-depth'),
  });

/** Undefined where the chain is to be searched. @throws PaygateError invalid */
export const startIndexIn = (visit: Visit): number | undefined =>
  field(visit, 'start-index') === ''
    ? undefined
    : wholeNumber(visit, 'start-index', 0, highestIndex);

const names: Readonly<Record<string, string>> = {
  p2wpkh: 'Native SegWit',
  p2tr: 'Taproot',
  'p2sh-p2wpkh': 'Nested SegWit',
  p2pkh: 'Legacy',
};

interface CandidatesProps {
  readonly visit: Visit;
  readonly wallets: readonly WalletKey[];
}

/** The second step's fields: to be put into a form, which goes on with them. */
export const Candidates = ({ visit, wallets }: CandidatesProps) => (
  <>
    <input type="hidden" name="key" value={field(visit, 'key')} />
    <input type="hidden" name="start-index" value={field(visit, 'start-index')} />
    {isOn(visit, 'allow-depth') ? <input type="hidden" name="allow-depth" value="on" /> : null}
    <p>
      Look at the first receive address in your own wallet.{' '}
      {wallets.length > 1 ? 'One of these kinds has it:' : 'It is the first one here:'}
    </p>
    <div class="grid">
      {wallets.map((wallet) => (
        <section>
          <h2>{names[wallet.scriptType] ?? wallet.scriptType}</h2>
          <ol start={0}>
            {firstAddresses(wallet).map((address, index) => (
              <li>
                <code>{index === 0 ? hidden(address) : address}</code>
              </li>
            ))}
          </ol>
        </section>
      ))}
    </div>
    <label>
      The last {typedLetters} characters of the first address, as your wallet shows it
      <input
        name="letters"
        value={field(visit, 'letters')}
        required
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        minlength={typedLetters}
        maxlength={typedLetters}
      />
      <small>This proves that payments will arrive in your wallet, and nowhere else.</small>
    </label>
  </>
);

const hidden = (address: string): string =>
  address.slice(0, -typedLetters) + '•'.repeat(typedLetters);

/** The one whose first address ends as was typed. @throws PaygateError invalid */
export function chosenWallet(visit: Visit): WalletKey {
  const letters = field(visit, 'letters');
  const found = walletsIn(visit).find((wallet) => {
    const [first = ''] = firstAddresses(wallet, 1);
    const end = first.slice(-typedLetters);
    // Only Base58 tells capitals from others.
    return /^[a-z]+1[a-z0-9]+$/.test(first) ? end === letters.toLowerCase() : end === letters;
  });
  if (letters.length === typedLetters && found !== undefined) return found;
  throw new PaygateError(
    'invalid',
    'No first address of this key ends so. Is it the first receive address (index 0) of the same account ' +
      'in your wallet? If it is, the key belongs to another account: do not go on with it.',
  );
}
