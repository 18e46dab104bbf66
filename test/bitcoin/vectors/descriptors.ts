// Vectors of the BIPs about several keys and output descriptors, as far as paygate takes such.
// https://github.com/bitcoin/bips: 67, 380, 381, 382, 383, 386, 389. Their private keys are public.

import type { ScriptType } from '../../../src/bitcoin/address.ts';

/** BIP67; each script asks for two signatures. */
export const bip67 = [
  {
    list: [
      '02ff12471208c14bd580709cb2358d98975247d8765f92bc25eab3b2763ed605f8',
      '02fe6f0a5a297eb38c391581c4413e084773ea23954d93f7753db7dc0adc188b2f',
    ],
    sorted: [
      '02fe6f0a5a297eb38c391581c4413e084773ea23954d93f7753db7dc0adc188b2f',
      '02ff12471208c14bd580709cb2358d98975247d8765f92bc25eab3b2763ed605f8',
    ],
    script:
      '522102fe6f0a5a297eb38c391581c4413e084773ea23954d93f7753db7dc0adc188b2f2102ff12471208c14bd580709cb2358d98975247d8765f92bc25eab3b2763ed605f852ae',
    address: '39bgKC7RFbpoCRbtD5KEdkYKtNyhpsNa3Z',
  },
  {
    list: [
      '02632b12f4ac5b1d1b72b2a3b508c19172de44f6f46bcee50ba33f3f9291e47ed0',
      '027735a29bae7780a9755fae7a1c4374c656ac6a69ea9f3697fda61bb99a4f3e77',
      '02e2cc6bd5f45edd43bebe7cb9b675f0ce9ed3efe613b177588290ad188d11b404',
    ],
    sorted: [
      '02632b12f4ac5b1d1b72b2a3b508c19172de44f6f46bcee50ba33f3f9291e47ed0',
      '027735a29bae7780a9755fae7a1c4374c656ac6a69ea9f3697fda61bb99a4f3e77',
      '02e2cc6bd5f45edd43bebe7cb9b675f0ce9ed3efe613b177588290ad188d11b404',
    ],
    script:
      '522102632b12f4ac5b1d1b72b2a3b508c19172de44f6f46bcee50ba33f3f9291e47ed021027735a29bae7780a9755fae7a1c4374c656ac6a69ea9f3697fda61bb99a4f3e772102e2cc6bd5f45edd43bebe7cb9b675f0ce9ed3efe613b177588290ad188d11b40453ae',
    address: '3CKHTjBKxCARLzwABMu9yD85kvtm7WnMfH',
  },
  {
    list: [
      '030000000000000000000000000000000000004141414141414141414141414141',
      '020000000000000000000000000000000000004141414141414141414141414141',
      '020000000000000000000000000000000000004141414141414141414141414140',
      '030000000000000000000000000000000000004141414141414141414141414140',
    ],
    sorted: [
      '020000000000000000000000000000000000004141414141414141414141414140',
      '020000000000000000000000000000000000004141414141414141414141414141',
      '030000000000000000000000000000000000004141414141414141414141414140',
      '030000000000000000000000000000000000004141414141414141414141414141',
    ],
    script:
      '522102000000000000000000000000000000000000414141414141414141414141414021020000000000000000000000000000000000004141414141414141414141414141210300000000000000000000000000000000000041414141414141414141414141402103000000000000000000000000000000000000414141414141414141414141414154ae',
    address: '32V85igBri9zcfBRVupVvwK18NFtS37FuD',
  },
  {
    list: [
      '022df8750480ad5b26950b25c7ba79d3e37d75f640f8e5d9bcd5b150a0f85014da',
      '03e3818b65bcc73a7d64064106a859cc1a5a728c4345ff0b641209fba0d90de6e9',
      '021f2f6e1e50cb6a953935c3601284925decd3fd21bc445712576873fb8c6ebc18',
    ],
    sorted: [
      '021f2f6e1e50cb6a953935c3601284925decd3fd21bc445712576873fb8c6ebc18',
      '022df8750480ad5b26950b25c7ba79d3e37d75f640f8e5d9bcd5b150a0f85014da',
      '03e3818b65bcc73a7d64064106a859cc1a5a728c4345ff0b641209fba0d90de6e9',
    ],
    script:
      '5221021f2f6e1e50cb6a953935c3601284925decd3fd21bc445712576873fb8c6ebc1821022df8750480ad5b26950b25c7ba79d3e37d75f640f8e5d9bcd5b150a0f85014da2103e3818b65bcc73a7d64064106a859cc1a5a728c4345ff0b641209fba0d90de6e953ae',
    address: '3Q4sF6tv9wsdqu2NtARzNCpQgwifm2rAba',
  },
];

const publicKey = '03a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd';

export const singleKey: [ScriptType, string, string][] = [
  ['p2pkh', publicKey, '76a9149a1c78a507689f6f54b847ad1cef1e614ee23f1e88ac'],
  ['p2wpkh', publicKey, '00149a1c78a507689f6f54b847ad1cef1e614ee23f1e'],
  ['p2tr', publicKey, '512077aab6e066f8a7419c5ab714c12c67d25007ed55a43cadcacb4d7a970a093f11'],
];

/** `sh(wsh(multi(16,…)))` */
export const multi16 = {
  keys: [
    '03669b8afcec803a0d323e9a17f3ea8e68e8abe5a278020a929adbec52421adbd0',
    '0260b2003c386519fc9eadf2b5cf124dd8eea4c4e68d5e154050a9346ea98ce600',
    '0362a74e399c39ed5593852a30147f2959b56bb827dfa3e60e464b02ccf87dc5e8',
    '0261345b53de74a4d721ef877c255429961b7e43714171ac06168d7e08c542a8b8',
    '02da72e8b46901a65d4374fe6315538d8f368557dda3a1dcf9ea903f3afe7314c8',
    '0318c82dd0b53fd3a932d16e0ba9e278fcc937c582d5781be626ff16e201f72286',
    '0297ccef1ef99f9d73dec9ad37476ddb232f1238aff877af19e72ba04493361009',
    '02e502cfd5c3f972fe9a3e2a18827820638f96b6f347e54d63deb839011fd5765d',
    '03e687710f0e3ebe81c1037074da939d409c0025f17eb86adb9427d28f0f7ae0e9',
    '02c04d3a5274952acdbc76987f3184b346a483d43be40874624b29e3692c1df5af',
    '02ed06e0f418b5b43a7ec01d1d7d27290fa15f75771cb69b642a51471c29c84acd',
    '036d46073cbb9ffee90473f3da429abc8de7f8751199da44485682a989a4bebb24',
    '02f5d1ff7c9029a80a4e36b9a5497027ef7f3e73384a4a94fbfe7c4e9164eec8bc',
    '02e41deffd1b7cce11cde209a781adcffdabd1b91c0ba0375857a2bfd9302419f3',
    '02d76625f7956a7fc505ab02556c23ee72d832f1bac391bcd2d3abce5710a13d06',
    '0399eb0a5487515802dc14544cf10b3666623762fbed2ec38a3975716e2c29c232',
  ],
  script: 'a9147fc63e13dc25e8a95a3cee3d9a714ac3afd96f1e87',
};

/** `wsh(multi(20,…))` and the same inside `sh`. */
export const multi20 = {
  keys: [
    'KzoAz5CanayRKex3fSLQ2BwJpN7U52gZvxMyk78nDMHuqrUxuSJy',
    'KwGNz6YCCQtYvFzMtrC6D3tKTKdBBboMrLTsjr2NYVBwapCkn7Mr',
    'KxogYhiNfwxuswvXV66eFyKcCpm7dZ7TqHVqujHAVUjJxyivxQ9X',
    'L2BUNduTSyZwZjwNHynQTF14mv2uz2NRq5n5sYWTb4FkkmqgEE9f',
    'L1okJGHGn1kFjdXHKxXjwVVtmCMR2JA5QsbKCSpSb7ReQjezKeoD',
    'KxDCNSST75HFPaW5QKpzHtAyaCQC7p9Vo3FYfi2u4dXD1vgMiboK',
    'L5edQjFtnkcf5UWURn6UuuoFrabgDQUHdheKCziwN42aLwS3KizU',
    'KzF8UWFcEC7BYTq8Go1xVimMkDmyNYVmXV5PV7RuDicvAocoPB8i',
    'L3nHUboKG2w4VSJ5jYZ5CBM97oeK6YuKvfZxrefdShECcjEYKMWZ',
    'KyjHo36dWkYhimKmVVmQTq3gERv3pnqA4xFCpvUgbGDJad7eS8WE',
    'KwsfyHKRUTZPQtysN7M3tZ4GXTnuov5XRgjdF2XCG8faAPmFruRF',
    'KzCUbGhN9LJhdeFfL9zQgTJMjqxdBKEekRGZX24hXdgCNCijkkap',
    'KzgpMBwwsDLwkaC5UrmBgCYaBD2WgZ7PBoGYXR8KT7gCA9UTN5a3',
    'KyBXTPy4T7YG4q9tcAM3LkvfRpD1ybHMvcJ2ehaWXaSqeGUxEdkP',
    'KzJDe9iwJRPtKP2F2AoN6zBgzS7uiuAwhWCfGdNeYJ3PC1HNJ8M8',
    'L1xbHrxynrqLKkoYc4qtoQPx6uy5qYXR5ZDYVYBSRmCV5piU3JG9',
    'KzRedjSwMggebB3VufhbzpYJnvHfHe9kPJSjCU5QpJdAW3NSZxYS',
    'Kyjtp5858xL7JfeV4PNRCKy2t6XvgqNNepArGY9F9F1SSPqNEMs3',
    'L2D4RLHPiHBidkHS8ftx11jJk1hGFELvxh8LoxNQheaGT58dKenW',
    'KyLPZdwY4td98bKkXqEXTEBX3vwEYTQo1yyLjX2jKXA63GBpmSjv',
  ],
  wsh: '0020376bd8344b8b6ebe504ff85ef743eaa1aa9272178223bcb6887e9378efb341ac',
  shWsh: 'a914c2c9c510e9d7f92fd6131e94803a8d34a8ef675e87',
};

/** `sortedmulti(2,<first>/*,<second>/0/0/*)`, the scripts of indexes 0 to 2. */
export const sortedMulti = {
  keys: [
    'xpub6ERApfZwUNrhLCkDtcHTcxd75RbzS1ed54G1LkBUHQVHQKqhMkhgbmJbZRkrgZw4koxb5JaHWkY4ALHY2grBGRjaDMzQLcgJvLJuZZvRcEL',
    'xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLPxSb7gwQN3ih19Zm4Y',
  ],
  scripts: [
    '5221025d5fc65ebb8d44a5274b53bac21ff8307fec2334a32df05553459f8b1f7fe1b62102fbd47cc8034098f0e6a94c6aeee8528abf0a2153a5d8e46d325b7284c046784652ae',
    '52210264fd4d1f5dea8ded94c61e9641309349b62f27fbffe807291f664e286bfbe6472103f4ece6dfccfa37b211eb3d0af4d0c61dba9ef698622dc17eecdf764beeb005a652ae',
    '5221022ccabda84c30bad578b13c89eb3b9544ce149787e5b538175b1d1ba259cbb83321024d902e1a2fc7a8755ab5b694c575fce742c48d9ff192e63df5193e4c7afe1f9c52ae',
  ],
};

/** BIP380. */
export const badChecksums: [string, string, string][] = [
  ['no checksum', 'raw(deadbeef)', 'not an output descriptor that paygate knows'],
  ['a missing checksum', 'raw(deadbeef)#', 'checksum of this output descriptor is wrong'],
  ['one of 9 characters', 'raw(deadbeef)#89f8spxmx', 'checksum of this output descriptor is wrong'],
  ['one of 7 characters', 'raw(deadbeef)#89f8spx', 'checksum of this output descriptor is wrong'],
  ['an error in the text', 'raw(deedbeef)#89f8spxm', 'checksum of this output descriptor is wrong'],
  ['an error in it', 'raw(deadbeef)##9f8spxm', 'checksum of this output descriptor is wrong'],
  ['other characters', 'raw(Ü)#00000000', 'has characters that none has'],
];

/** BIP381, 382, 383 and 386, and templates that paygate does not take. */
export const badTemplates: ((key: string) => string)[] = [
  (key) => `pk(${key})`,
  (key) => `pkh(pk(${key}))`,
  (key) => `sh(${key})`,
  (key) => `sh(sh(pkh(${key})))`,
  (key) => `sh(pkh(${key}))`,
  (key) => `sh(tr(${key}))`,
  (key) => `wsh(tr(${key}))`,
  (key) => `wsh(wpkh(${key}))`,
  (key) => `wsh(wsh(pkh(${key})))`,
  (key) => `sh(wsh(wsh(pkh(${key}))))`,
  (key) => `wpkh(wsh(pkh(${key})))`,
  (key) => `wsh(${key})`,
  (key) => `wsh(pkh(${key}))`,
  (key) => `wsh(multi(1,${key}))`,
  (key) => `sortedmulti(1,${key})`,
  (key) => `sh(sortedmulti(1,${key}))`,
  (key) => `sh(wsh(sortedmulti(1,${key}))`,
  (key) => `combo(${key})`,
  (key) => `WPKH(${key})`,
  (key) => `wpkh(${key}))`,
  () => 'addr(1BoatSLRHtKNngkdXEeobR76b53LETtpyT)',
];

/** BIP380 and BIP389: name, text before and after a valid key, error. */
export const badKeyExpressions: [string, (key: string) => string, string][] = [
  ['children in the origin', (key) => `[deadbeef/0h/0h/0h/*]${key}`, 'malformed'],
  ['a slash at the end of the origin', (key) => `[deadbeef/0h/0h/0h/]${key}`, 'malformed'],
  ['a short fingerprint', (key) => `[deadbef/0h/0h/0h]${key}`, 'malformed'],
  ['a long fingerprint', (key) => `[deadbeeef/0h/0h/0h]${key}`, 'malformed'],
  ['another hardened sign', (key) => `[deadbeef/0f/0f/0f]${key}`, 'malformed'],
  ['a negative step', (key) => `[deadbeef/-0/-0/-0]${key}`, 'malformed'],
  ['two origins', (key) => `[aaaaaaaa][aaaaaaaa]${key}`, 'malformed'],
  ['half an origin', (key) => `aaaaaaaa]${key}`, 'malformed'],
  ['no hex in the fingerprint', (key) => `[gaaaaaaa]${key}`, 'malformed'],
  ['an origin alone', () => '[deadbeef]', 'malformed'],
  ['branches in the origin', (key) => `[deadbeef/<0;1>]${key}/0`, 'malformed'],
  ['an index beyond 2^31', (key) => `${key}/2147483648`, 'another path'],
  ['an index that is none', (key) => `${key}/1aa`, 'another path'],
  ['a hardened path', (key) => `${key}/3h/4h/5h/*`, 'another path'],
  ['hardened children', (key) => `${key}/0/*h`, 'another path'],
  ['branches twice', (key) => `${key}/<0;1>/<2;3>`, 'another path'],
  ['no branches', (key) => `${key}/<>/*`, 'another path'],
  ['branches without a start', (key) => `${key}/0>/*`, 'another path'],
  ['branches without an end', (key) => `${key}/<0/*`, 'another path'],
  ['half a pair of branches', (key) => `${key}/<0;>/*`, 'another path'],
];
