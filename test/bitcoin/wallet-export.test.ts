import { HDKey } from '@scure/bip32';
import { describe, expect, test } from 'vitest';
import { descriptorChecksum } from '../../src/bitcoin/descriptor.ts';
import {
  deriveAddress,
  firstAddresses,
  parseWalletKey,
  possibleWallets,
  type WalletKeyOptions,
} from '../../src/bitcoin/keychain.ts';
import { PaygateError } from '../../src/lib/errors.ts';

const mainnet: WalletKeyOptions = { network: 'mainnet' };
const versions = {
  xpub: 0x0488b21e,
  ypub: 0x049d7cb2,
  zpub: 0x04b24746,
  Ypub: 0x0295b43f,
  Zpub: 0x02aa7ed3,
  tpub: 0x043587cf,
};

/** A public account of an invented wallet, in each spelling of SLIP-132. */
function account(number: number, prefix: keyof typeof versions = 'xpub', depth = 3): string {
  const { publicKey, chainCode } = HDKey.fromMasterSeed(new Uint8Array(32).fill(number));
  if (publicKey === null || chainCode === null) throw new Error('a seed without a key');
  const place = depth === 0 ? { depth } : { depth, index: 2 ** 31, parentFingerprint: 1 };
  return new HDKey({
    publicKey,
    chainCode,
    ...place,
    versions: { private: 0, public: versions[prefix] },
  }).publicExtendedKey;
}

const key = account(1);
const signed = (body: string) => `${body}#${descriptorChecksum(body)}`;
const json = (value: unknown) => JSON.stringify(value, undefined, 2);

function refusalOf(text: string, options = mainnet): string {
  try {
    parseWalletKey(text, options);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(PaygateError);
    const { message } = thrown as PaygateError;
    expect(message).not.toMatch(/pub\w{12}/);
    return message;
  }
  throw new Error(`taken: ${text}`);
}

const types = { p2pkh: 44, 'p2sh-p2wpkh': 49, p2wpkh: 84, p2tr: 86 } as const;
type Type = keyof typeof types;
const typeNames = Object.keys(types) as Type[];
const walletOf = (scriptType: Type, number = 1) =>
  parseWalletKey(account(number), { ...mainnet, scriptType });
const native = walletOf('p2wpkh');
const expectNative = (text: string) => {
  const found = parseWalletKey(text, mainnet);
  expect([found.descriptor, found.scriptType]).toEqual([native.descriptor, 'p2wpkh']);
  expect(possibleWallets(text, mainnet).map(({ descriptor }) => descriptor)).toEqual([
    native.descriptor,
  ]);
  // The stored row gives the same wallet.
  const { account: kept, scriptType } = found;
  expect(parseWalletKey(kept, { ...mainnet, scriptType }).descriptor).toBe(native.descriptor);
  expect(kept).not.toMatch(/\s/);
};

describe('a key with its origin', () => {
  test.each(typeNames)('the path says %s', (scriptType) => {
    for (const mark of ['h', "'", 'H']) {
      const origin = `[73c5da0a/${types[scriptType]}${mark}/0${mark}/7${mark}]`;
      for (const path of ['', '/0/*', '/<0;1>/*', '/**']) {
        const found = parseWalletKey(
          `${origin.toUpperCase().replaceAll('H', mark)}${key}${path}`,
          mainnet,
        );
        expect(found.descriptor).toBe(walletOf(scriptType).descriptor);
        expect(found.account).toBe(key);
      }
    }
  });

  test.each(['48h/0h/0h/2h', "48'/0'/0'/1'", '45h', '87h/0h/0h'])('%s: a signer’s', (path) => {
    expect(refusalOf(`[73c5da0a/${path}]${account(1, 'xpub', 4)}`)).toContain(
      'one signer of a multisig',
    );
  });

  test('a key without a script type is an error that asks for it', () => {
    for (const origin of [
      '',
      '[73c5da0a]',
      '[73c5da0a/0h]',
      '[73c5da0a/84/0/0]',
      '[73c5da0a/1h/2h]',
    ]) {
      expect(refusalOf(`${origin}${key}/0/*`)).toContain('Give --script with the type');
    }
  });

  test('contradictions', () => {
    expect(refusalOf(`[73c5da0a/49h/0h/0h]${account(1, 'zpub')}`)).toContain(
      'for p2wpkh addresses, not for',
    );
    const options = { ...mainnet, scriptType: 'p2tr' } as const;
    expect(refusalOf(`[73c5da0a/84h/0h/0h]${key}`, options)).toContain('by its path, for p2wpkh');
  });

  test('other paths behind it', () => {
    for (const path of ['/0', '/*', '/1/*', '/0/0', '/<1;0>/*', '/0/*h', '/0h/*']) {
      expect(refusalOf(`[73c5da0a/84h/0h/0h]${key}${path}`)).toContain('another path behind it');
    }
    expect(refusalOf(`[84h/0h/0h]${key}`)).toContain('in brackets');
  });
});

describe('text around a key or descriptor', () => {
  const origin = '[73c5da0a/84h/0h/0h]';
  const receive = signed(`wpkh(${origin}${key}/0/*)`);
  const change = signed(`wpkh(${origin}${key}/1/*)`);
  const both = signed(`wpkh(${origin}${key}/<0;1>/*)`);

  test.each([
    '\u200b',
    '\ufeff',
    '\u00a0',
    '\u00ad',
    '\u2060',
    '\u200e',
    '\u3164',
    '\u2800',
    '\ufe0f',
    '\r\n',
    '\u0000',
  ])('invisible characters: %j', (unseen) => {
    for (const text of [receive, account(1, 'zpub'), `${origin}${key}`]) {
      for (const around of [
        `${text}${unseen}`,
        `${unseen}${text}`,
        ` ${unseen}"${text}"${unseen} `,
      ]) {
        expectNative(around);
      }
      if (unseen.trim() === '') continue;
      const broken = refusalOf(text.slice(0, 60) + unseen + text.slice(60));
      expect(broken).toMatch(/does not show \(U\+[0-9A-F]{4}\)/);
    }
  });

  test.each([
    ['a label', (text: string) => `Receive: ${text}`],
    ['a label with more', (text: string) => `My account #0 (native) = ${text}`],
    [
      'a sentence',
      (text: string) => `Here is the account public key of the wallet for our shop: ${text}`,
    ],
    ['quotes', (text: string) => `"${text}"`],
    ['typographic quotes', (text: string) => `“${text}”`],
    ['code', (text: string) => `\`${text}\``],
    ['a fence', (text: string) => `\`\`\`\n${text}\n\`\`\``],
    ['a full stop', (text: string) => `${text}.`],
    ['typographic apostrophes', (text: string) => text.replaceAll(/h(?=[/\]])/g, '’')],
    ['a space behind the origin', (text: string) => text.replace(/^(\[.*\])/, '$1 ')],
    [
      'a command',
      (text: string) =>
        `# For Core\n\nimportdescriptors '[{"desc": "${text}", "range": [0, 1000]}]'\n`,
    ],
    ['a sentence and an object', (text: string) => `My export:\n{"key": "${text}"}\nThanks`],
    ['two objects', (text: string) => `{"descriptor":"${text}"}\n{"again":"${text}"}\n`],
    ['a property', (text: string) => `"xpub": "${text}",`],
    ['an object', (text: string) => `{"xpub": "${text}"}`],
    ['a list', (text: string) => `["${text}"]`],
    ['comments', (text: string) => `# Receive\n\n${text}\n# end\n`],
  ])('%s', (_, around) => {
    for (const text of [receive, both, account(1, 'zpub'), `${origin}${key}/0/*`]) {
      expectNative(around(text));
    }
  });

  test('receive and change are one wallet', () => {
    for (const texts of [
      [receive, change],
      [change, receive],
      [both, receive, change],
      [`Receive: ${receive}`, `Change: ${change}`],
      [
        '# Receive and change descriptor (BIP389):',
        both,
        '',
        '# Receive:',
        receive,
        '# Change:',
        change,
      ],
    ]) {
      for (const between of ['\n', '\r\n', '\n\n']) expectNative(texts.join(between));
    }
    expectNative(`${receive} ${change}`);
    expect(refusalOf(change)).toContain('receive branch');
    expect(refusalOf(`${receive}\n${signed(`wpkh(${account(2)}/1/*)`)}`)).toContain(
      'different keys',
    );
    expect(refusalOf(`${receive}\n${change.replace(/.$/, 'q')}`)).toContain('checksum');
    const other = signed(`wpkh(${account(2)}/0/*)`);
    expect(refusalOf(`${receive}\n${other}`)).toContain('several wallets of one kind');
  });

  test('other text beside it', () => {
    for (const text of [
      `${receive}\nThank you!`,
      `${account(1, 'zpub')} (native)`,
      `${key} is it`,
    ]) {
      expect(refusalOf(text)).toContain('there is other text beside');
    }
  });

  test('a hardened step in a notation other than that of the checksum', () => {
    const written = signed(`wpkh([73c5da0a/84h/0h/0h]${key}/0/*)`);
    for (const mark of ["'", 'H']) {
      const text = written.replaceAll('h/', `${mark}/`).replace('h]', `${mark}]`);
      expectNative(text);
      expect(parseWalletKey(text, mainnet).account).toBe(written);
    }
    const apostrophes = signed(`wpkh([73c5da0a/84'/0'/0']${key}/0/*)`);
    expectNative(apostrophes.replaceAll("'", 'h'));
    expect(refusalOf(written.replace('84h', '85h'))).toContain(
      'checksum of this output descriptor is wrong',
    );
  });

  test.each([
    ['words', 'Here you are, I do hope that it helps'],
    ['a comment and words', '# Multisig setup file\nnothing else here'],
    [
      'an address book',
      'Index,Payment Address,Derivation\n0,bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu,m/84',
    ],
    ['a code of QR', 'UR:CRYPTO-ACCOUNT/OEADCYJKSKTNBKAOLSTAADMWTA'],
    ['HTML', '<p>xpub</p>'],
    ['the name of a file', '/home/me/wallet.json'],
    ['the path of a key', "m/84'/0'/0'"],
    ['numbers', '1234567890'],
    ['broken JSON', `{"xpub": "${key}"`],
    ['JSON without a key', '{"name":"shop"}'],
    ['deep JSON', `${'['.repeat(50_000)}`],
    ['deep JSON that is whole', `${'[['.repeat(5_000)}${']]'.repeat(5_000)}`],
    ['much JSON', JSON.stringify(Array.from({ length: 30_000 }, () => 1))],
    ['much text', 'a '.repeat(200_000)],
  ])('%s: no checksum is wrong there', (_, text) => {
    expect(refusalOf(text)).not.toContain('checksum');
  });
});

describe('SLIP-132 in a descriptor', () => {
  test('where prefix and script agree', () => {
    expectNative(signed(`wpkh([73c5da0a/84h/0h/0h]${account(1, 'zpub')}/0/*)`));
    const nested = parseWalletKey(signed(`sh(wpkh(${account(1, 'ypub')}/0/*))`), mainnet);
    expect(nested.descriptor).toBe(walletOf('p2sh-p2wpkh').descriptor);
    for (const [prefix, template] of [
      ['Zpub', (inner: string) => `wsh(${inner})`],
      ['Ypub', (inner: string) => `sh(wsh(${inner}))`],
    ] as const) {
      const of = (as: 'xpub' | 'Zpub' | 'Ypub') => {
        const keys = [1, 2].map((number) => `${account(number, as, 4)}/0/*`);
        return parseWalletKey(signed(template(`sortedmulti(2,${keys})`)), mainnet).descriptor;
      };
      expect(of(prefix)).toBe(of('xpub'));
    }
  });

  test('where they contradict each other', () => {
    for (const [body, said] of [
      [`wpkh(${account(1, 'ypub')}/0/*)`, 'a ypub in it is for p2sh-p2wpkh'],
      [`pkh(${account(1, 'zpub')}/0/*)`, 'a zpub in it is for p2wpkh'],
      [`tr(${account(1, 'zpub')}/0/*)`, 'a zpub in it is for p2wpkh'],
      [`wpkh(${account(1, 'Zpub')}/0/*)`, 'a Zpub in it is for p2wsh'],
      [`wsh(sortedmulti(1,${account(1, 'Ypub')}/0/*))`, 'a Ypub in it is for p2sh-p2wsh'],
      [`sh(wsh(sortedmulti(1,${account(1, 'zpub')}/0/*)))`, 'a zpub in it is for p2wpkh'],
    ] as const) {
      expect(refusalOf(signed(body))).toContain(said);
    }
  });
});

describe('keys of different shapes', () => {
  const shapes = ['', '/0/*', '/<0;1>/*', '/**'];
  const pairs = shapes.flatMap((one) => shapes.map((other) => [one, other] as const));
  test.each(pairs)('%j and %j', (one, other) => {
    const keys = [`${account(1)}${one}`, `${account(2)}${other}`];
    for (const body of [`wsh(sortedmulti(1,${keys}))`, `sh(wsh(sortedmulti(2,${keys})))`]) {
      if (one === other && one !== '') {
        expect(firstAddresses(parseWalletKey(signed(body), mainnet), 1)[0]).toMatch(/^(bc1q|3)/);
      } else {
        expect(refusalOf(signed(body))).toMatch(/different paths|has no path/);
      }
    }
  });

  test('a single key without a path is one address, and refused', () => {
    for (const body of [`pkh(${key})`, `sh(wpkh(${key}))`, `wpkh(${key})`, `tr(${key})`]) {
      expect(refusalOf(signed(body))).toContain('a single address');
      expect(refusalOf(body)).toContain('a single address');
    }
  });
});

describe('a missing checksum is the last error', () => {
  test.each([
    ['another template', `pk(${key}/0/*)`, 'not an output descriptor that'],
    ['another path', `wpkh(${key}/1/*)`, 'receive branch'],
    ['another network', `wpkh(${account(1, 'tpub')}/0/*)`, 'this tpub is of'],
    ['a policy', 'wpkh(@0/**)', 'wallet policy (BIP388)'],
    ['a cut one', `wpkh(${key}/0/`, 'cut or changed'],
    ['nothing else', `wpkh(${key}/0/*)`, 'has no checksum'],
  ])('%s', (_, text, said) => expect(refusalOf(text)).toContain(said));
});

const path = "m/84'/0'/0'";
const single: [string, unknown][] = [
  [
    'Specter',
    {
      label: 'w',
      blockheight: 1,
      descriptor: signed(`wpkh(${key}/0/*)`),
      devices: [{ type: 'coldcard' }],
    },
  ],
  [
    'an old Specter',
    { recv_descriptor: signed(`wpkh(${key}/0/*)`), change_descriptor: signed(`wpkh(${key}/1/*)`) },
  ],
  [
    'Core’s getdescriptorinfo',
    {
      descriptor: signed(`wpkh(${key}/0/*)`),
      checksum: 'aaaaaaaa',
      isrange: true,
      hasprivatekeys: false,
    },
  ],
  [
    'Core’s listdescriptors',
    {
      wallet_name: 'w',
      descriptors: [
        {
          desc: signed(`wpkh([73c5da0a/84h/0h/0h]${key}/0/*)`),
          active: true,
          internal: false,
          range: [0, 999],
        },
        {
          desc: signed(`wpkh([73c5da0a/84h/0h/0h]${key}/1/*)`),
          active: true,
          internal: true,
          range: [0, 999],
        },
      ],
    },
  ],
  [
    'Electrum, hardware',
    {
      keystore: {
        type: 'hardware',
        hw_type: 'ledger',
        derivation: path,
        root_fingerprint: '73c5da0a',
        xpub: account(1, 'zpub'),
      },
      wallet_type: 'standard',
      seed_version: 59,
    },
  ],
  [
    'Electrum, watching',
    {
      keystore: {
        type: 'bip32',
        xpub: account(1, 'zpub'),
        xprv: null,
        seed: null,
        derivation: null,
      },
      wallet_type: 'standard',
      addresses: { receiving: ['bc1q'] },
    },
  ],
  [
    'Coldcard’s skeleton for Electrum',
    {
      keystore: {
        ckcc_xpub: account(9, 'xpub', 0),
        derivation: path,
        hw_type: 'coldcard',
        type: 'hardware',
        xpub: account(1, 'zpub'),
      },
      seed_version: 17,
      wallet_type: 'standard',
    },
  ],
  [
    'Sparrow',
    {
      name: 'w',
      network: 'mainnet',
      policyType: 'SINGLE',
      scriptType: 'P2WPKH',
      defaultPolicy: { name: 'Default', miniscript: { script: 'wpkh(keystore1)' } },
      keystores: [
        {
          label: 'k',
          source: 'HW_AIRGAPPED',
          walletModel: 'COLDCARD',
          keyDerivation: { masterFingerprint: '73c5da0a', derivationPath: path },
          extendedPublicKey: key,
        },
      ],
    },
  ],
  [
    'Cobo, Keystone, BlueWallet',
    { ExtPubKey: account(1, 'zpub'), MasterFingerprint: '73C5DA0A', AccountKeyPath: "84'/0'/0'" },
  ],
  ['Keystone', { xfp: '73c5da0a', keys: [{ path, xpub: key }] }],
  [
    'Ledger Live',
    {
      index: 0,
      freshAddressPath: "84'/0'/0'/0/3",
      id: 'libcore:1:bitcoin:…',
      xpub: key,
      derivationMode: 'native_segwit',
    },
  ],
  ['Trezor', { path: [1, 2], serializedPath: path, xpub: key, xpubSegwit: account(1, 'zpub') }],
  ['Wasabi', { EncryptedSecret: null, SegwitExtPubKey: key, SegwitAccountKeyPath: path }],
  [
    'a policy with its keys',
    { name: 'w', descriptor_template: 'wpkh(@0/**)', keys_info: [`[73c5da0a/84'/0'/0']${key}`] },
  ],
  ['an expression', { descriptor: null, key: `[73c5da0a/84'/0'/0']${key}` }],
];

describe('the files of one key', () => {
  test.each(single)('%s', (_, file) => {
    expectNative(JSON.stringify(file));
    expectNative(json(file));
  });

  const generic = {
    chain: 'BTC',
    xfp: '73C5DA0A',
    xpub: account(9, 'xpub', 0),
    account: 0,
    bip44: { name: 'p2pkh', deriv: "m/44'/0'/0'", xpub: account(4), first: '1…' },
    bip49: {
      name: 'p2sh-p2wpkh',
      deriv: "m/49'/0'/0'",
      xpub: account(5),
      _pub: account(5, 'ypub'),
    },
    bip84: {
      name: 'p2wpkh',
      deriv: path,
      xpub: key,
      _pub: account(1, 'zpub'),
      desc: signed(`wpkh([73c5da0a/84h/0h/0h]${key}/0/*)`),
    },
    bip48_1: { name: 'p2sh-p2wsh', deriv: "m/48'/0'/0'/1'", xpub: account(6, 'xpub', 4) },
    bip48_2: { name: 'p2wsh', deriv: "m/48'/0'/0'/2'", xpub: account(7, 'xpub', 4) },
  };

  test('several accounts: the error lists their first addresses', () => {
    const message = refusalOf(json(generic));
    const expected = [walletOf('p2pkh', 4), walletOf('p2sh-p2wpkh', 5), native];
    for (const wallet of expected) {
      expect(message).toContain(`${wallet.scriptType.padEnd(12)} ${firstAddresses(wallet, 1)}`);
      const { scriptType } = wallet;
      expect(parseWalletKey(json(generic), { ...mainnet, scriptType }).descriptor).toBe(
        wallet.descriptor,
      );
    }
    expect(message).toContain('several accounts. Give --script');
    expect(possibleWallets(json(generic), mainnet)).toHaveLength(3);
    expect(refusalOf(json(generic), { ...mainnet, scriptType: 'p2tr' })).toContain(
      'no account for p2tr',
    );
  });

  test('only the keys of a signer', () => {
    const { bip48_1, bip48_2 } = generic;
    expect(refusalOf(json({ bip48_1, bip48_2 }))).toContain('one signer of a multisig');
    const ccxp = {
      p2wsh_deriv: "m/48'/0'/0'/2'",
      p2wsh: account(7, 'Zpub', 4),
      p2sh_deriv: "m/45'",
      p2sh: account(8),
      xfp: '73C5DA0A',
    };
    expect(refusalOf(json(ccxp))).toContain('one signer of a multisig');
  });

  test('Electrum’s xpub is P2PKH, and ambiguous if its path contradicts', () => {
    const electrum = (derivation: string | null) =>
      json({ wallet_type: 'standard', keystore: { xpub: key, derivation } });
    expect(parseWalletKey(electrum(null), mainnet).scriptType).toBe('p2pkh');
    expect(parseWalletKey(electrum("m/44'/0'/0'"), mainnet).scriptType).toBe('p2pkh');
    expect(refusalOf(electrum(path))).toContain('Give --script');
  });

  test('the version of each key counts before the path beside it', () => {
    const wasabi = json({
      ExtPubKey: key,
      AccountKeyPath: "84'/0'/0'",
      TaprootExtPubKey: account(2),
      TaprootAccountKeyPath: "86'/0'/0'",
    });
    for (const [scriptType, expected] of [
      ['p2wpkh', native],
      ['p2tr', walletOf('p2tr', 2)],
    ] as const) {
      expect(parseWalletKey(wasabi, { ...mainnet, scriptType }).descriptor).toBe(
        expected.descriptor,
      );
    }
    expect(possibleWallets(wasabi, mainnet)).toHaveLength(2);
  });

  describe('a key without a type beside others', () => {
    const found = (text: string, scriptType: Type) =>
      parseWalletKey(text, { ...mainnet, scriptType }).descriptor;
    const offered = (text: string) =>
      possibleWallets(text, mainnet).map(({ scriptType, keys }) => [
        scriptType,
        three.find(
          (number) =>
            walletOf('p2wpkh', number).keys[0]?.publicKey.join() === keys[0]?.publicKey.join(),
        ),
      ]);
    const three = [1, 2, 3];

    test.each([
      ['Coldcard’s edge firmware', json({ ExtPubKey: key, TaprootExtPubKey: account(2) })],
      ['with other words', json({ a: { xpub: key }, b: { xpub: account(2), type: 'p2tr' } })],
      ['a list', json({ taproot: account(2), keys: [key] })],
      ['lines', `${key}\n[73c5da0a/86h/0h/0h]${account(2)}`],
      ['a descriptor', json({ xpub: key, desc: signed(`tr(${account(2)}/0/*)`) })],
      [
        'another multisig wallet',
        json({ zpub: account(2, 'zpub'), desc: signed(`wsh(sortedmulti(1,${account(3)}/0/*))`) }),
      ],
    ])('%s: both are offered', (what, text) => {
      if (what === 'another multisig wallet') {
        expect(offered(text)).toEqual([
          ['p2wsh', 3],
          ['p2wpkh', 2],
        ]);
        expect(refusalOf(text)).toContain('several accounts. Give --script');
        return;
      }
      expect(offered(text)).toEqual([
        ['p2tr', 2],
        ['p2pkh', 1],
        ['p2sh-p2wpkh', 1],
        ['p2wpkh', 1],
      ]);
      const message = refusalOf(text);
      expect(message).toContain('several accounts. Give --script');
      for (const wallet of [walletOf('p2tr', 2), native]) {
        expect(message).toContain(`${wallet.scriptType.padEnd(12)} ${firstAddresses(wallet, 1)}`);
      }
      expect(found(text, 'p2wpkh')).toBe(native.descriptor);
      expect(found(text, 'p2tr')).toBe(walletOf('p2tr', 2).descriptor);
    });

    test('the accounts of one wallet as xpub, ypub and zpub', () => {
      const accounts = [account(1), account(2, 'ypub'), account(3, 'zpub')];
      for (const text of [accounts.join('\n'), json({ accounts }), json(accounts)]) {
        expect(offered(text)).toEqual([
          ['p2sh-p2wpkh', 2],
          ['p2wpkh', 3],
          ['p2pkh', 1],
          ['p2tr', 1],
        ]);
        expect(refusalOf(text)).toContain('several accounts. Give --script');
        expect(found(text, 'p2pkh')).toBe(walletOf('p2pkh').descriptor);
      }
    });

    test('the same key in three spellings, of which none counts more', () => {
      const spellings = [key, account(1, 'ypub'), account(1, 'zpub')];
      for (const text of [spellings.join('\n'), json({ spellings })]) {
        expect(offered(text).map(([type]) => type)).toEqual([
          ...['p2sh-p2wpkh', 'p2wpkh', 'p2pkh', 'p2tr'],
        ]);
        for (const type of typeNames) expect(found(text, type)).toBe(walletOf(type).descriptor);
      }
      // One spelling with a type says what the xpub beside it is.
      expectNative(`${key}\n${account(1, 'zpub')}`);
      expectNative(json({ xpub: key, zpub: account(1, 'zpub') }));
      expectNative(json({ xpub: key, desc: signed(`wpkh(${key}/0/*)`) }));
    });

    test('several of them: the reason says what is missing', () => {
      const accounts = three.map((number) => account(number));
      for (const text of [accounts.join('\n'), json({ accounts }), json(accounts)]) {
        for (const options of [mainnet, { ...mainnet, scriptType: 'p2wpkh' } as const]) {
          expect(refusalOf(text, options)).toContain('several keys that do not say which kind');
        }
      }
      const zpubs = json(three.map((number) => account(number, 'zpub')));
      expect(refusalOf(zpubs)).toContain('several wallets of one kind');
      const mixed = [account(1), account(2), account(3, 'zpub')].join('\n');
      expect(refusalOf(mixed)).toContain('several keys that do not say which kind');
      expect(found(mixed, 'p2wpkh')).toBe(walletOf('p2wpkh', 3).descriptor);
    });

    test('the master key of the others, a key of another depth or network: none of them', () => {
      const zpub = account(1, 'zpub');
      for (const xpub of [account(9, 'xpub', 0), account(9, 'xpub', 4), account(9, 'tpub')]) {
        expectNative(json({ xpub, zpub }));
      }
      expectNative(json({ xpub: account(9, 'xpub', 0), desc: signed(`wpkh(${key}/0/*)`) }));
      const master = json({ xpub: account(9, 'xpub', 0) });
      expect(refusalOf(master)).toContain('Give --script');
      expect(refusalOf(json({ xpub: account(9, 'xpub', 0), other: key }))).toContain(
        'Give --script',
      );
      expect(refusalOf(json({ xpub: account(9, 'tpub'), tpub: account(8, 'tpub') }))).toContain(
        'this tpub is of',
      );
    });

    test('a mistyped key is never left out', () => {
      const mistyped = account(2).replace(/.$/, (last) => (last === '1' ? '2' : '1'));
      for (const text of [
        `${account(1, 'zpub')}\n${mistyped}`,
        json({ zpub: account(1, 'zpub'), taproot: mistyped }),
      ]) {
        expect(refusalOf(text)).toContain('mistyped: its checksum is wrong');
      }
    });
  });

  test('the name of a wallet has no meaning', () => {
    expect(refusalOf(json({ name: 'Taproot', xpub: key }))).toContain('Give --script');
  });

  test('a policy on lines of its own', () => {
    expectNative(`wpkh(@0/**)\n@0: [73c5da0a/84'/0'/0']${key}`);
    expectNative(`wpkh(@0/<0;1>/*)\n[73c5da0a/84'/0'/0']${key}/**\n`);
    expect(refusalOf(json({ descriptor_template: 'wpkh(@0/**)' }))).toContain(
      'wallet policy (BIP388)',
    );
    expect(refusalOf(`wsh(sortedmulti(2,@0/**,@1/**))\n${key}`)).toContain('no key @1');
  });

  test('two policies are two accounts', () => {
    const keys_info = [`[73c5da0a/84'/0'/0']${key}`, account(2)];
    const [one, other] = ['wpkh(@0/**)', 'tr(@1/**)'];
    for (const text of [[one, other, ...keys_info].join('\n'), json({ one, other, keys_info })]) {
      expect(refusalOf(text)).toContain('several accounts. Give --script');
      expect(parseWalletKey(text, { ...mainnet, scriptType: 'p2tr' }).descriptor).toBe(
        walletOf('p2tr', 2).descriptor,
      );
    }
  });
});

describe('the files of several keys', () => {
  const signer = (number: number, prefix: 'xpub' | 'Zpub' = 'xpub') => account(number, prefix, 4);
  const three = [1, 2, 3];
  const expected = parseWalletKey(
    signed(`wsh(sortedmulti(2,${three.map((number) => `${signer(number)}/<0;1>/*`)}))`),
    mainnet,
  );
  const expectVault = (text: string) => {
    const found = parseWalletKey(text, mainnet);
    expect(found.descriptor).toBe(expected.descriptor);
    expect(parseWalletKey(found.account, mainnet).descriptor).toBe(expected.descriptor);
    expect(deriveAddress(found, 0, 3)).toEqual(deriveAddress(expected, 0, 3));
  };
  const signerPath = "m/48'/0'/0'/2'";

  test.each(['P2WSH', 'P2SH-P2WSH', 'P2WSH-P2SH'])('Coldcard’s setup file, %s', (format) => {
    const file = (count: number, policy = '2 of 3') =>
      [
        '# Coldcard Multisig setup file (created on 73C5DA0A)',
        '#',
        'Name: Vault',
        `Policy: ${policy}`,
        `Derivation: ${signerPath}`,
        `Format: ${format}`,
        '',
        ...three.slice(0, count).map((number) => `73C5DA0${number}: ${signer(number)}`),
      ].join('\r\n');
    if (format === 'P2WSH') expectVault(file(3));
    const found = parseWalletKey(file(3), mainnet);
    expect(found).toMatchObject({
      scriptType: format === 'P2WSH' ? 'p2wsh' : 'p2sh-p2wsh',
      threshold: 2,
    });
    expect(found.account).toContain('[73c5da01/48h/0h/0h/2h]xpub');
    expect(refusalOf(file(2))).toContain('says that it has 3 keys, and holds 2');
    expect(refusalOf(file(3, '?'))).toContain('how many of its keys must sign');
    expect(refusalOf(file(3).replace(/P2\S*$/m, 'P2SH'))).toContain('another format');
    for (const line of ['BIP-67: No', 'Sorted: False', 'sorted: 0']) {
      expect(refusalOf(`${file(3)}\r\n${line}`)).toContain('does not sort its keys');
    }
    expect(parseWalletKey(`${file(3)}\r\nSorted: True`, mainnet).threshold).toBe(2);
  });

  test('a derivation for each key', () => {
    const keys = three.flatMap((number) => [
      `Derivation: m/48'/0'/${number}'/2'`,
      `73C5DA0A: ${signer(number)}`,
    ]);
    const text = ['Name: V', 'Policy: 2 of 3', 'Format: P2WSH', ...keys].join('\n');
    expectVault(text);
    expect(parseWalletKey(text, mainnet).account).toContain('[73c5da0a/48h/0h/3h/2h]');
  });

  test('Electrum', () => {
    const file = (prefix: 'xpub' | 'Zpub') =>
      json({
        wallet_type: '2of3',
        ...Object.fromEntries(
          three.map((number) => [
            `x${number}/`,
            { xpub: signer(number, prefix), xprv: null, derivation: signerPath },
          ]),
        ),
      });
    expectVault(file('Zpub'));
    expect(refusalOf(file('xpub'))).toContain('another format than P2WSH');
  });

  test('Electrum with a second factor: the error names what is missing', () => {
    const file = {
      wallet_type: '2fa',
      'x1/': { xpub: signer(1, 'Zpub') },
      'x2/': { xpub: signer(2, 'Zpub') },
    };
    expect(refusalOf(json(file))).toContain('how many of its keys must sign');
  });

  test('Sparrow', () => {
    const file = (script: string) =>
      json({
        policyType: 'MULTI',
        scriptType: 'P2WSH',
        defaultPolicy: { miniscript: { script } },
        keystores: three.map((number) => ({
          keyDerivation: { masterFingerprint: '73c5da0a', derivationPath: signerPath },
          extendedPublicKey: signer(number),
        })),
      });
    expectVault(file('wsh(sortedmulti(2,keystore1,keystore2,keystore3))'));
    expect(refusalOf(file('wsh(multi(2,keystore1,keystore2,keystore3))'))).toContain(
      'does not sort its keys',
    );
    expect(refusalOf(file('wsh(other)'))).toContain('must sign');
  });

  test('Caravan', () => {
    const file = (addressType: string, count = 3) =>
      json({
        name: 'Vault',
        addressType,
        network: 'mainnet',
        client: { type: 'public' },
        quorum: { requiredSigners: 2, totalSigners: 3 },
        extendedPublicKeys: three.slice(0, count).map((number) => ({
          name: 'One',
          bip32Path: signerPath,
          xpub: signer(number),
          xfp: '73c5da0a',
          method: 'ledger',
        })),
        startingAddressIndex: 0,
      });
    expectVault(file('P2WSH'));
    expect(parseWalletKey(file('P2SH-P2WSH'), mainnet).scriptType).toBe('p2sh-p2wsh');
    expect(refusalOf(file('P2SH'))).toContain('another format');
    expect(refusalOf(file('P2WSH', 1))).toContain('says that it has 3 keys, and holds 1');
  });

  test('a policy with its keys', () => {
    const keys = three.map((number) => `[73c5da0a/48'/0'/0'/2']${signer(number)}`);
    const template = 'wsh(sortedmulti(2,@0/**,@1/**,@2/**))';
    expectVault(json({ name: 'v', policy: template, keys }));
    expectVault([template, ...keys].join('\n'));
  });

  test('BSMS (BIP129)', () => {
    const body = `wsh(sortedmulti(2,${three.map((number) => `[73c5da0a/48'/0'/0'/2']${signer(number)}/**`)}))`;
    const [first = ''] = firstAddresses(expected, 1);
    expectVault(['BSMS 1.0', body, '/0/*,/1/*', first].join('\n'));
    expectVault(['BSMS 1.0', signed(body), '/0/*,/1/*', first].join('\r\n'));
    const own = body.replaceAll('/**', '/<0;1>/*');
    expectVault(['BSMS 1.0', own, 'No path restrictions', first].join('\n'));
    expectVault(['BSMS 1.0', body, '/0/*,/1/*', first.toUpperCase()].join('\n'));
    const [, second = ''] = firstAddresses(expected, 2);
    expect(refusalOf(['BSMS 1.0', body, '/0/*,/1/*', second].join('\n'))).toContain(
      'the first address in this file',
    );
    expect(refusalOf(['BSMS 1.0', body, '/3/*,/4/*', first].join('\n'))).toContain('other paths');
    const record = ['BSMS 1.0', '00', `[73c5da0a/48'/0'/0'/2']${signer(1)}`, 'Signer 1', 'H8DY='];
    expect(refusalOf(record.join('\n'))).toContain('one signer of a multisig');
  });
});
