// Lightning by real LND nodes: two merchants, and a customer with a channel to each. They take ten
// seconds to start, so that all tests share them.

import { afterAll, beforeAll, describe } from 'vitest';
import { hasLnd } from '../../scripts/regtest/lnd.mjs';
import { testNode } from './lightning-node.ts';
import { testOrders } from './lightning-orders.ts';
import { type Lightning, startLightning } from './lnd.ts';
import { waitLimit } from './slowness.ts';

const title = hasLnd() ? 'Lightning' : 'Lightning (skipped, 14 tests: LND is not built)';

describe.skipIf(!hasLnd())(title, () => {
  let lightning: Lightning;

  beforeAll(async () => {
    lightning = await startLightning(2);
  }, waitLimit(180_000));

  afterAll(() => lightning?.close());

  // Its cursors are those of new nodes.
  describe('LND', () => testNode(() => lightning));
  describe('orders', () => testOrders(() => lightning));
});
