// Actions of the operator: changes of a store while callbacks are pending, and manual resends. Also
// weeks that pass, and payments while paygate is down.

import { rotatedSecrets } from '../../src/delivery/signature.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { dayMs, minuteMs, secondMs } from '../../src/lib/time-units.ts';
import type { Tx } from '../../src/store/db/writer.ts';
import type { Records } from '../../src/store/open-records.ts';
import { appActions, changeStore, open } from './app-actions.ts';
import { chainActions, meanwhile, spendAll, unlessRefused } from './chain-actions.ts';
import { noteFinals, readRecords } from './invariants.ts';
import type { CallbackSettings, Shop } from './recount.ts';
import { maxInFlightMs } from './requests.ts';
import { type Action, finish, type Run, settle } from './run.ts';
import { eventsIn } from './webhooks.ts';

const byHand = (run: Run, work: (records: Records, tx: Tx) => void): Promise<void> =>
  run.app.withStore((records) => records.database.write((tx) => work(records, tx)));

/** Like `store set --confirmations-above`. */
const setBands: Action = (run, random) => {
  const shop = random.pick(run.shops);
  noteFinals(run);
  shop.bands = Array.from({ length: random.int(0, 2) }, () => ({
    aboveSat: random.int(1_000, 3_000_000),
    confirmations: random.int(2, 7),
  }));
  const bands = JSON.stringify(shop.bands);
  changeStore(run, shop, { confirmation_bands: bands });
  return `setBands: ${shop.name} wants ${bands}`;
};

function setCallbackSettings({ world }: Run, shop: Shop, settings: CallbackSettings): void {
  shop.pastSettings = [{ ...shop.settings, endedAt: world.monotonic() }, ...shop.pastSettings];
  shop.settings = settings;
}

const setCallbackUrl: Action = (run, random) => {
  const shop = random.pick(run.shops);
  const path = `/${shop.name}/${run.step}`;
  changeStore(run, shop, { callback_url: `${run.app.receiver.origin}${path}?secret=s3cr3t` });
  setCallbackSettings(run, shop, { ...shop.settings, path });
  return `setCallbackUrl: ${shop.name} to ${path}`;
};

/** Like `store rotate-secret`. */
const rotate: Action = async (run, random) => {
  const shop = random.pick(run.shops);
  const secret = `whsec_${Buffer.alloc(32, `step ${run.step}`).toString('base64')}`;
  const now = run.world.now();
  const older = { secret: shop.settings.secret, until: now + 7 * dayMs };
  // The shop has both secrets before the first request with the new one.
  setCallbackSettings(run, shop, { ...shop.settings, secret, older });
  await byHand(run, ({ catalog }, tx) => {
    catalog.changeStore(tx, shop.id, rotatedSecrets(catalog.store(shop.id), secret, now));
  });
  return `rotate: the secret of ${shop.name}`;
};

async function setStopped(run: Run, shop: Shop, isStopped: boolean): Promise<void> {
  if (!isStopped) shop.stoppedAt = undefined;
  await byHand(run, ({ catalog }, tx) => {
    catalog.archiveStore(tx, run.world.now(), shop.id, isStopped);
  });
  shop.archived = true;
  if (isStopped) shop.stoppedAt = run.world.monotonic();
}

/** Like `store remove --stop-callbacks`; if the shop is stopped, like `store remove`. */
const toggleCallbacks: Action = async (run, random) => {
  const shop = random.pick(run.shops);
  if (!shop.archived && open(run).length === 1) return appActions.addShop(run, random);
  await setStopped(run, shop, shop.stoppedAt === undefined);
  if (shop.stoppedAt === undefined) return `toggleCallbacks: ${shop.name} gets callbacks again`;
  await run.world.advance(maxInFlightMs + 1_000);
  const paid = await chainActions.pay(run, random);
  return `toggleCallbacks: ${shop.name} gets no callbacks; ${paid}`;
};

/** Like `callbacks resend`. */
const resend: Action = async (run, random) => {
  const callback = random.recent(readRecords(run.app.path).callbacks);
  if (callback === undefined) return 'resend: no callback';
  const { id, state, status } = callback;
  const what = `resend: ${id}, status ${status}, ${state}`;
  try {
    await byHand(run, ({ outbox }, tx) => outbox.resend(tx, run.world.now(), id));
    return what;
  } catch (error) {
    if (error instanceof PaygateError) return `${what}: refused, ${error.message}`;
    throw error;
  }
};

/** Like `callbacks resend-failed`. */
async function resendFailed(run: Run, shop: Shop): Promise<number> {
  let count = 0;
  await byHand(run, ({ outbox }, tx) => {
    count = outbox.resendFailed(tx, run.world.now(), shop.id, 0);
  });
  return count;
}

const resendAll: Action = async (run, random) => {
  const shop = random.pick(run.shops);
  if (shop.stoppedAt !== undefined) return `resendAll: ${shop.name} gets no callbacks`;
  return `resendAll: ${await resendFailed(run, shop)} of ${shop.name}`;
};

/** The operator's repairs: stopped shops get callbacks again, exhausted callbacks are resent. */
export async function reopen(run: Run): Promise<void> {
  for (const shop of run.shops) {
    if (shop.stoppedAt !== undefined) await setStopped(run, shop, false);
  }
  if (eventsIn(run.app.path, 'exhausted').length > 0) {
    for (const { id } of run.shops) {
      await byHand(run, ({ webhooks }, tx) => {
        webhooks.resendFailed(tx, run.world.now(), id);
      });
    }
  }
  if (run.app.running.health().callbacks.exhausted === 0) return;
  for (const shop of run.shops) await resendFailed(run, shop);
}

/** Longer than any delay of a retry. */
const longMs = 3 * dayMs;
/** More attempts than a callback has, after the blocks that make its payment final. */
const attempts = 23;

/** The shop fails for weeks, until pending callbacks are exhausted. */
const exhaust: Action = async (run, random) => {
  const { merchant } = run;
  run.merchant = { answer: { status: 500 } };
  await chainActions.pay(run, random);
  const sleepThen = async (ms: number, awakeMs: number): Promise<void> => {
    run.world.sleep(ms);
    run.app.chain.mine();
    await run.world.advance(awakeMs);
    await settle(run);
  };
  for (let left = attempts; left > 0; left -= 1) await sleepThen(longMs, secondMs);
  // The last attempt is a day later, once a block has shown that the clock is right.
  await sleepThen(dayMs - 5 * minuteMs, 10 * minuteMs);
  run.merchant = merchant;
  return `exhaust: ${run.app.running.health().callbacks.exhausted} callbacks exhausted`;
};

/** The clock is wrong for some steps. */
const jumpDays: Action = async (run, random) => {
  const ms = random.pick([-365, -30, 1, 30, 365]) * dayMs;
  const lasts = random.int(1, 4);
  run.world.jumpWallClock(ms);
  run.activeFaults.push({
    untilStep: run.step + lasts,
    end: () => run.world.jumpWallClock(-ms),
  });
  // Long enough for new connections to the servers, and for what is due by this clock.
  if (random.chance(0.5)) {
    await run.world.advance(10 * secondMs);
    await settle(run);
  }
  return `jumpDays: ${ms / dayMs} days for ${lasts} steps`;
};

/** The machine slept, and blocks were mined meanwhile. */
const sleepDays: Action = (run, random) => {
  const days = random.pick([0.1, 30, 365]);
  run.world.sleep(days * dayMs);
  run.app.chain.mine();
  return `sleepDays: ${days} days`;
};

/** An address is paid and spent while paygate is down. */
const payWhileDown: Action = async (run, random) => {
  const to = random.recent(run.issued);
  if (to === undefined) return 'payWhileDown: nothing was issued';
  const { app } = run;
  await finish(run, app.stop());
  const spent = unlessRefused('spent', () => {
    app.chain.pay([{ script: to.script, valueSat: random.int(5_000, 500_000) }]);
    app.chain.mine(random.int(1, 3));
    return spendAll(run, to);
  });
  if (random.chance(0.5)) app.chain.mine();
  const happened = await meanwhile(run, random);
  await app.start();
  return `payWhileDown: paid to index ${to.index}, ${spent}${happened}`;
};

/** A shop requests the balance of an address, which paygate may cache. */
const getBalance: Action = async (run, random) => {
  const issued = random.recent(run.issued);
  if (issued === undefined || issued.isUnwatched) return 'getBalance: no address';
  const asked = run.app.ask(`/api/balance?addr=${issued.address}`);
  const { status, body } = await finish(run, asked);
  if (status !== 200 && status !== 503) throw new Error(`no balance: ${JSON.stringify(body)}`);
  return `getBalance: index ${issued.index}, ${status}`;
};

export const operatorActions = {
  ...{ setBands, setCallbackUrl, rotate, toggleCallbacks, resend, resendAll },
  ...{ exhaust, jumpDays, sleepDays, payWhileDown, getBalance },
};

export const operatorWeights: Readonly<Record<keyof typeof operatorActions, number>> = {
  setBands: 2,
  setCallbackUrl: 2,
  rotate: 2,
  toggleCallbacks: 1.5,
  resend: 3,
  resendAll: 1,
  exhaust: 1,
  getBalance: 3,
  jumpDays: 1.5,
  sleepDays: 1,
  payWhileDown: 2,
};
