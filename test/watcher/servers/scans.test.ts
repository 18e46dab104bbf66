// A scan of a wallet, or of an xpub for its balance, at a server that leaves a little unanswered.
// Answers are cached, another server is asked for the rest, and a scan that cannot end says why.

import { afterEach, describe, expect, test } from 'vitest';
import { addressToScript, scripthash } from '../../../src/bitcoin/address.ts';
import { descriptorChecksum } from '../../../src/bitcoin/descriptor.ts';
import { firstAddresses } from '../../../src/bitcoin/keychain.ts';
import { networks } from '../../../src/bitcoin/network.ts';
import type { Fault } from '../../../src/sandbox/electrum/server-faults.ts';
import type { SimulatedServer } from '../../../src/sandbox/electrum/simulated-server.ts';
import { closeApps, merchantKey, openReady, type TestApp } from '../../support/app.ts';
import { cleanUp } from '../../support/files.ts';

afterEach(async () => {
  await closeApps();
  await cleanUp();
});

const getHistory = 'blockchain.scripthash.get_history';
const key = merchantKey(2);
const hashes = firstAddresses(key, 60).map((address) =>
  scripthash(addressToScript(address, networks.regtest)),
);

const faults: Readonly<Record<string, Fault>> = {
  refused: { kind: 'error', code: 1, message: 'history too large' },
  'never answered': { kind: 'hang' },
};

/** The histories of these addresses, of the second wallet alone. */
function fail(server: SimulatedServer, fault: Fault, indexes: readonly number[]): () => void {
  const failing = new Set<unknown>(indexes.map((index) => hashes[index]));
  const when = (method: string, [first]: readonly unknown[]) =>
    method === getHistory && failing.has(first);
  return server.inject({ ...fault, when });
}

const askedOf = (server: SimulatedServer, index: number): number =>
  server.requests.filter(
    ({ method, params: [first] }) => method === getHistory && first === hashes[index],
  ).length;

const addSecond = (app: TestApp) =>
  app.addStore({ name: 'Second', key, callbackUrl: `${app.receiver.origin}/second` });

async function pass({ world }: TestApp, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) await world.advance(Math.min(left, 1_000));
}

const newAddress = (app: TestApp) => app.ask('/api/new_address?match_callback=/second');

describe.each(Object.entries(faults))('%s', (_, fault) => {
  const many = [2, 3, 4, 5, 6, 7, 8, 9];

  test('P-168 by one of two servers: the scan finishes with the other one, and skips no index', async () => {
    const app = await openReady({ servers: 2 });
    fail(app.inUse(), fault, many);
    await addSecond(app);
    await pass(app, 30_000);
    expect(app.running.health().wallets.scanning).toBe(0);
    const { body } = await newAddress(app);
    expect(body.address).toBe(firstAddresses(key, 1)[0]);
  });

  test('P-168 by the only one: received histories are not requested again, and the 503 names the fault', async () => {
    const app = await openReady();
    const end = fail(app.server, fault, many);
    await addSecond(app);
    app.server.clearLog();
    await pass(app, 150_000);
    expect(askedOf(app.server, 0)).toBe(1);
    expect(askedOf(app.server, 15)).toBe(1);
    expect(askedOf(app.server, 4)).toBeGreaterThan(1);
    const { status, body } = await newAddress(app);
    expect(status).toBe(503);
    expect(body.message).toContain(`the last attempt failed: ${app.labels[0]}: the server`);
    expect(body.message).toContain(getHistory);
    expect(app.running.health().warnings.join('\n')).toMatch(
      /a scan of the chain comes first.*get_history/,
    );
    end();
    await pass(app, 70_000);
    expect((await newAddress(app)).status).toBe(200);
    expect(askedOf(app.server, 0)).toBe(1);
  });
});

describe('the balance of an xpub with one unanswered address', () => {
  const body = `wpkh(${key.account}/0/*)`;
  const addr = encodeURIComponent(`${body}#${descriptorChecksum(body)}`);
  const balanceOf = (app: TestApp) => app.ask(`/api/balance?addr=${addr}`);

  test.each(Object.entries(faults))('P-168 (%s) comes from another server', async (_, fault) => {
    const app = await openReady({ servers: 2, config: { foreignBalances: true } });
    app.pay(firstAddresses(key, 3)[2] ?? '', 5_000);
    await app.settle();
    fail(app.inUse(), fault, [2]);
    let answer = { status: 503, body: {} };
    // A long search goes on after its first response.
    for (let time = 0; answer.status === 503 && time < 3; time += 1) {
      let isAnswered = false;
      const asked = balanceOf(app).finally(() => {
        isAnswered = true;
      });
      for (let second = 0; !isAnswered && second < 60; second += 1) await pass(app, 1_000);
      answer = await asked;
    }
    expect(answer.body).toMatchObject({ response: [{ unconfirmed: 5_000 }] });
  });

  test('by the only server names the address, and stores the received histories', async () => {
    const app = await openReady({ config: { foreignBalances: true } });
    const end = fail(app.server, faults.refused as Fault, [2]);
    const { status, body } = await balanceOf(app);
    expect(status).toBe(503);
    expect(body.message).toContain(`${app.labels[0]} refuses ${getHistory}`);
    end();
    await app.settle();
    expect((await balanceOf(app)).status).toBe(200);
    expect(askedOf(app.server, 0)).toBe(1);
    expect(askedOf(app.server, 2)).toBe(2);
  });
});
