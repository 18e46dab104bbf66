// The Electrum server of `full-block`, a helper process: COUNT addresses of ACCOUNT, each paid by
// a transaction of its own. Its answers are made before the first request, so that nearly all
// measured time is the client's. Asked for `mempool`, it has all payments there; for `block`, one
// block of regtest has them; for `empty`, as at the start, none is there. It speaks protocol 1.6.
// Usage: ACCOUNT COUNT

import assert from 'node:assert';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
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

export type Phase = 'empty' | 'mempool' | 'block';

const VALUE_SAT = 10_000n;
const CHANGE_SAT = 1_000_000n;
const FEE_SAT = 200;
const HEIGHT = 1;
const REGTEST_BITS = 0x207fffff;
const HEADERS = 'blockchain.headers.subscribe';
const STATUS = 'blockchain.scripthash.subscribe';

const [account = '', count = ''] = process.argv.slice(2);
const key = parseWalletKey(account, { network: 'regtest', scriptType: 'p2wpkh' });
const genesis = genesisBlock(networks.regtest.genesisHeader);
const payments = Array.from({ length: Number(count) }, (_, index) => makePayment(index));
const block = assembleBlock({
  height: HEIGHT,
  previous: genesis.hash,
  bits: REGTEST_BITS,
  time: Math.floor(Date.now() / 1000),
  transactions: payments.map(({ transaction }) => transaction),
  to: payments[0]?.script ?? new Uint8Array(),
  extraNonce: 0,
});
const raws = new Map<string, string>(
  block.transactions.map(({ txid, raw }) => [txid, JSON.stringify(bytesToHex(raw))]),
);
const branches = new Map<string, string>(
  block.txids.map((txid, pos) => [
    txid,
    JSON.stringify({ block_height: HEIGHT, merkle: merkleBranch(block, pos), pos }),
  ]),
);
const answers = new Map(
  payments.map(({ scripthash, transaction }) => [scripthash, answersOf(transaction)]),
);
let phase: Phase = 'empty';
/** The scripthashes that each subscribed to. */
const sockets = new Map<Socket, Set<string>>();

/** One input of a stranger with a signature of the usual size, and change. */
function makePayment(index: number) {
  const { script } = deriveAddress(key, 0, index) ?? assert.fail();
  const stranger = new Uint8Array(32).fill(0xaa);
  new DataView(stranger.buffer).setUint32(28, index);
  const change = Uint8Array.of(0, 20, ...stranger.slice(12));
  const raw = RawTx.encode({
    version: 2,
    segwitFlag: true,
    inputs: [{ txid: stranger, index: 0, finalScriptSig: new Uint8Array(), sequence: 0xfffffffd }],
    outputs: [
      { amount: VALUE_SAT, script },
      { amount: CHANGE_SAT, script: change },
    ],
    witnesses: [[new Uint8Array(71).fill(1), new Uint8Array(33).fill(2)]],
    lockTime: 0,
  });
  const transaction = { ...readTransaction(raw, []), feeSat: FEE_SAT };
  return { script, scripthash: hashOf(script) as string, transaction };
}

function answersOf({ txid, feeSat }: (typeof payments)[number]['transaction']) {
  const statusAt = (height: number) => JSON.stringify(statusOf([{ txid, height }]));
  return {
    history: {
      empty: '[]',
      mempool: JSON.stringify([{ tx_hash: txid, height: 0, fee: feeSat }]),
      block: JSON.stringify([{ tx_hash: txid, height: HEIGHT }]),
    },
    status: { empty: 'null', mempool: statusAt(0), block: statusAt(HEIGHT) },
  };
}

const headers = () =>
  (phase === 'block' ? [genesis, block] : [genesis]).map(({ header }) => bytesToHex(header));
const tip = () => JSON.stringify({ height: phase === 'block' ? HEIGHT : 0, hex: headers().at(-1) });
const features = JSON.stringify({
  genesis_hash: networks.regtest.genesisHash,
  hash_function: 'sha256',
  server_version: 'bench',
  protocol_min: '1.4',
  protocol_max: '1.6',
  hosts: {},
});

/** @returns JSON of the result */
function answerTo(socket: Socket, method: string, first: string, second: number): string {
  switch (method) {
    case 'server.version':
      return '["bench","1.6"]';
    case 'server.features':
      return features;
    case HEADERS:
      return tip();
    case 'blockchain.block.headers': {
      const some = headers().slice(Number(first), Number(first) + second);
      return JSON.stringify({ headers: some, count: some.length, max: 2016 });
    }
    case STATUS:
      sockets.get(socket)?.add(first);
      return answers.get(first)?.status[phase] ?? 'null';
    case 'blockchain.scripthash.get_history':
      return answers.get(first)?.history[phase] ?? '[]';
    case 'blockchain.transaction.get':
      return raws.get(first) ?? 'null';
    case 'blockchain.transaction.get_merkle':
      return branches.get(first) ?? 'null';
    default:
      return 'null';
  }
}

const server = createServer((socket) => {
  sockets.set(socket, new Set());
  socket.setNoDelay(true);
  socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  const lines = createInterface(socket);
  lines.on('error', () => {});
  lines.on('line', (line) => {
    const { id, method, params: [first, second] = [] } = JSON.parse(line);
    socket.cork();
    const result = answerTo(socket, method, first, second);
    socket.write(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);
    process.nextTick(() => socket.uncork());
  });
}).listen(0, '127.0.0.1');

function move(next: Phase) {
  const isOfBlock = phase === 'block' || next === 'block';
  phase = next;
  for (const [socket, subscribed] of sockets) {
    const lines = isOfBlock ? [notice(HEADERS, tip())] : [];
    for (const scripthash of subscribed) {
      const status = answers.get(scripthash)?.status[next];
      if (status !== undefined) lines.push(notice(STATUS, `"${scripthash}",${status}`));
    }
    socket.write(lines.join(''));
  }
}

const notice = (method: string, params: string) =>
  `{"jsonrpc":"2.0","method":"${method}","params":[${params}]}\n`;

process.on('message', (message: { readonly phase?: Phase }) => {
  const at = Date.now();
  if (message.phase !== undefined) move(message.phase);
  const all = [...sockets.values()].flatMap((subscribed) => [...subscribed]);
  process.send?.({ at, subscribed: all.filter((each) => answers.has(each)).length });
});
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
process.send?.({ port, scripthashes: payments.map(({ scripthash }) => scripthash) });
