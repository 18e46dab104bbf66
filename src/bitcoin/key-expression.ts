// A key as wallets write it, with its origin before it and its path behind it, and what these say of
// the script type. It recognises expressions by their form; keychain.ts decodes the keys.
// Sources: BIP380 (key expressions), BIP389 (`<0;1>`), BIP388 (`/**`), BIP43, BIP44, BIP48, BIP49,
// BIP84, BIP86, BIP87 (purposes).

import type { ScriptType } from './address.ts';
import { refuse } from './refuse.ts';

/** A wallet that a text names. */
export interface NamedWallet {
  /** An extended key alone, or an output descriptor with its checksum. */
  readonly text: string;
  /** What the key's path or the file says of it. */
  readonly scriptType?: ScriptType;
  /** As the file has it. */
  readonly firstAddress?: string;
}

const hardened = "['hH]";
const step = `\\d{1,10}${hardened}?`;
const origin = new RegExp(`^\\[([0-9a-f]{8})((?:/${step})*)\\]`, 'i');
const keyForm = '[xyztuvYZUV]pub[1-9A-HJ-NP-Za-km-z]{100,}';
const expressionForm = new RegExp(`^(?:\\[[^\\]\\s]*\\])?(${keyForm})(/[\\d<>;*'hH/]*)?$`);
const descriptorForm = new RegExp(`^[a-z]+\\(\\S*${keyForm}\\S*\\)(?:#\\S*)?$`);

/** A bare key, or one with an origin or a path. */
export const isKeyExpression = (text: string): boolean => expressionForm.test(text);

/** A whole descriptor of extended keys. */
export const isDescriptor = (text: string): boolean => descriptorForm.test(text);

/** What paths of the receive branch look like; `/**` stands for both branches. */
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
 * What the first step of a path says, BIP43's purpose.
 * @param path such as `m/84h/0h/0h`, `84'/0'/0'/0/0`, `/84h`; perhaps behind a fingerprint
 * @returns `several` for the key of a signer among several
 */
export function purposeOf(path: string): ScriptType | 'several' | undefined {
  const form = new RegExp(`^\\[?(?:[0-9a-f]{8}|m)?/?(\\d{1,10})${hardened}(?:/${step})*\\]?$`, 'i');
  const [, first = ''] = form.exec(path.trim()) ?? [];
  return Object.hasOwn(purposes, first) ? purposes[first] : undefined;
}

/** @throws PaygateError invalid */
export function rejectSigner(): never {
  refuse(
    'this is the key of one signer of a multisig wallet: its path says so. Give the output descriptor ' +
      'of the whole wallet, wsh(sortedmulti(…))#…, or the file that the wallet exports for its signers',
  );
}

/**
 * The wallet of one key, whose script type may stand in its origin.
 * @throws PaygateError invalid
 */
export function walletOfExpression(expression: string): NamedWallet {
  const [, , steps = ''] = origin.exec(expression) ?? [];
  if (expression.startsWith('[') && !origin.test(expression)) {
    refuse('the part in brackets before the key is malformed: [fingerprint/84h/0h/0h] is expected');
  }
  const [key = '', path] = keyAndPath(expression);
  if (path !== '' && !receivePaths.has(path)) {
    refuse(
      'this key has another path behind it than /0/*, /<0;1>/* or /**: paygate gives out addresses ' +
        'of the receive branch of an account, m/0',
    );
  }
  const purpose = purposeOf(steps);
  if (purpose === 'several') rejectSigner();
  return { text: key, ...(purpose && { scriptType: purpose }) };
}
