// Finds wallets in the JSON that wallets export: descriptors, wallet policies, accounts, multisig
// files. It accepts only what is certain. The input is untrusted: size, depth and values are
// limited.
// Sources: files of Bitcoin Core, Specter, Coldcard, Passport, Keystone, Electrum, Sparrow,
// Caravan, Ledger Live, Wasabi; BIP388 (wallet policies).

import { throwInvalid } from '../lib/errors.ts';
import type { ScriptType } from './address.ts';
import { withChecksum } from './descriptor.ts';
import {
  isDescriptor,
  isKeyExpression,
  type NamedWallet,
  purposeOf,
  rejectSigner,
  walletOfExpression,
} from './key-expression.ts';
import { refusePrivateMaterial } from './private-material.ts';
import {
  isPolicy,
  type MultisigSigner,
  multisigOf,
  rejectUnsorted,
  walletOfPolicy,
  withoutChange,
} from './wallet-descriptors.ts';

const maxDepth = 12;
const maxValues = 200_000;

type JsonFields = ReadonlyMap<string, unknown>;

interface JsonObject {
  /** The name of the property that holds the object, in the form of `plain`. */
  readonly name: string;
  readonly fields: JsonFields;
}

interface JsonContents {
  readonly nodes: readonly JsonObject[];
  readonly texts: readonly string[];
}

/** One spelling for `bip32Path` and `bip32_path`. */
const plain = (name: string): string => name.toLowerCase().replace(/[\s_-]/g, '');

/** All objects and texts of a file, outer ones first. */
function contentsOf(file: unknown): JsonContents {
  const nodes: JsonObject[] = [];
  const texts: string[] = [];
  const left = [{ name: '', value: file, depth: 0 }];
  for (const { name, value, depth } of left) {
    if (left.length > maxValues || depth > maxDepth)
      throwInvalid('this JSON is too large for a wallet');
    if (typeof value === 'string') texts.push(value.trim());
    if (typeof value !== 'object' || value === null) continue;
    const isList = Array.isArray(value);
    const entries = Object.entries(value);
    for (const [key, each] of entries) {
      left.push({ name: isList ? name : plain(key), value: each, depth: depth + 1 });
    }
    if (!isList) nodes.push({ name, fields: new Map(entries.map(([k, v]) => [plain(k), v])) });
  }
  return { nodes, texts };
}

const textOf = (fields: JsonFields, ...names: readonly string[]): string => {
  const found = names.map((name) => fields.get(name)).find((value) => typeof value === 'string');
  return typeof found === 'string' ? found.trim() : '';
};

const fieldsOf = (value: unknown): JsonFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value).map(([name, each]) => [plain(name), each]))
    : new Map();

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const scriptNames: Readonly<Record<string, ScriptType | 'several'>> = {
  p2pkh: 'p2pkh',
  legacy: 'p2pkh',
  p2shp2wpkh: 'p2sh-p2wpkh',
  p2wpkhp2sh: 'p2sh-p2wpkh',
  nestedsegwit: 'p2sh-p2wpkh',
  p2wpkh: 'p2wpkh',
  nativesegwit: 'p2wpkh',
  segwitextpubkey: 'p2wpkh',
  p2tr: 'p2tr',
  taproot: 'p2tr',
  taprootextpubkey: 'p2tr',
  p2sh: 'several',
  p2wsh: 'several',
  p2shp2wsh: 'several',
  p2wshp2sh: 'several',
};

type StatedType = ScriptType | 'several' | undefined;

/** The script type of a name, purpose or path: `p2wpkh`, `bip84`, `bip48_2`, `m/84h/0h/0h`. */
function statedTypeOf(name: string): StatedType {
  const word = plain(name);
  if (Object.hasOwn(scriptNames, word)) return scriptNames[word];
  const [, purpose] = /^bip(\d\d)(?!\d)/.exec(word) ?? /^bip(48)\d$/.exec(word) ?? [];
  return purposeOf(purpose === undefined ? name : `${purpose}h`);
}

const pathNames = [
  ...['deriv', 'derivation', 'derivationpath', 'path', 'bip32path', 'hdpath', 'keypath'],
  ...['accountkeypath', 'freshaddresspath', 'serializedpath', 'fullpath', 'origin', 'basepath'],
];

const pathOf = ({ fields }: JsonObject): string =>
  textOf(fields, ...pathNames) || textOf(fieldsOf(fields.get('keyderivation')), ...pathNames);

const typeNames = ['scripttype', 'addresstype', 'derivationmode', 'type', 'format'];

/** The accounts of an object, from its keys and the fields beside them. */
function accountsIn(node: JsonObject, root: JsonFields): (NamedWallet | 'several')[] {
  const { name, fields } = node;
  const isElectrum = name === 'keystore' && root.has('wallettype');
  const keys = [...fields].flatMap(([property, value]) =>
    [value].flat().flatMap((each): [string, string][] => {
      const text = typeof each === 'string' ? each.trim() : '';
      return isKeyExpression(text) ? [[property, text]] : [];
    }),
  );
  return keys.flatMap(([property, text]): (NamedWallet | 'several')[] => {
    const stated = [
      statedTypeOf(textOf(root, 'scripttype')),
      statedTypeOf(textOf(fields, `${property}deriv`)),
      statedTypeOf(property),
      statedTypeOf(pathOf(node)),
      statedTypeOf(name),
      ...typeNames.map((each) => statedTypeOf(textOf(fields, each))),
      // Any other name is the user's name of the wallet.
      /^p2/.test(textOf(fields, 'name')) ? statedTypeOf(textOf(fields, 'name')) : undefined,
    ].find((each) => each !== undefined);
    if (stated === 'several') return ['several'];
    if (stated === undefined && /master|root|ckcc/.test(property)) return [];
    const wallet = walletOfExpression(text);
    const scriptType = isElectrum
      ? electrumType(wallet.text, stated)
      : (wallet.scriptType ?? stated);
    return [{ text: wallet.text, ...(scriptType && { scriptType }) }];
  });
}

/** In Electrum, an xpub means P2PKH. Undefined if the path contradicts that. */
function electrumType(key: string, stated: ScriptType | undefined): ScriptType | undefined {
  if (!/^[xt]pub/.test(key)) return stated;
  return stated === undefined || stated === 'p2pkh' ? 'p2pkh' : undefined;
}

const signerOf = (value: unknown): MultisigSigner => {
  const fields = fieldsOf(value);
  const node = { name: '', fields };
  const derivation = fieldsOf(fields.get('keyderivation'));
  return {
    key: textOf(fields, 'xpub', 'extendedpublickey'),
    fingerprint:
      textOf(fields, 'xfp', 'rootfingerprint', 'fingerprint') ||
      textOf(derivation, 'masterfingerprint'),
    path: pathOf(node),
  };
};

/** In Electrum, the prefix of the keys states the script type. */
function electrumMultisig(root: JsonFields): NamedWallet | undefined {
  const [, threshold = '', count = ''] = /^(\d+)of(\d+)$/.exec(textOf(root, 'wallettype')) ?? [];
  if (count === '' && !root.has('x1/')) return undefined;
  const signers = [...root].filter(([name]) => /^x\d+\/$/.test(name));
  const keys = signers.map(([, value]) => signerOf(value));
  const prefixes = new Set(keys.map(({ key }) => key.slice(0, 4)));
  const [prefix = ''] = prefixes.size === 1 ? prefixes : [];
  const format = /[ZV]pub/.test(prefix) ? 'p2wsh' : /[YU]pub/.test(prefix) ? 'p2sh-p2wsh' : 'p2sh';
  return multisigOf({ threshold: +threshold, count: +count, format, signers: keys });
}

function sparrowMultisig(root: JsonFields): NamedWallet | undefined {
  if (!/^multi/i.test(textOf(root, 'policytype'))) return undefined;
  const policy = fieldsOf(root.get('defaultpolicy'));
  const miniscript =
    textOf(fieldsOf(policy.get('miniscript')), 'script') || textOf(policy, 'miniscript');
  const [, sorted = '', threshold = ''] = /(sorted)?multi\((\d+),/.exec(miniscript) ?? [];
  if (threshold !== '' && sorted === '') rejectUnsorted();
  const signers = listOf(root.get('keystores')).map(signerOf);
  const format = textOf(root, 'scripttype');
  return multisigOf({ threshold: +threshold, count: signers.length, format, signers });
}

/** Caravan sorts its keys (BIP67). */
function caravanMultisig(root: JsonFields): NamedWallet | undefined {
  const quorum = fieldsOf(root.get('quorum'));
  if (quorum.size === 0) return undefined;
  return multisigOf({
    threshold: Number(quorum.get('requiredsigners')),
    count: Number(quorum.get('totalsigners')),
    format: textOf(root, 'addresstype'),
    signers: listOf(root.get('extendedpublickeys')).map(signerOf),
  });
}

function policiesIn({ nodes }: JsonContents): NamedWallet[] {
  return nodes.flatMap(({ fields }) => {
    const values = [...fields.values()];
    const templates = values.filter((value) => typeof value === 'string').filter(isPolicy);
    const lists = values.map(listOf).map((list) => list.filter((each) => typeof each === 'string'));
    const keys = lists.find((list) => list.some(isKeyExpression));
    return templates.map((text) => (keys === undefined ? { text } : walletOfPolicy(text, keys)));
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Several JSON objects, one after another.
    if (/\}\s*\n\s*\{/.test(text)) return parseJson(`[${text.replace(/\}\s*\n\s*\{/g, '},{')}]`);
    return throwInvalid(
      'this begins like JSON, and is not: it was cut or changed; copy the whole file',
    );
  }
}

/**
 * @param text JSON
 * @throws PaygateError invalid, also for JSON without the key of a wallet
 */
export function walletsInJson(text: string): readonly NamedWallet[] {
  const file = parseJson(text);
  const contents = contentsOf(file);
  const { nodes, texts } = contents;
  refusePrivateMaterial(texts);
  const root = fieldsOf(file);
  const descriptors = withoutChange([...new Set(texts.filter(isDescriptor))]).map((each) => ({
    text: withChecksum(each),
  }));
  const multisig = electrumMultisig(root) ?? sparrowMultisig(root) ?? caravanMultisig(root);
  if (multisig !== undefined) return [multisig];
  const policies = policiesIn(contents);
  if (policies.length > 0) return policies;
  const found = nodes.flatMap((node) => accountsIn(node, root));
  const wallets = [...descriptors, ...found.filter((each) => each !== 'several')];
  if (wallets.length > 0) return wallets;
  if (found.length > 0) rejectSigner();
  const lists = texts.filter((each) => isKeyExpression(each));
  if (lists.length > 0) return lists.map(walletOfExpression);
  return throwInvalid(
    'this JSON holds no extended public key and no output descriptor of a wallet',
  );
}
