// What the files of several wallets have in common: descriptors of the receive and the change branch,
// policies with their keys apart, multisig wallets whose keys, threshold and script type stand apart.
// It makes output descriptors of them.

import { withChecksum } from './descriptor.ts';
import { keyAndPath, type NamedWallet } from './key-expression.ts';
import { refuse } from './refuse.ts';

export interface MultisigSigner {
  /** An extended key, perhaps with an origin. */
  readonly key: string;
  readonly fingerprint?: string;
  /** From the master key, such as `m/48'/0'/0'/2'`. */
  readonly path?: string;
}

interface MultisigFile {
  /** Not a number where the file does not say it. */
  readonly threshold: number;
  readonly count: number;
  /** The script type as the file writes it, such as `P2WSH`. */
  readonly format: string;
  readonly signers: readonly MultisigSigner[];
}

const templates: Readonly<Record<string, readonly [before: string, after: string]>> = {
  p2wsh: ['wsh(', ')'],
  'p2sh-p2wsh': ['sh(wsh(', '))'],
  'p2wsh-p2sh': ['sh(wsh(', '))'],
};

/** The key with its origin, where both halves of it are known. */
function expressionOf({ key: text, fingerprint = '', path = '' }: MultisigSigner): string {
  const [key = ''] = keyAndPath(text.trim());
  const steps = path.trim().replace(/^m\/?/i, '').replace(/['H]/g, 'h');
  const isKnown = /^[0-9a-f]{8}$/i.test(fingerprint) && /^\d{1,10}h?(\/\d{1,10}h?)*$/.test(steps);
  return `${isKnown ? `[${fingerprint.toLowerCase()}/${steps}]` : ''}${key}/<0;1>/*`;
}

/** @throws PaygateError invalid */
export function rejectUnsorted(): never {
  refuse('this multisig wallet does not sort its keys (BIP67): paygate takes sortedmulti only');
}

/** @throws PaygateError invalid, saying what the file lacks */
export function multisigOf({ threshold, count, format, signers }: MultisigFile): NamedWallet {
  if (!(threshold >= 1 && count >= threshold)) {
    refuse('this file of a multisig wallet does not say how many of its keys must sign');
  }
  if (signers.length !== count) {
    refuse(
      `this file of a multisig wallet says that it has ${count} keys, and holds ${signers.length}`,
    );
  }
  const [before, after] =
    templates[format.trim().toLowerCase().replaceAll('_', '-')] ??
    refuse(
      'this file is of a multisig wallet with another format than P2WSH or P2SH-P2WSH, which are those ' +
        'that paygate takes',
    );
  const keys = signers.map(expressionOf).join(',');
  return { text: withChecksum(`${before}sortedmulti(${threshold},${keys})${after}`) };
}

const withoutPaths = (descriptor: string): string =>
  descriptor
    .replace(/#.*$/, '')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\/(\*\*|<0;1>\/\*|[01]\/\*)/g, '');

const isChange = (descriptor: string): boolean => descriptor.includes('/1/*');

/** Descriptors of the change branch are left out where the same wallet's receive branch is there. */
export function withoutChange(descriptors: readonly string[]): string[] {
  const receiving = descriptors.filter((text) => !isChange(text));
  const known = new Set(receiving.map(withoutPaths));
  const change = descriptors.filter(isChange);
  // Their checksums are looked at as well: one that was mistyped may have the other's keys.
  for (const text of change) withChecksum(text);
  const alone = change.filter((text) => !known.has(withoutPaths(text)));
  if (alone.length > 0 && receiving.length > 0) {
    refuse(
      'two output descriptors of different keys: the one of the change branch (/1/*) is not of the ' +
        'same wallet as the one of the receive branch (/0/*)',
    );
  }
  return [...receiving, ...alone];
}

/** BIP388: a template, and its keys in the order of their numbers. */
export function walletOfPolicy(template: string, keys: readonly string[]): NamedWallet {
  const body = template.replace(/#.*$/, '').replace(/@(\d+)/g, (_, number: string) => {
    const key = keys[Number(number)];
    return key?.replace(/\/\*\*$/, '') ?? refuse(`this wallet policy has no key @${number}`);
  });
  return { text: withChecksum(body) };
}

export const isPolicy = (text: string): boolean => /^[a-z]+\(.*@\d/.test(text);
