// The Electrum server of `full-block`, a helper process: COUNT addresses of ACCOUNT, each paid by
// a transaction of its own. Its answers are made before the first request, so that nearly all
// measured time is the client's. Told `mempool`, all payments are there; told `block`, one block
// of regtest has them; told `empty`, as at the start, none is there. It speaks protocol 1.6.
// Usage: block-server.mjs ACCOUNT COUNT

import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { bytesToHex } from '@noble/hashes/utils.js';
import { RawTx } from '@scure/btc-signer';
import { scripthash as hashOf } from '../../src/bitcoin/address.ts';
import { deriveAddress, parseWalletKey } from '../../src/bitcoin/keychain.ts';
import { networks } from '../../src/bitcoin/network.ts';
import {
  assembleBlock,
  genesisBlock,
  merkleBranch,
} from '../../src/sandbox/chain/simulated-block.ts';
import { readTransaction } from '../../src/sandbox/chain/simulated-transaction.ts';
import { statusOf } from '../../src/sandbox/electrum/history-results.ts';

/** @typedef {'empty' | 'mempool' | 'block'} Phase */

const VALUE_SAT = 10_000;
const FEE_SAT = 200;
const CHANGE_SAT = 1_000_000;
const HEIGHT = 1;
const REGTEST_BITS = 0x207fffff;
const HEADERS = 'blockchain.headers.subscribe';
const STATUS = 'blockchain.scripthash.subscribe';

const [account = '', count = ''] = process.argv.slice(2);
const genesis = genesisBlock(networks.regtest.genesisHeader);
const payments = makePayments();
const block = assembleBlock({
  height: HEIGHT,
  previous: genesis.hash,
  bits: REGTEST_BITS,
  time: Math.floor(Date.now() / 1000),
  transactions: payments.map(({ transaction }) => transaction),
  to: payments[0]?.script ?? new Uint8Array(),
  extraNonce: 0,
});
const raws = new Map(
  block.transactions.map(({ txid, raw }) => [txid, JSON.stringify(bytesToHex(raw))]),
);
const branches = new Map(
  block.txids.map((txid, pos) => [
    txid,
    JSON.stringify({ block_height: HEIGHT, merkle: merkleBranch(block, pos), pos }),
  ]),
);
const answers = new Map(payments.map((payment) => [payment.scripthash, answersOf(payment)]));
/** @type {Phase} */
let phase = 'empty';
/** @type {Map<import('node:net').Socket, Set<string>>} the scripthashes that each subscribed to */
const sockets = new Map();

function makePayments() {
  const key = parseWalletKey(account, { network: 'regtest', scriptType: 'p2wpkh' });
  return Array.from({ length: Number(count) }, (_, index) => {
    const { script, address } = /** @type {any} */ (deriveAddress(key, 0, index));
    // One input of a stranger with a signature of the usual size, and change.
    const input = { txid: hashOfNumber(index), index: 0, finalScriptSig: new Uint8Array() };
    const raw = RawTx.encode({
      version: 2,
      segwitFlag: true,
      inputs: [{ ...input, sequence: 0xfffffffd }],
      outputs: [
        { amount: BigInt(VALUE_SAT), script },
        {
          amount: BigInt(CHANGE_SAT),
          script: Uint8Array.of(0, 20, ...hashOfNumber(index).slice(12)),
        },
      ],
      witnesses: [[new Uint8Array(71).fill(1), new Uint8Array(33).fill(2)]],
      lockTime: 0,
    });
    const transaction = { ...readTransaction(raw, []), feeSat: FEE_SAT };
    return { address, script, scripthash: hashOf(script), transaction };
  });
}

/** @param {number} number */
function hashOfNumber(number) {
  const bytes = new Uint8Array(32).fill(0xaa);
  new DataView(bytes.buffer).setUint32(28, number);
  return bytes;
}

/** @param {ReturnType<typeof makePayments>[number]} payment */
function answersOf({ transaction: { txid, feeSat } }) {
  const mempool = [{ tx_hash: txid, height: 0, fee: feeSat }];
  const mined = [{ tx_hash: txid, height: HEIGHT }];
  return {
    history: { empty: '[]', mempool: JSON.stringify(mempool), block: JSON.stringify(mined) },
    status: {
      empty: 'null',
      mempool: JSON.stringify(statusOf([{ txid, height: 0 }])),
      block: JSON.stringify(statusOf([{ txid, height: HEIGHT }])),
    },
  };
}

const headerAt = () => bytesToHex(phase === 'block' ? block.header : genesis.header);
const tip = () => JSON.stringify({ height: phase === 'block' ? HEIGHT : 0, hex: headerAt() });
const features = JSON.stringify({
  genesis_hash: networks.regtest.genesisHash,
  hash_function: 'sha256',
  server_version: 'bench',
  protocol_min: '1.4',
  protocol_max: '1.6',
  hosts: {},
});

/**
 * @param {import('node:net').Socket} socket
 * @param {string} method
 * @param {any[]} params
 * @returns {string | undefined} JSON of the result
 */
function answerTo(socket, method, [first, second]) {
  switch (method) {
    case 'server.version':
      return '["bench","1.6"]';
    case 'server.features':
      return features;
    case HEADERS:
      return tip();
    case 'blockchain.block.headers': {
      const headers = [genesis, ...(phase === 'block' ? [block] : [])]
        .slice(first, first + second)
        .map(({ header }) => bytesToHex(header));
      return JSON.stringify({ headers, count: headers.length, max: 2016 });
    }
    case STATUS:
      sockets.get(socket)?.add(first);
      return answers.get(first)?.status[phase] ?? 'null';
    case 'blockchain.scripthash.get_history':
      return answers.get(first)?.history[phase] ?? '[]';
    case 'blockchain.transaction.get':
      return raws.get(first);
    case 'blockchain.transaction.get_merkle':
      return branches.get(first);
    default:
      return 'null';
  }
}

const server = createServer((socket) => {
  sockets.set(socket, new Set());
  socket.setNoDelay(true);
  socket.on('close', () => sockets.delete(socket));
  socket.on('error', () => {});
  const lines = createInterface(socket);
  lines.on('error', () => {});
  lines.on('line', (line) => {
    socket.cork();
    socket.write(`${answerLine(socket, JSON.parse(line))}\n`);
    process.nextTick(() => socket.uncork());
  });
});

/**
 * @param {import('node:net').Socket} socket
 * @param {{ id: number, method: string, params?: any[] }} request
 * @returns {string} JSON
 */
function answerLine(socket, { id, method, params = [] }) {
  const result = answerTo(socket, method, params);
  const error = '"error":{"code":1,"message":"not known"}';
  return `{"jsonrpc":"2.0","id":${id},${result === undefined ? error : `"result":${result}`}}`;
}

/** @param {Phase} next */
function move(next) {
  const before = phase;
  phase = next;
  for (const [socket, subscribed] of sockets) {
    const lines = before === 'block' || next === 'block' ? [notice(HEADERS, `[${tip()}]`)] : [];
    for (const scripthash of subscribed) {
      const status = answers.get(/** @type {any} */ (scripthash))?.status;
      if (status !== undefined) lines.push(notice(STATUS, `["${scripthash}",${status[next]}]`));
    }
    socket.write(lines.join(''));
  }
}

/**
 * @param {string} method
 * @param {string} params
 */
const notice = (method, params) => `{"jsonrpc":"2.0","method":"${method}","params":${params}}\n`;

/** How many of the paid addresses have a subscription. */
function countSubscribed() {
  const all = [...sockets.values()].flatMap((subscribed) => [...subscribed]);
  return all.filter((each) => answers.has(/** @type {any} */ (each))).length;
}

process.on('message', (/** @type {{ move?: Phase }} */ message) => {
  const at = Date.now();
  if (message.move !== undefined) move(message.move);
  process.send?.({ at, subscribed: countSubscribed() });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const paid = payments.map(({ address, scripthash }) => ({ address, scripthash }));
  process.send?.({ port, payments: paid });
});
