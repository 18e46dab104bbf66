// Key expressions: an extended key with its origin and path, and the script type that these state.
// Expressions are recognised by their form; keychain.ts decodes the keys.
// Sources: BIP380 (key expressions), BIP389 (`<0;1>`), BIP388 (`/**`), BIP43, BIP44, BIP48, BIP49,
// BIP84, BIP86, BIP87 (purposes).

import { throwInvalid } from '../lib/errors.ts';
import type { ScriptType } from './address.ts';
import { isOldElectrumKey, rejectPrivateMaterial, resemblesSecret } from './private-material.ts';

export interface NamedWallet {
  /** An extended key alone, or an output descriptor with its checksum. */
  readonly text: string;
  /** As the key's path or the file states it. */
  readonly scriptType?: ScriptType;
  readonly firstAddress?: string;
}

const hardened = "['hH]";
const step = `\\d{1,10}${hardened}?`;
const origin = new RegExp(`^\\[([0-9a-f]{8})((?:/${step})*)\\]`, 'i');
const keyForm = '[xyztuvYZUV]pub[1-9A-HJ-NP-Za-km-z]{100,}';
const expressionForm = new RegExp(`^(?:\\[[^\\]\\s]*\\])?(${keyForm})(/[\\d<>;*'hH/]*)?$`);
const descriptorForm = new RegExp(`^[a-z]+\\(\\S*${keyForm}\\S*\\)(?:#\\S*)?$`);

/** A key alone, or with an origin or a path. */
export const isKeyExpression = (text: string): boolean => expressionForm.test(text);

/** A complete descriptor of extended keys. */
export const isDescriptor = (text: string): boolean => descriptorForm.test(text);

/** Spellings of the receive branch's path; `/**` means both branches. */
export const receivePaths: ReadonlySet<string> = new Set(['/0/*', '/<0;1>/*', '/**']);

export const keyAndPath = (expression: string): [key: string | undefined, path: string] => {
  const withoutOrigin = expression.replace(origin, '');
  const [, key, path = ''] = /^([0-9A-Za-z]+)(\/.*)?$/.exec(withoutOrigin) ?? [];
  return [key, path];
};

const purposes: Readonly<Record<string, ScriptType | 'several'>> = {
  44: 'p2pkh',
  49: 'p2sh-p2wpkh',
  84: 'p2wpkh',
  86: 'p2tr',
  45: 'several',
  48: 'several',
  87: 'several',
};

/**
 * The script type of a path's purpose (BIP43), which is its first step.
 * @param path such as `m/84h/0h/0h`, `84'/0'/0'/0/0` or `/84h`, with or without a fingerprint
 * @returns `several` for the key of one signer of a multisig wallet
 */
export function purposeOf(path: string): ScriptType | 'several' | undefined {
  const form = new RegExp(`^\\[?(?:[0-9a-f]{8}|m)?/?(\\d{1,10})${hardened}(?:/${step})*\\]?$`, 'i');
  const [, first = ''] = form.exec(path.trim()) ?? [];
  return Object.hasOwn(purposes, first) ? purposes[first] : undefined;
}

/** @throws PaygateError invalid */
export function rejectSigner(): never {
  throwInvalid(
    'this is the key of one signer of a multisig wallet: its path says so. Give the output descriptor ' +
      'of the whole wallet, wsh(sortedmulti(…))#…, or the file that the wallet exports for its signers',
  );
}

/**
 * The wallet of one key. Its origin may state the script type.
 * @throws PaygateError invalid
 */
export function walletOfExpression(expression: string): NamedWallet {
  const [, , steps = ''] = origin.exec(expression) ?? [];
  if (expression.startsWith('[') && !origin.test(expression)) {
    throwInvalid(
      'the part in brackets before the key is malformed: [fingerprint/84h/0h/0h] is expected',
    );
  }
  const [key = '', path] = keyAndPath(expression);
  if (path !== '' && !receivePaths.has(path)) {
    throwInvalid(
      'this key has another path behind it than /0/*, /<0;1>/* or /**: paygate gives out addresses ' +
        'of the receive branch of an account, m/0',
    );
  }
  const purpose = purposeOf(steps);
  if (purpose === 'several') rejectSigner();
  return { text: key, ...(purpose && { scriptType: purpose }) };
}

/**
 * Checks the form of a text that should be one bare key, for secrets first.
 * @throws PaygateError invalid, saying what the text is instead
 */
export function requireBareKey(text: string): void {
  if (!/^[xyztuv]pub/i.test(text) && resemblesSecret(text)) rejectPrivateMaterial();
  if (text === '') throwInvalid('no wallet key given: paste an xpub, ypub or zpub');
  if (
    /^(bitcoin:)?((bc|tb|bcrt)1[a-z0-9]{20,90}|[123mn][1-9A-HJ-NP-Za-km-z]{25,34})(\?.*)?$/i.test(
      text,
    )
  ) {
    throwInvalid(
      'this is an address; paygate needs the public key that all addresses of the wallet come from: ' +
        'its xpub, ypub or zpub',
    );
  }
  if (isOldElectrumKey(text)) {
    throwInvalid(
      'this is the master public key of an Electrum 1.x wallet, which no other wallet uses: make a new ' +
        'wallet and give its master public key',
    );
  }
  if (/^(ur:|B\$)/i.test(text)) {
    throwInvalid(
      'this is the text of a QR code that only wallets read; export the account of the wallet as an xpub, ' +
        'an output descriptor or a file',
    );
  }
  if (/^QklFM/.test(text)) {
    throwInvalid(
      'this is an encrypted wallet file of Electrum; export the ' +
        'master public key instead (Wallet, Information)',
    );
  }
  if (/^(\.{0,2}[/\\]|~\/|[a-z]:\\)\S+$|^\S+\.(json|txt|csv|dat|pdf)$/i.test(text)) {
    throwInvalid('this is the name of a file: give what stands in it, as with --xpub - < FILE');
  }
  const isWords = /^[^\s]*\s+\S/.test(text);
  if (isWords && !/[xyztuv]pub/i.test(text)) {
    throwInvalid(
      'this is neither an extended public key nor an output descriptor, nor a file with one. Type recovery ' +
        'words into no program but a wallet',
    );
  }
  if (/[)[\]/*,]/.test(text)) {
    throwInvalid(
      'this is not a key alone, nor one with its origin and path, such as [fingerprint/84h/0h/0h]xpub…/0/*: ' +
        'copy it again, or give the output descriptor of the wallet',
    );
  }
  if (/\s/u.test(text)) {
    throwInvalid('there is white space inside the wallet key: remove it');
  }
}
