// Choosing a wallet by its key, in two steps: the key is pasted, then the merchant gives an address that their own
// wallet shows, or its end, which says which of the possible wallets it is. The page hides the ends of addresses, so
// that they can't be copied from there. The key travels in the form; nothing is kept before it is sure.

import {
  firstAddresses,
  maxIndex,
  possibleWallets,
  type WalletKey,
} from '../../bitcoin/keychain.ts';
import { PaygateError } from '../../lib/errors.ts';
import { isOn, wholeNumber } from '../form-fields.ts';
import { Form } from '../layout.tsx';
import { field, type PageRequest } from '../page.ts';

const comparedCharacters = 6;
/** A wallet shows the next address that it has not used; most look no further than this for payments. */
const comparedAddresses = 20;

/** The first step. The key is never filled in again; where another gateway left off must not be lost with it. */
export const WalletKeyForm = ({ request }: { readonly request: PageRequest }) => (
  <Form request={request} action="look" button="Show its addresses">
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
          Beyond the last address that the other gateway gave out. Left empty, the chain is searched
          for used addresses.
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

/** Whether the second step's form comes back; a key that was refused as private is gone from it. */
export const isSecondStep = (request: PageRequest, does: string): boolean =>
  request.form.get('do') === does && field(request, 'key') !== '';

/** The wallets that the pasted key may be. @throws PaygateError invalid */
export const sentWallets = (request: PageRequest): readonly WalletKey[] =>
  possibleWallets(field(request, 'key'), {
    network: request.parts.store.network,
    allowDepth: isOn(request, 'allow-depth'),
  });

/** Undefined where the chain is to be searched. @throws PaygateError invalid */
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

/** The second step's fields: to be put into a form, which goes on with them. */
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
      <small>This proves that payments will arrive in your wallet, and nowhere else.</small>
    </label>
  </>
);

const withHiddenEnd = (address: string): string =>
  address.slice(0, -comparedCharacters) + '•'.repeat(comparedCharacters);

/** An address as wallets show and copy it: as a link, in groups of letters, with its middle left out. */
function addressIn(text: string): string {
  const shown = text.replace(/[\s\p{Cc}\p{Default_Ignorable_Code_Point}"'`]/gu, '');
  const [address = ''] = shown.replace(/^bitcoin:(\/\/)?/i, '').split('?');
  return address.split(/…|\.{2,}|[•·*_-]+/).at(-1) ?? '';
}

/** Only Base58 tells capitals from others. */
const isBech32 = (address: string): boolean => /^[a-z]+1[a-z0-9]+$/.test(address);

const comparableTo = (typed: string, address: string): string =>
  isBech32(address) ? typed.toLowerCase() : typed;

export interface ChosenWallet {
  readonly key: WalletKey;
  /** The index of the address that was given. */
  readonly index: number;
}

/** The wallet that has the address which was given, or its end. @throws PaygateError invalid */
export function chosenWallet(request: PageRequest): ChosenWallet {
  const typed = addressIn(field(request, 'letters'));
  if (typed.length < comparedCharacters) {
    throw new PaygateError(
      'invalid',
      `Give the last ${comparedCharacters} characters of an address, or the whole of it, as your wallet shows it.`,
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
  `Addresses of this key begin so, and its last ${comparedCharacters} characters are what tells one from another. ` +
  'Type those, or paste the whole address.';

const noMatchText = (typed: string): string =>
  `None of these addresses ends in ${typed.slice(-comparedCharacters)}, up to index ${comparedAddresses - 1}. Is it a receive ` +
  'address of the same account in your wallet? If it is, the key belongs to another account: do not go on with it.';

/** For the page that comes next; the first address is what everybody looks at. */
export const indexQuery = ({ index }: ChosenWallet): string =>
  index === 0 ? '' : `&index=${index}`;
