import { hexToBytes } from '@noble/hashes/utils.js';
import { describe, expect, it } from 'vitest';
import {
  parseBroadcast,
  parseFeatures,
  parseHeaders,
  parseHeaderTip,
  parseHistory,
  parseMerkle,
  parsePresence,
  parseRawTransaction,
  parseServerVersion,
  parseStatus,
  parseStatusNotification,
  parseVerboseTransaction,
} from '../../src/electrum/wire.ts';
import { PaygateError } from '../../src/lib/errors.ts';

// The first two headers of Bitcoin, as on the page of blockchain.block.headers.
const headers = [
  '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c',
  '010000006fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000982051fd1e4ba744bbbe680e1fee14677ba1a3c3540bf7b1cdb606e857233e0e61bc6649ffff001d01e36299',
] as const;
const raw = headers.map((hex) => hexToBytes(hex));
const hash = 'acc3758bd2a26f869fcc67d48ff30b96464d476bca82c1cd6656e7d506816412';

/** What is not of the answer's form is `invalid`, never another kind of error. */
function refuses(parse: (answer: unknown) => unknown, answers: readonly unknown[]): void {
  for (const answer of [undefined, 1, true, Number.NaN, ...answers]) {
    let thrown: unknown;
    try {
      parse(answer);
    } catch (error) {
      thrown = error;
    }
    expect(thrown, JSON.stringify(answer)).toBeInstanceOf(PaygateError);
    expect(thrown, JSON.stringify(answer)).toMatchObject({ code: 'invalid' });
  }
}

describe('server.version', () => {
  it.each([
    ['1.4', '1.4'],
    ['1.4.3', '1.4'],
    ['1.5', '1.4'],
    ['1.5.3', '1.4'],
    ['1.6', '1.6'],
    ['1.6.0', '1.6'],
  ])('%s is spoken as %s', (said, version) => {
    expect(parseServerVersion(['ElectrumX 1.20.0', said])).toEqual({
      software: 'ElectrumX 1.20.0',
      version,
    });
  });

  it('is refused when it was not offered or is not text', () => {
    const versions = [
      '1.3',
      '1.7',
      '1.50',
      '1.60',
      '1.40',
      '2.4',
      '1',
      '',
      '1.6-x',
      1.4,
      ['1.4'],
      null,
    ];
    refuses(parseServerVersion, [
      ...versions.map((version) => ['x', version]),
      [],
      [null, '1.4'],
      'ElectrumX',
      { 0: 'x', 1: '1.4' },
    ]);
  });

  it('shows the software as plain text, cut', () => {
    const { software } = parseServerVersion([`\x1b[2JFulcrum\n${'x'.repeat(500)}`, '1.4']);
    expect(software).toMatch(/^\[2JFulcrum x+$/);
    expect(software).toHaveLength(60);
  });
});

describe('server.features', () => {
  it('has the network and the hash function', () => {
    const features = { genesis_hash: hash, hash_function: 'sha256', hosts: {}, pruning: null };
    expect(parseFeatures(features)).toEqual({ genesisHash: hash, hashFunction: 'sha256' });
  });

  it('is refused without them', () => {
    refuses(parseFeatures, [
      {},
      null,
      { genesis_hash: hash },
      { genesis_hash: hash, hash_function: 1 },
      { genesis_hash: hash.toUpperCase(), hash_function: 'sha256' },
    ]);
  });
});

describe('blockchain.headers.subscribe', () => {
  it('has the height and the raw header', () => {
    expect(parseHeaderTip({ height: 1, hex: headers[1] })).toEqual({ height: 1, raw: raw[1] });
  });

  it('is refused otherwise', () => {
    refuses(parseHeaderTip, [
      null,
      { height: -1, hex: headers[1] },
      { height: 2 ** 31, hex: headers[1] },
      { height: 1.5, hex: headers[1] },
      { height: '1', hex: headers[1] },
      { height: 1, hex: headers[1].slice(2) },
      { height: 1, hex: `${headers[1]}00` },
      { height: 1, hex: `${headers[1].slice(1)}x` },
      { height: 1, hex: headers[1].slice(1) },
      { height: 1 },
    ]);
  });
});

describe('blockchain.block.headers', () => {
  const parse14 = (answer: unknown): unknown => parseHeaders(answer, '1.4', 2);
  const parse16 = (answer: unknown): unknown => parseHeaders(answer, '1.6', 2);

  it('is one run of hex in 1.4 and a list in 1.6', () => {
    expect(parse14({ count: 2, hex: headers.join(''), max: 2016 })).toEqual(raw);
    expect(parse16({ count: 2, headers, max: 2016 })).toEqual(raw);
  });

  it('may be shorter than asked for, and empty', () => {
    expect(parse14({ count: 1, hex: headers[0], max: 1 })).toEqual([raw[0]]);
    expect(parse14({ count: 0, hex: '', max: 2016 })).toEqual([]);
    expect(parse16({ count: 0, headers: [], max: 2016 })).toEqual([]);
  });

  it('is refused with more than asked for, a wrong count or headers of another length', () => {
    refuses(parse14, [
      { count: 2, headers, max: 2016 },
      { count: 3, hex: headers.join('') + headers[0], max: 2016 },
      { count: 1, hex: headers.join('') },
      { count: 1, hex: headers[0].slice(2) },
      { count: 1, hex: `${headers[0]}00` },
      { hex: headers[0] },
      { count: 0, hex: null },
    ]);
    refuses(parse16, [
      { count: 2, hex: headers.join(''), max: 2016 },
      { count: 3, headers: [...headers, headers[0]] },
      { count: 2, headers: [headers[0]] },
      { count: 1, headers: [headers.join('')] },
      { count: 1, headers: [raw[0]] },
      { count: 1, headers: { 0: headers[0], length: 1 } },
    ]);
  });
});

describe('blockchain.scripthash', () => {
  it('has a status that is a hash or null', () => {
    expect(parseStatus(null)).toBeNull();
    expect(parseStatus(hash)).toBe(hash);
    refuses(parseStatus, ['', hash.slice(1), hash.toUpperCase(), [hash], { status: hash }]);
  });

  it('notifies of a scripthash and its status', () => {
    expect(parseStatusNotification([hash, null])).toEqual({ scripthash: hash, status: null });
    for (const params of [[], [hash], [null, hash], [hash, 1], ['x', hash]]) {
      expect(() => parseStatusNotification(params)).toThrow(PaygateError);
    }
  });

  it('has a history of mined and unconfirmed transactions', () => {
    const history = [
      { tx_hash: hash, height: 200_004 },
      { tx_hash: hash, height: 0, fee: 20_000 },
      { tx_hash: hash, height: -1, fee: 1 },
    ];
    expect(parseHistory(history).map(({ position }) => position)).toEqual([
      { kind: 'mined', height: 200_004 },
      { kind: 'mempool', unconfirmedParents: false },
      { kind: 'mempool', unconfirmedParents: true },
    ]);
    expect(parseHistory([])).toEqual([]);
    refuses(parseHistory, [
      null,
      {},
      [null],
      [[hash, 1]],
      [{ tx_hash: hash }],
      [{ tx_hash: hash, height: -2 }],
      [{ tx_hash: hash, height: 0.5 }],
      [{ tx_hash: hash, height: '0' }],
      [{ tx_hash: hash.slice(2), height: 1 }],
      [{ height: 1 }],
    ]);
  });
});

describe('blockchain.transaction', () => {
  it('is hex', () => {
    expect(parseRawTransaction('00ffAB')).toEqual(Uint8Array.of(0, 255, 0xab));
    refuses(parseRawTransaction, ['0', 'xy', ' 00', '0x00', null, { hex: '00' }]);
  });

  it('is the hex in the verbose response, or the response itself', () => {
    expect(parseVerboseTransaction({ txid: hash, hex: '00ff', vin: [] })).toEqual(
      Uint8Array.of(0, 255),
    );
    expect(parseVerboseTransaction('00ff')).toEqual(Uint8Array.of(0, 255));
    for (const answer of [undefined, null, 1, [], {}, { hex: 1 }, { hex: ['00'] }]) {
      expect(parseVerboseTransaction(answer)).toBeUndefined();
    }
    for (const hex of ['0', 'zz'])
      expect(() => parseVerboseTransaction({ hex })).toThrow('not hex');
  });

  it('is in the mempool or in the chain, but not in an orphaned block', () => {
    expect(parsePresence({ txid: hash, hex: '00' })).toBe(true);
    expect(parsePresence({ txid: hash, blockhash: hash, confirmations: 3 })).toBe(true);
    expect(parsePresence({ txid: hash, blockhash: hash, confirmations: 0 })).toBe(false);
    expect(parsePresence({ txid: hash, blockhash: hash })).toBe(false);
    expect(parsePresence('00ff')).toBe(true);
    refuses(parsePresence, [null, 1, [], { blockhash: hash, confirmations: '3' }]);
  });

  it('has a branch of hashes in display order', () => {
    const branch = { block_height: 450_538, merkle: [hash, hash], pos: 3 };
    expect(parseMerkle(branch)).toEqual({ branch: [hash, hash], pos: 3 });
    expect(parseMerkle({ ...branch, merkle: [], pos: 0 }).branch).toEqual([]);
    refuses(parseMerkle, [
      null,
      [],
      { ...branch, merkle: hash },
      { ...branch, merkle: [hash.slice(1)] },
      { ...branch, merkle: [1] },
      { ...branch, pos: -1 },
      { ...branch, pos: '3' },
      { pos: 0 },
      { merkle: [] },
    ]);
  });

  it('is broadcast for its id', () => {
    expect(parseBroadcast(hash)).toBe(hash);
    refuses(parseBroadcast, [null, '258: txn-mempool-conflict', { txid: hash }]);
  });
});
