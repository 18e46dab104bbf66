// A whole paygate on a file, for tests of its counters. It listens and connects to nothing until a
// copy must scan the chain. It reports which indexes it issued.

import { expect } from 'vitest';
import { type App, openApp, startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { look, whenOver } from './files.ts';
import { now, openTestStore } from './store.ts';
import { createTestWorld, type TestWorld } from './world.ts';

export interface Running {
  readonly app: App;
  readonly world: TestWorld;
  /** Requests addresses one after another. @returns their indexes */
  issue(count: number): Promise<number[]>;
  /** Warnings about the file at the start. */
  readonly warnings: { readonly reason: unknown; readonly skips: unknown }[];
  stop(): Promise<void>;
}

/** An Electrum server of a chain, which a copy that doesn't know how far it is must ask. */
async function startServer(world: TestWorld, chain?: SimulatedChain): Promise<string> {
  const shown = chain ?? new SimulatedChain({ seed: 'copies', now: () => world.now() / 1000 });
  if (chain === undefined) shown.mine(1);
  const server = new SimulatedServer({ chain: shown, timer: world });
  const listening = await server.listen({ host: '127.0.0.1', port: 0 });
  whenOver(() => listening.close());
  return `tcp://127.0.0.1:${listening.port}`;
}

/** Runs paygate on a file. */
export async function run(path: string, chain?: SimulatedChain): Promise<Running> {
  const world = createTestWorld();
  const electrum = [await startServer(world, chain)];
  const given = { db: [path], network: ['regtest'], electrum, listen: ['127.0.0.1:0'] };
  const opened = await openApp(readConfig(given, {}), world, {
    onFatal: (error) => {
      throw error;
    },
  });
  const app = await startApp(opened);
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= app.stop();
    return stopping;
  };
  whenOver(stop);
  const found = look(path, { readonly: true });
  const apiKey = found.prepare('SELECT secret FROM api_keys').pluck().get();
  const indexOf = found.prepare('SELECT derivation_index FROM addresses WHERE address = ?').pluck();
  return {
    app,
    world,
    async issue(count) {
      const indexes: number[] = [];
      if (app.health().wallets.scanning > 0) {
        await world.until(() => app.health().wallets.scanning === 0, 'the scan');
      }
      while (indexes.length < count) {
        const headers = { Authorization: `Bearer ${apiKey}` };
        const answer = await app.fetch(new Request('http://x/api/new_address', { headers }));
        const body = (await answer.json()) as { address?: string };
        expect(answer.status, JSON.stringify(body)).toBe(200);
        indexes.push(indexOf.get(body.address) as number);
      }
      return indexes;
    },
    warnings: world.logs
      .filter(({ message }) => message.includes('is a copy'))
      .map(({ fields }) => ({ reason: fields.reason, skips: fields.skips })),
    async stop() {
      found.close();
      await stop();
    },
  };
}

/** A shop's file that was stopped after it had issued so many addresses. */
export async function stoppedAfter(count: number): Promise<string> {
  const { path, ...records } = await openTestStore();
  await records.addWallet();
  await records.addStore();
  await records.write((tx) =>
    records.keys.rotateMerchantKey(tx, now, new Uint8Array(32).fill(count + 1), 0),
  );
  await records.database.close();
  await goOn(path, count);
  return path;
}

export async function goOn(path: string, count: number): Promise<number[]> {
  const paygate = await run(path);
  expect(paygate.warnings).toEqual([]);
  const indexes = await paygate.issue(count);
  await paygate.stop();
  return indexes;
}

/** Starts on a copy: the logged reason, the skip of wallet 1, and the warnings meanwhile. */
export async function startCopy(path: string) {
  const paygate = await run(path);
  const [warning] = paygate.warnings;
  expect(paygate.warnings).toHaveLength(1);
  const [next] = await paygate.issue(1);
  const told = paygate.app.health().warnings.filter((each) => each.includes('is a copy'));
  expect(told).toHaveLength(1);
  await paygate.stop();
  const progress = paygate.world.logs
    .filter(({ message }) => message === 'skipped addresses are derived')
    .map(({ fields }) => fields);
  return { reason: warning?.reason, skips: warning?.skips, next, told: told[0], progress };
}
