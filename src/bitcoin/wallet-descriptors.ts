// Makes output descriptors from what wallet files state in parts. The parts are descriptors of two
// branches, policies and their keys, multisig keys with threshold and script type.

import { throwInvalid } from '../lib/errors.ts';
import { withChecksum } from './descriptor.ts';
import { keyAndPath, type NamedWallet } from './key-expression.ts';

export interface MultisigSigner {
  /** An extended key, with or without origin. */
  readonly key: string;
  readonly fingerprint?: string;
  /** From the master key, such as `m/48'/0'/0'/2'`. */
  readonly path?: string;
}

interface MultisigFile {
  /** NaN if the file does not state it. */
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

/** The key expression, with its origin if fingerprint and path are known. */
function expressionOf({ key: text, fingerprint = '', path = '' }: MultisigSigner): string {
  const [key = ''] = keyAndPath(text.trim());
  const steps = path.trim().replace(/^m\/?/i, '').replace(/['H]/g, 'h');
  const isKnown = /^[0-9a-f]{8}$/i.test(fingerprint) && /^\d{1,10}h?(\/\d{1,10}h?)*$/.test(steps);
  return `${isKnown ? `[${fingerprint.toLowerCase()}/${steps}]` : ''}${key}/<0;1>/*`;
}

/** @throws PaygateError invalid */
export function rejectUnsorted(): never {
  throwInvalid(
    'this multisig wallet does not sort its keys (BIP67): paygate takes sortedmulti only',
  );
}

/** @throws PaygateError invalid, saying what the file lacks or contradicts */
export function multisigOf({ threshold, count, format, signers }: MultisigFile): NamedWallet {
  if (!(threshold >= 1 && count >= threshold)) {
    throwInvalid('this file of a multisig wallet does not say how many of its keys must sign');
  }
  if (signers.length !== count) {
    throwInvalid(
      `this file of a multisig wallet says that it has ${count} keys, and holds ${signers.length}`,
    );
  }
  const [before, after] =
    templates[format.trim().toLowerCase().replaceAll('_', '-')] ??
    throwInvalid(
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

/** Omits the descriptor of a change branch if the same wallet's receive branch is present. */
export function withoutChange(descriptors: readonly string[]): string[] {
  const receiving = descriptors.filter((text) => !isChange(text));
  const known = new Set(receiving.map(withoutPaths));
  const change = descriptors.filter(isChange);
  // Their checksums are checked as well, because a mistyped descriptor may seem to be the same
  // wallet.
  for (const text of change) withChecksum(text);
  const alone = change.filter((text) => !known.has(withoutPaths(text)));
  if (alone.length > 0 && receiving.length > 0) {
    throwInvalid(
      'two output descriptors of different keys: the one of the change branch (/1/*) is not of the ' +
        'same wallet as the one of the receive branch (/0/*)',
    );
  }
  return [...receiving, ...alone];
}

/** BIP388: a template and its keys in order. */
export function walletOfPolicy(template: string, keys: readonly string[]): NamedWallet {
  const body = template.replace(/#.*$/, '').replace(/@(\d+)/g, (_, number: string) => {
    const key = keys[Number(number)];
    return key?.replace(/\/\*\*$/, '') ?? throwInvalid(`this wallet policy has no key @${number}`);
  });
  return { text: withChecksum(body) };
}

export const isPolicy = (text: string): boolean => /^[a-z]+\(.*@\d/.test(text);
