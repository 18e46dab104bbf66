import { expect, test } from 'vitest';
import { bitsToTarget, meetsTarget, parseHeader } from '../../src/bitcoin/header.ts';
import {
  formatCheckpoint,
  networks,
  parseCheckpoint,
  parseNetworkName,
} from '../../src/bitcoin/network.ts';
import { builtInServers } from '../../src/electrum/server-address.ts';
import { PaygateError } from '../../src/lib/errors.ts';

test.each(Object.entries(networks))('%s begins with its genesis block', (name, network) => {
  const genesis = parseHeader(network.genesisHeader);
  expect(network.name).toBe(name);
  expect(genesis.hash).toBe(network.genesisHash);
  expect(genesis.previous).toBe('00'.repeat(32));
  expect(genesis.bits).toBe(network.powLimitBits);
  expect(meetsTarget(genesis)).toBe(true);
});

test.each(Object.values(networks))('$name has a checkpoint with enough work', (network) => {
  if (network.name === 'testnet3') {
    expect(network.checkpoint).toBeUndefined();
    return;
  }
  const hash = BigInt(`0x${network.checkpoint?.hash}`);
  expect(hash).toBeLessThanOrEqual(bitsToTarget(network.powLimitBits));
});

test('regtest starts from its genesis block', () => {
  expect(networks.regtest.checkpoint).toEqual({ height: 0, hash: networks.regtest.genesisHash });
});

test('no two networks share a genesis block, and only test networks share addresses', () => {
  const all = Object.values(networks);
  expect(new Set(all.map((network) => network.genesisHash)).size).toBe(all.length);
  const { mainnet, ...others } = networks;
  for (const other of Object.values(others)) {
    expect([other.hrp, other.p2pkh, other.p2sh]).not.toContain(mainnet.hrp);
    expect(new Set([other.p2pkh, other.p2sh, mainnet.p2pkh, mainnet.p2sh]).size).toBe(4);
  }
});

test('names', () => {
  expect(parseNetworkName('signet')).toBe('signet');
  for (const text of ['Mainnet', 'bitcoin', '', ' mainnet', 'toString']) {
    expect(() => parseNetworkName(text)).toThrow(
      'one of mainnet, testnet3, testnet4, signet, regtest',
    );
  }
  expect(() => parseNetworkName('testnet')).toThrow(PaygateError);
  expect(() => parseNetworkName('testnet')).toThrow('testnet3 or testnet4');
});

test.each(Object.values(networks))(
  '$name: a checkpoint has one notation for input and output',
  (network) => {
    const checkpoint = network.checkpoint ?? { height: 0, hash: network.genesisHash };
    expect(parseCheckpoint(formatCheckpoint(checkpoint))).toEqual(checkpoint);
  },
);

test('the built-in checkpoints end a difficulty period', () => {
  for (const name of ['mainnet', 'testnet4', 'signet'] as const) {
    expect((networks[name].checkpoint?.height ?? 0) % 2016).toBe(2015);
  }
});

test.each(Object.values(networks))('$name: public servers, by TLS alone', ({ name }) => {
  const servers = builtInServers(name);
  if (name === 'regtest') expect(servers).toEqual([]);
  else expect(servers.length).toBeGreaterThanOrEqual(3);
  expect(new Set(servers.map(({ label }) => label)).size).toBe(servers.length);
  expect(servers.filter(({ tls, insecure }) => !tls || insecure)).toEqual([]);
});
