// Chooses a wallet in two steps. The merchant pastes the key, then enters an address of the own
// wallet or its end, which selects one of the possible wallets. The page hides the ends of
// addresses, so that they cannot be copied from it. The form contains the key; nothing is stored
// before the second step.

import {
  firstAddresses,
  maxIndex,
  possibleWallets,
  type WalletKey,
} from '../../bitcoin/keychain.ts';
import { PaygateError } from '../../lib/errors.ts';
import { isOn, wholeNumber } from '../form-fields.ts';
import { Form } from '../form-parts.tsx';
import { field, type PageRequest } from '../page.ts';

const comparedCharacters = 6;
/** Wallets show their next unused address; most look ahead by no more than this. */
const comparedAddresses = 20;

/**
 * The first step. The form comes back without the key, but with the start index: losing that would
 * issue addresses of the other gateway again.
 */
export const WalletKeyForm = ({ request }: { readonly request: PageRequest }) => (
  <Form request={request} action="look" button="Show addresses">
    <label>
      Public key of the wallet
      <textarea name="key" rows={4} required spellcheck={false} autocomplete="off" />
      <small>
        The xpub, ypub or zpub of the account (on test networks tpub, upub or vpub), an output
        descriptor, or the text of the file that your wallet exports. Wallets show it under names
        such as “account public key”. Never a private key or recovery words: paygate refuses those,
        and needs none.
      </small>
    </label>
    <details open={request.problem !== undefined || isOn(request, 'allow-depth')}>
      <summary>Coming from another payment gateway, or a key from below the account level</summary>
      <label>
        Start at index
        <input
          name="start-index"
          value={field(request, 'start-index')}
          inputmode="numeric"
          pattern="\d*"
        />
        <small>
          The index after the last address that the other gateway issued. If it is empty, paygate
          scans the chain for used addresses.
        </small>
      </label>
      <label>
        <input
          type="checkbox"
          name="allow-depth"
          value="on"
          checked={isOn(request, 'allow-depth')}
        />
        Accept a key from below the account level
      </label>
    </details>
  </Form>
);

/** Whether the second step comes back; a refused private key is no longer in the form. */
export const isSecondStep = (request: PageRequest, action: string): boolean =>
  request.form.get('do') === action && field(request, 'key') !== '';

/** The possible wallets of the pasted key. @throws PaygateError invalid */
export const sentWallets = (request: PageRequest): readonly WalletKey[] =>
  possibleWallets(field(request, 'key'), {
    network: request.parts.store.network,
    allowDepth: isOn(request, 'allow-depth'),
  });

/** Undefined if the chain must be scanned. @throws PaygateError invalid */
export const sentStartIndex = (request: PageRequest): number | undefined =>
  field(request, 'start-index') === ''
    ? undefined
    : wholeNumber(request, 'start-index', 0, maxIndex);

const addressTypeNames: Readonly<Record<string, string>> = {
  p2wpkh: 'Native SegWit',
  p2tr: 'Taproot',
  'p2sh-p2wpkh': 'Nested SegWit',
  p2pkh: 'Legacy',
};

interface CandidatesProps {
  readonly request: PageRequest;
  readonly wallets: readonly WalletKey[];
}

/** The fields of the second step, for a form of the caller. */
export const WalletCandidates = ({ request, wallets }: CandidatesProps) => (
  <>
    <input type="hidden" name="key" value={field(request, 'key')} />
    <input type="hidden" name="start-index" value={field(request, 'start-index')} />
    {isOn(request, 'allow-depth') ? <input type="hidden" name="allow-depth" value="on" /> : null}
    <p>
      Look at the receive addresses in your own wallet.{' '}
      {wallets.length > 1 ? 'They begin as in one of these lists:' : 'They begin as in this list:'}
    </p>
    <div class="grid">
      {wallets.map((wallet) => (
        <section>
          <h2>{addressTypeNames[wallet.scriptType] ?? wallet.scriptType}</h2>
          <ol start={0}>
            {firstAddresses(wallet).map((address) => (
              <li>
                <code>{withHiddenEnd(address)}</code>
              </li>
            ))}
          </ol>
        </section>
      ))}
    </div>
    <label>
      The last {comparedCharacters} characters of one of its first {comparedAddresses} addresses, as
      your wallet shows it, or the whole address
      <input
        name="letters"
        value={field(request, 'letters')}
        required
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        minlength={comparedCharacters}
      />
      <small>This proves that payments arrive in your own wallet.</small>
    </label>
  </>
);

const withHiddenEnd = (address: string): string =>
  address.slice(0, -comparedCharacters) + '•'.repeat(comparedCharacters);

/** The address in a text as wallets show it: with a URI scheme, in groups, or shortened. */
function addressIn(text: string): string {
  const shown = text.replace(/[\s\p{Cc}\p{Default_Ignorable_Code_Point}"'`]/gu, '');
  const [address = ''] = shown.replace(/^bitcoin:(\/\/)?/i, '').split('?');
  return address.split(/…|\.{2,}|[•·*_-]+/).at(-1) ?? '';
}

/** Only Base58 is case-sensitive. */
const isBech32 = (address: string): boolean => /^[a-z]+1[a-z0-9]+$/.test(address);

const comparableTo = (typed: string, address: string): string =>
  isBech32(address) ? typed.toLowerCase() : typed;

export interface ChosenWallet {
  readonly key: WalletKey;
  /** The index of the entered address. */
  readonly index: number;
}

/** The wallet that has the entered address. @throws PaygateError invalid */
export function chosenWallet(request: PageRequest): ChosenWallet {
  const typed = addressIn(field(request, 'letters'));
  if (typed.length < comparedCharacters) {
    throw new PaygateError(
      'invalid',
      `Enter the last ${comparedCharacters} characters of an address, or the whole address, as your wallet shows it.`,
    );
  }
  let isBeginning = false;
  for (const key of sentWallets(request)) {
    for (const [index, address] of firstAddresses(key, comparedAddresses).entries()) {
      const text = comparableTo(typed, address);
      if (address.endsWith(text)) return { key, index };
      isBeginning ||= address.startsWith(text);
    }
  }
  throw new PaygateError('invalid', isBeginning ? beginningText : noMatchText(typed));
}

const beginningText =
  `This is the beginning of an address, which several addresses share. Enter its last ${comparedCharacters} characters, ` +
  'or paste the whole address.';

const noMatchText = (typed: string): string =>
  `None of these addresses ends in ${typed.slice(-comparedCharacters)}, up to index ${comparedAddresses - 1}. Is it a receive ` +
  'address of the same account in your wallet? If it is, the key belongs to another account: do not continue with it.';

/** A query parameter for the next page; index 0 needs no mention. */
export const indexQuery = ({ index }: ChosenWallet): string =>
  index === 0 ? '' : `&index=${index}`;
