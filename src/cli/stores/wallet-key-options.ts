// The options that name a merchant's key, and its reading. `--xpub -` reads standard input, so that
// the key is not in the shell's history.

import { Option } from 'commander';
import type { ScriptType } from '../../bitcoin/address.ts';
import { maxIndex, parseWalletKey, scriptTypes, type WalletKey } from '../../bitcoin/keychain.ts';
import type { NetworkName } from '../../bitcoin/network.ts';
import { wholeNumber } from '../command.ts';

export interface KeyOptions {
  readonly xpub: string;
  readonly script?: ScriptType;
  readonly allowDepth?: boolean;
}

export const xpubOption = (): Option =>
  new Option(
    '--xpub <key>',
    'xpub, ypub, zpub (or tpub …), descriptor, or wallet export; - reads standard input',
  ).makeOptionMandatory();

export const scriptOption = (): Option =>
  new Option(
    '--script <type>',
    'address type of an xpub or tpub, or account of a wallet export',
  ).choices(scriptTypes);

export const depthOption = (): Option =>
  new Option('--allow-depth', 'accept a key below the account level');

export const startIndexOption = (): Option =>
  new Option(
    '--start-index <n>',
    'first index to issue, above the last used one; skips the chain scan',
  ).argParser(wholeNumber(0, maxIndex));

export const compareWith = (addresses: readonly string[]): string =>
  `Compare its first receive addresses with those of your wallet:
${addresses.map((each, index) => `  ${index}  ${each}`).join('\n')}`;

export async function readWalletKey(
  { xpub, script, allowDepth = false }: KeyOptions,
  network: NetworkName,
): Promise<WalletKey> {
  return parseWalletKey(xpub === '-' ? await readInput() : xpub, {
    network,
    allowDepth,
    ...(script && { scriptType: script }),
  });
}

async function readInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    // No wallet exports that much: the parser refuses it.
    if (text.length > 1_000_000) break;
  }
  return text;
}
