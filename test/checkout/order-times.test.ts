// An order that expired by a clock that was ahead, on the pages of customer and merchant. They show
// what its event says until a write has opened it again.

import { afterEach, expect, test } from 'vitest';
import { minuteMs } from '../../src/lib/time-units.ts';
import { closeApps, untilReady } from '../support/app.ts';
import { openTill } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

test('pages show it as expired, and a moment later as open', async () => {
  const { app, id, path } = await openTill({ expires_in: 600 });
  const isShownAs = async (status: 'open' | 'expired') => {
    // The clock ends sessions, too.
    const visitor = await signedIn(app);
    const { text: page } = await visitor.get(path);
    expect(page.includes('Do not pay any more')).toBe(status === 'expired');
    const missing_sat = status === 'open' ? 25_000 : null;
    expect((await app.get('/orders')).body.data).toMatchObject([{ status, missing_sat }]);
    const { text: file } = await visitor.get('/dashboard/orders/export');
    expect(file).toContain(`,${status},`);
    const { text: ofMerchant } = await visitor.get(`/dashboard/orders/${id}`);
    expect(ofMerchant.includes('Open in a wallet')).toBe(status === 'open');
  };
  await isShownAs('open');
  /** All servers are connected anew then. */
  const jump = async (ms: number) => {
    app.world.jumpWallClock(ms);
    await app.world.advance(2_000);
    await untilReady(app);
    await app.world.advance(2_000);
    await app.settle();
  };
  await jump(11 * minuteMs);
  await isShownAs('expired');
  app.world.jumpWallClock(-11 * minuteMs);
  await isShownAs('expired');
  await jump(0);
  await isShownAs('open');
});
