// Reads a merchant's key from the command line: from the argument, or from standard input where it
// says `-`, so that it need not stand in the shell's history.

import { Option } from 'commander';
import type { ScriptType } from '../bitcoin/address.ts';
import { parseWalletKey, type WalletKey } from '../bitcoin/keychain.ts';
import type { NetworkName } from '../bitcoin/network.ts';

export interface KeyOptions {
  readonly xpub: string;
  readonly script?: ScriptType;
  readonly allowDepth?: boolean;
}

const scriptTypes: readonly ScriptType[] = ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'];

export const xpubOption = (): Option =>
  new Option(
    '--xpub <key>',
    'xpub, ypub, zpub (or tpub, upub, vpub), or an output descriptor with checksum; - reads it from standard input',
  ).makeOptionMandatory();

export const scriptOption = (): Option =>
  new Option('--script <type>', 'how addresses are made of an xpub or tpub').choices(scriptTypes);

export async function readWalletKey(
  { xpub, script, allowDepth = false }: KeyOptions,
  network: NetworkName,
): Promise<WalletKey> {
  return parseWalletKey(xpub === '-' ? (await readInput()).trim() : xpub, {
    network,
    allowDepth,
    ...(script && { scriptType: script }),
  });
}

async function readInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    // No key is that long: a file was piped in by mistake.
    if (text.length > 16_384) break;
  }
  return text;
}
