// A stop soon after a start: no task that the start began continues afterwards.

import { afterEach, expect, it } from 'vitest';
import { openApp, startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { cleanUp } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

it.each([0, 1, 2, 5])('ends all that a start begins, %i turns later', async (turns) => {
  const records = await openTestStore();
  await records.database.close();
  const world = createTestWorld();
  const given = { electrum: ['tcp://127.0.0.1:1'], listen: ['127.0.0.1:0'], price: ['off'] };
  const config = readConfig({ ...given, db: [records.path], network: ['regtest'] }, {});
  const onFatal = (error: Error) => {
    throw error;
  };
  const app = await startApp(await openApp(config, world, { onFatal }));
  for (let turn = 0; turn < turns; turn += 1) await world.turn();
  await app.stop();
  expect(app.port).toBeGreaterThan(0);
  // A clock that still ran would meet a file that is closed.
  await world.advance(3_600_000);
});
