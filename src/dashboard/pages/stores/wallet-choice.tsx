// Chooses a wallet in two steps. The merchant pastes the key, then enters an address of the own
// wallet or its end, which selects one of the possible wallets. The page hides the ends of
// addresses, so that they cannot be copied from it. The form contains the key; nothing is stored
// before the second step.

import type { Child } from 'hono/jsx';
import {
  firstAddresses,
  maxIndex,
  possibleWallets,
  type WalletKey,
} from '../../../bitcoin/keychain.ts';
import { pastedAddress } from '../../../domain/text/pasted-text.ts';
import { PaygateError } from '../../../lib/errors.ts';
import type { StoreRow } from '../../../store/wallets/catalog.ts';
import { field, type PageRequest } from '../../page.ts';
import { isOn, type ReadField, readFields, wholeNumberFrom } from '../../parts/form-fields.ts';
import { FaultNote, Field, Form, faultAttributes, Switch } from '../../parts/form-parts.tsx';
import { acceptDepthLabel, startIndexLabel } from '../../parts/page-words.ts';

const comparedCharacters = 6;
const lettersLabel = `The last ${comparedCharacters} characters`;
/** Wallets show their next unused address; most look ahead by no more than this. */
const comparedAddresses = 20;

interface WalletKeyFormProps {
  readonly request: PageRequest;
  /** Fields before that of the key. */
  readonly children?: Child;
}

/**
 * The first step. The form comes back without the key, but with the start index: losing that would
 * issue addresses of the other gateway again.
 */
export const WalletKeyForm = ({ request, children }: WalletKeyFormProps) => (
  <Form request={request} action="look" button="Show addresses">
    {children}
    <label>
      {keyLabel}
      <textarea
        name="key"
        rows={4}
        required
        spellcheck={false}
        autocomplete="off"
        {...faultAttributes(request, 'key')}
      />
      <small>
        The xpub, ypub or zpub of the account (on test networks tpub, upub or vpub), an output
        descriptor, or the text of the file that your wallet exports. Wallets show it under names
        such as “account public key”. Never a private key or recovery words: paygate refuses those,
        and needs none.
      </small>
    </label>
    <FaultNote request={request} name="key" />
    <details open={request.problem !== undefined || isOn(request, 'allow-depth')}>
      <summary>Coming from another payment gateway, or a key from below the account level</summary>
      <Field
        request={request}
        name="start-index"
        label={startIndexLabel}
        help="The index after the last address that the other gateway issued. If it is empty, paygate scans the chain for used addresses."
        required={false}
        attributes={{ inputmode: 'numeric', pattern: '\\d*' }}
      />
      <Switch
        request={request}
        form="look"
        name="allow-depth"
        label={acceptDepthLabel}
        on={isOn(request, 'allow-depth')}
      />
    </details>
  </Form>
);

/** Whether the second step comes back; a refused private key is no longer in the form. */
export const isSecondStep = (request: PageRequest, action: string): boolean =>
  request.form.get('do') === action && field(request, 'key') !== '';

/** The possible wallets of the pasted key. @throws PaygateError invalid */
export const sentWallets = (request: PageRequest): readonly WalletKey[] =>
  possibleWallets(field(request, 'key'), {
    network: request.parts.records.network,
    allowDepth: isOn(request, 'allow-depth'),
  });

/** Undefined if the chain must be scanned. */
const startIndexIn = (read: ReadField): number | undefined =>
  read('start-index', startIndexLabel, (text) =>
    text === '' ? undefined : wholeNumberFrom(0, maxIndex)(text),
  );

/** Checks the fields of the first step. @throws FieldErrors */
export const checkFirstStep = (request: PageRequest): void =>
  readFields(request, (read) => {
    read('key', keyLabel, () => sentWallets(request));
    startIndexIn(read);
  });

const keyLabel = 'Public key of the wallet';

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
          <SharedWallet stores={storesWithKey(request, wallet)} />
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
    <Field
      request={request}
      name="letters"
      label={`${lettersLabel} of one of its first ${comparedAddresses} addresses, as your wallet shows it, or the whole address`}
      help="This proves that payments arrive in your own wallet."
      attributes={{
        autocomplete: 'off',
        autocapitalize: 'none',
        spellcheck: 'false',
        minlength: comparedCharacters,
      }}
    />
    <WhereWalletsShow />
  </>
);

/** The places in which wallets show receive addresses. */
const wallets: readonly (readonly [name: string, place: string])[] = [
  ['Sparrow', 'Addresses, the list “Receive Addresses”'],
  ['Electrum', 'Addresses tab; View → Show Addresses if it is hidden'],
  ['BlueWallet', 'open the wallet, “…”, then “Show Addresses”'],
  ['Trezor Suite', 'Receive; “Show full address” confirms it on the device'],
  ['Ledger Live', 'Receive, then compare with the address on the device'],
];

const WhereWalletsShow = () => (
  <details>
    <summary>Where wallets show their addresses</summary>
    <dl class="facts">
      {wallets.map(([name, place]) => (
        <>
          <dt>{name}</dt>
          <dd>{place}</dd>
        </>
      ))}
    </dl>
  </details>
);

const withHiddenEnd = (address: string): string =>
  address.slice(0, -comparedCharacters) + '•'.repeat(comparedCharacters);

/** The address in a text as wallets show it: with a URI scheme, in groups, or shortened. */
function addressIn(text: string): string {
  const address = pastedAddress(text.replace(/["'`]/g, ''));
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
  /** Undefined if the chain must be scanned. */
  readonly startIndex: number | undefined;
}

/** The wallet that has the entered address. */
export function chosenWallet(request: PageRequest, read: ReadField): ChosenWallet {
  const keys = read('key', keyLabel, () => sentWallets(request));
  const startIndex = startIndexIn(read);
  const found = read('letters', lettersLabel, (text) => walletOfAddress(keys ?? [], text));
  return { ...found, startIndex };
}

/** @throws PaygateError invalid */
function walletOfAddress(
  keys: readonly WalletKey[],
  text: string,
): Pick<ChosenWallet, 'key' | 'index'> {
  const typed = addressIn(text);
  if (typed.length < comparedCharacters) {
    throw new PaygateError(
      'invalid',
      `Enter the last ${comparedCharacters} characters of an address, or the whole address, as your wallet shows it.`,
    );
  }
  let isBeginning = false;
  for (const key of keys) {
    for (const [index, address] of firstAddresses(key, comparedAddresses).entries()) {
      const shown = comparableTo(typed, address);
      if (address.endsWith(shown)) return { key, index };
      isBeginning ||= address.startsWith(shown);
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

/** The running stores that use the wallet of a key. */
export const storesWithKey = (
  { parts: { records } }: PageRequest,
  { descriptor }: WalletKey,
): readonly StoreRow[] => {
  const wallet = records.catalog.wallets().find((each) => each.descriptor === descriptor);
  return records.catalog.stores().filter(({ walletId }) => walletId === wallet?.id);
};

/** The other running stores that use a wallet. */
export const otherStoresOf = (
  { parts }: PageRequest,
  wallet: number,
  storeId: number,
): readonly StoreRow[] =>
  parts.records.catalog
    .stores()
    .filter(({ id, walletId }) => walletId === wallet && id !== storeId);

/** Says that stores with one wallet have one counter. */
export const SharedWallet = ({ stores }: { readonly stores: readonly StoreRow[] }) =>
  stores.length === 0 ? null : (
    <p class="note">
      {stores.map(({ name }) => `“${name}”`).join(', ')} {stores.length === 1 ? 'uses' : 'use'} this
      wallet, too. The stores share one counter: each address is issued once, to one of them.
    </p>
  );
