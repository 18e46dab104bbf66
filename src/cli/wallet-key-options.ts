// Reads a merchant's key from the command line: from the argument, or from standard input where it
// says `-`, so that it need not stand in the shell's history. Shows what addresses it makes.

import { Option } from 'commander';
import type { ScriptType } from '../bitcoin/address.ts';
import { maxIndex, parseWalletKey, scriptTypes, type WalletKey } from '../bitcoin/keychain.ts';
import type { NetworkName } from '../bitcoin/network.ts';
import { wholeNumber } from './command.ts';

export interface KeyOptions {
  readonly xpub: string;
  readonly script?: ScriptType;
  readonly allowDepth?: boolean;
}

export const xpubOption = (): Option =>
  new Option(
    '--xpub <key>',
    'xpub, ypub, zpub (or tpub, upub, vpub), an output descriptor with checksum, or the file that a wallet exports; - reads it from standard input',
  ).makeOptionMandatory();

export const scriptOption = (): Option =>
  new Option(
    '--script <type>',
    'how addresses are made of an xpub or tpub, or which account of a file',
  ).choices(scriptTypes);

export const depthOption = (): Option =>
  new Option('--allow-depth', 'accept a key from below the account level');

export const startIndexOption = (): Option =>
  new Option(
    '--start-index <n>',
    'first index to issue, without a scan of the chain; beyond the last one used elsewhere',
  ).argParser(wholeNumber(0, maxIndex));

/** For a person. */
export const compareWith = (addresses: readonly string[]): string =>
  `Compare its first receive addresses with those that your own wallet shows:
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
    // No wallet's file is that long, and so much is refused.
    if (text.length > 1_000_000) break;
  }
  return text;
}
