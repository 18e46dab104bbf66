// A database with one shop, a scanned wallet and the headers of the first blocks. It is created
// once a process, because every app would otherwise repeat this slow start.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApp, startApp } from '../../src/app.ts';
import { parseServerAddress } from '../../src/electrum/server-address.ts';
import { SimulatedChain } from '../../src/sandbox/chain/simulated-chain.ts';
import { SimulatedServer } from '../../src/sandbox/electrum/simulated-server.ts';
import { openRecords } from '../../src/store/open-records.ts';
import { merchantKey, withoutLimits } from '../support/app.ts';
import { baseHeight } from './run.ts';
import { createSimulationWorld } from './world.ts';

export interface Template {
  readonly path: string;
  readonly apiKey: string;
  readonly instance: string;
  remove(): void;
}

export async function makeTemplate(): Promise<Template> {
  const world = createSimulationWorld(0);
  const folder = mkdtempSync(join(tmpdir(), 'paygate-template-'));
  const path = join(folder, 'paygate.db');
  const chain = new SimulatedChain({ seed: 'house', now: () => world.now() / 1000 });
  chain.mine(baseHeight);
  const server = new SimulatedServer({ chain, timer: world });
  const { port, close } = await server.listen({ host: '127.0.0.1', port: 0 });

  const instance = 'template';
  const newInstance = () => instance;
  const opening = { path, create: true, network: 'regtest', newInstance } as const;
  const { database, catalog, keys } = await openRecords(opening);
  const apiKey = await database.write((tx) => {
    const now = world.now();
    const { id: walletId } = catalog.ensureWallet(tx, now, merchantKey());
    catalog.addStore(tx, now, {
      name: 'shop1',
      walletId,
      callbackUrl: 'http://127.0.0.1:1/shop1',
      requiredConfirmations: 1,
      allowPrivateCallback: true,
      allowHttpCallback: true,
      webhookSecret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    });
    return keys.rotateMerchantKey(tx, now, world.randomBytes(32), 0);
  });
  await database.close();
  const config = {
    db: path,
    listen: { host: '127.0.0.1', port: 0 },
    network: 'regtest',
    electrum: [parseServerAddress(`tcp://127.0.0.1:${port}`)],
    // The depth of the merkle tree is proven for every payment.
    proveDepthAbove: 0,
    publicUrl: undefined,
    ...withoutLimits,
    logLevel: 'info',
  } as const;
  const opened = await openApp(config, world, {
    onFatal: (error) => {
      throw error;
    },
  });
  const app = await startApp(opened);
  await world.until(() => app.health().electrum.caught_up && app.health().wallets.scanning === 0);
  await app.idle();
  await app.stop();
  await close();
  // With the mark file, paygate would recognise each copy of the template as a copy.
  rmSync(join(folder, '.paygate-mark'), { recursive: true, force: true });
  return { path, apiKey, instance, remove: () => rmSync(folder, { recursive: true }) };
}
