// The real chain that scripts/e2e.ts starts: the node, its two Electrum servers, its wallets, and
// a customer's payments. Amounts are satoshis; only this file sees the node's decimals.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { attach, type Regtest } from '../../scripts/regtest/network.ts';
import type { Rpc } from '../../scripts/regtest/servers.ts';
import type { ScriptType } from '../../src/bitcoin/address.ts';

/** The first is an ElectrumX. The second is an electrs if that was built. */
export type ElectrumName = 'first' | 'second';

/** One of the two Electrum servers on the node. */
export interface Electrum {
  /** Value for `--electrum`. */
  readonly tcp: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Like a crash. */
  kill(): Promise<void>;
  /** The connections stay open, new ones are accepted, and no request is answered. */
  pause(): void;
  resume(): void;
  /** Whether its history of the address has the transaction. */
  shows(address: string, txid: string): Promise<boolean>;
}

export interface Payment {
  readonly address: string;
  readonly valueSat: number;
}

/** A descriptor wallet of the node that plays the merchant's own wallet. */
export interface MerchantWallet {
  readonly rpc: Rpc;
  /** The account of a script type, as the node gives it. */
  account(scriptType: ScriptType): Promise<Account>;
  /** The private counterpart of an account's key, which paygate must never take. */
  privateKey(scriptType: ScriptType): Promise<string>;
  /** Unloads it, because each loaded wallet slows a later start of the node by half a second. */
  unload(): Promise<void>;
}

export interface Account {
  readonly tpub: string;
  /** The first receive addresses by the node's own derivation. */
  addresses(count: number): Promise<string[]>;
}

export interface Network {
  readonly rpc: Rpc;
  mine(blocks?: number): Promise<string[]>;
  /** Replaces the newest blocks by one block more, with or without their transactions. */
  reorganise(depth: number, transactions: 'kept' | 'left out'): Promise<void>;
  /** One transaction that pays these addresses, which must differ. Returns its txid. */
  pay(...payments: readonly Payment[]): Promise<string>;
  /** One transaction with several outputs to one address. */
  payInParts(address: string, valuesSat: readonly number[]): Promise<string>;
  createMerchantWallet(): MerchantWallet;
  electrum(name: ElectrumName): Electrum;
  /** The first Electrum server over TLS: a value for `--electrum`. */
  readonly ssl: string;
  /** SHA-256 of that server's certificate, in hex. */
  readonly certificateSha256: string;
  /** Raises the fee of an unconfirmed transaction. Returns the txid of the replacement. */
  bumpFee(txid: string): Promise<string>;
  /** Spends the inputs of an unconfirmed transaction to another address, with a higher fee. */
  doubleSpend(txid: string): Promise<string>;
  /** Replaces an unconfirmed transaction by one that makes another payment, with a higher fee. */
  replace(txid: string, payment: Payment): Promise<string>;
  /** A clean restart, which preserves the mempool. */
  restartNode(): Promise<void>;
  /** Like a crash: the blocks survive, and the wallets bring the mempool back at the next start. */
  killNode(): Promise<void>;
  /** Starts every stopped process, and waits until the Electrum servers are at the tip. */
  mend(): Promise<void>;
}

/** Descriptors by script type: `pkh(…)`, `sh(wpkh(…))`, `wpkh(…)`, `tr(…)`. */
const descriptorStarts: Readonly<Record<ScriptType, string>> = {
  p2pkh: 'pkh(',
  'p2sh-p2wpkh': 'sh(wpkh(',
  p2wpkh: 'wpkh(',
  p2tr: 'tr(',
};
/** createwallet: private keys, not blank, no passphrase, reuse allowed, descriptors, on startup. */
const loadedAtStartup = [false, false, '', false, true, true];
export const eachServer: readonly ElectrumName[] = ['first', 'second'];
const electrumTimeoutMs = 5_000;
/** Above the node's usual fees and the increase that it requires of a replacement. */
const doubleSpendFeeSat = 20_000;

export const btc = (valueSat: number): string => (valueSat / 1e8).toFixed(8);
export const sat = (amount: number): number => Math.round(amount * 1e8);

export function connectNetwork(): Network {
  const regtest = attach(process.env.PAYGATE_E2E_NETWORK ?? '');
  const { rpc } = regtest;
  const { sslPort, certFile } = regtest.electrumOf('first');
  const certificate = readFileSync(certFile ?? '', 'utf8').replace(/-----.*?-----|\s/g, '');
  return {
    rpc,
    mine: (blocks) => regtest.mine(blocks),
    async reorganise(depth, transactions) {
      const first = (await rpc('getblockcount')) - depth + 1;
      await rpc('invalidateblock', await rpc('getblockhash', first));
      if (transactions === 'kept') await regtest.mine(depth + 1);
      else {
        const address = await rpc('getnewaddress');
        for (let mined = 0; mined <= depth; mined += 1) await rpc('generateblock', address, []);
      }
    },
    pay(...payments) {
      const amounts = payments.map(({ address, valueSat }) => [address, btc(valueSat)]);
      return rpc('sendmany', '', Object.fromEntries(amounts));
    },
    payInParts: (address, valuesSat) => payInParts(rpc, address, valuesSat),
    createMerchantWallet: () => createMerchantWallet(regtest),
    electrum: (name) => electrumOf(regtest, name),
    ssl: `ssl://127.0.0.1:${sslPort}`,
    certificateSha256: createHash('sha256')
      .update(Buffer.from(certificate, 'base64'))
      .digest('hex'),
    bumpFee: async (txid) => (await rpc('bumpfee', txid)).txid,
    doubleSpend: (txid) => replace(rpc, txid),
    replace: (txid, payment) => replace(rpc, txid, payment),
    async restartNode() {
      await regtest.stopNode();
      await regtest.startNode();
    },
    async killNode() {
      await rpc('gettxoutsetinfo'); // writes the blocks to disk
      await regtest.stopNode('SIGKILL');
    },
    async mend() {
      if (regtest.nodePid === null) await regtest.startNode();
      for (const name of eachServer) {
        const electrum = regtest.electrumOf(name);
        electrum.resume();
        if (electrum.pid === null) await electrum.start();
        await electrum.caughtUp();
      }
    },
  };
}

function electrumOf(regtest: Regtest, name: ElectrumName): Electrum {
  const { tcpPort, start, stop, pause, resume } = regtest.electrumOf(name);
  return {
    tcp: `tcp://127.0.0.1:${tcpPort}`,
    start,
    stop: () => stop(),
    kill: () => stop('SIGKILL'),
    pause,
    resume,
    async shows(address, txid) {
      const script = Buffer.from(await scriptOf(regtest.rpc, address), 'hex');
      const scripthash = createHash('sha256').update(script).digest().reverse().toString('hex');
      const shown = await askElectrum(tcpPort, 'blockchain.scripthash.get_history', scripthash);
      return (shown as { tx_hash: string }[]).some(({ tx_hash }) => tx_hash === txid);
    },
  };
}

async function replace(rpc: Rpc, txid: string, payment?: Payment): Promise<string> {
  const { vin, vout } = await rpc('getrawtransaction', txid, true);
  const valueSat = (vout as { value: number }[]).reduce((sum, { value }) => sum + sat(value), 0);
  const inputs = (vin as { txid: string; vout: number }[]).map((input) => ({
    txid: input.txid,
    vout: input.vout,
  }));
  const restSat = valueSat - doubleSpendFeeSat - (payment?.valueSat ?? 0);
  const outputs = {
    [await rpc('getnewaddress')]: btc(restSat),
    ...(payment && { [payment.address]: btc(payment.valueSat) }),
  };
  const raw = await rpc('createrawtransaction', inputs, outputs);
  const { hex } = await rpc('signrawtransactionwithwallet', raw);
  return rpc('sendrawtransaction', hex);
}

/**
 * The node refuses to pay an address twice in one transaction. So it pays other addresses whose
 * scripts have the same size, and we replace those scripts before the node signs.
 */
async function payInParts(rpc: Rpc, address: string, valuesSat: readonly number[]) {
  const standIns = await Promise.all(valuesSat.map(() => rpc('getnewaddress')));
  const outputs = standIns.map((standIn, index) => ({ [standIn]: btc(valuesSat[index] ?? 0) }));
  const script = await scriptOf(rpc, address);
  let { hex } = await rpc('fundrawtransaction', await rpc('createrawtransaction', [], outputs));
  for (const standIn of standIns) hex = hex.replace(await scriptOf(rpc, standIn), script);
  const signed = await rpc('signrawtransactionwithwallet', hex);
  return rpc('sendrawtransaction', signed.hex);
}

const scriptOf = async (rpc: Rpc, address: string): Promise<string> =>
  (await rpc('validateaddress', address)).scriptPubKey;

let wallets = 0;

/** The wallet is created at its first use, because that takes the node a second. */
function createMerchantWallet({ rpc, walletRpc }: Regtest): MerchantWallet {
  wallets += 1;
  const name = `merchant-${process.pid}-${wallets}`;
  const named = walletRpc(name);
  let made: Promise<unknown> | undefined;
  const wallet: Rpc = async (method, ...params) => {
    made ??= rpc('createwallet', name, ...loadedAtStartup);
    await made;
    return named(method, ...params);
  };

  async function descriptor(scriptType: ScriptType, withPrivate = false): Promise<string> {
    const { descriptors } = await wallet('listdescriptors', withPrivate);
    const start = descriptorStarts[scriptType];
    const found = (descriptors as { desc: string; internal: boolean }[]).find(
      ({ desc, internal }) => desc.startsWith(start) && !internal,
    );
    if (found === undefined) throw new Error(`the node has no ${start}…) descriptor`);
    return found.desc;
  }

  return {
    rpc: wallet,
    async account(scriptType) {
      const desc = await descriptor(scriptType);
      return {
        tpub: keyOf(desc),
        addresses: (count) => rpc('deriveaddresses', desc, [0, count - 1]),
      };
    },
    privateKey: async (scriptType) => keyOf(await descriptor(scriptType, true)),
    async unload() {
      if (made !== undefined) await wallet('unloadwallet', name, false);
    },
  };
}

function keyOf(descriptor: string): string {
  const [key] = /\bt(?:pub|prv)\w+/.exec(descriptor) ?? [];
  if (key === undefined) throw new Error('a descriptor without an extended key');
  return key;
}

/** Sends one request over a connection of its own. */
async function askElectrum(port: number, method: string, ...params: unknown[]): Promise<unknown> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  socket.setTimeout(electrumTimeoutMs, () => socket.destroy(new Error('no answer')));
  const hello = { id: 0, method: 'server.version', params: ['paygate-e2e', ['1.4', '1.6']] };
  socket.write(`${JSON.stringify(hello)}\n${JSON.stringify({ id: 1, method, params })}\n`);
  let received = '';
  for await (const chunk of socket) {
    received += chunk;
    const complete = received.split('\n').slice(0, -1);
    const reply = complete.map((line) => JSON.parse(line)).find(({ id }) => id === 1);
    if (reply) return reply.result;
  }
  throw new Error(`the Electrum server hung up after ${JSON.stringify(received)}`);
}
