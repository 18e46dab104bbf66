// Changes of a store by the operator while callbacks are pending, callbacks sent by hand, weeks that
// pass, and events while paygate is down.

import { rotatedSecrets } from '../../src/delivery/signature.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import type { Tx } from '../../src/store/db/writer.ts';
import type { Store } from '../../src/store/open-store.ts';
import { appActions, change, dayMs, open } from './app-actions.ts';
import { chainActions, meanwhile, spendAll, unlessRefused } from './chain-actions.ts';
import { noteFinals, readBooks } from './invariants.ts';
import type { Shop, Terms } from './recount.ts';
import { onTheWayMs } from './requests.ts';
import { type Action, type Run, settle, through } from './run.ts';

const byHand = (run: Run, work: (store: Store, tx: Tx) => void): Promise<void> =>
  run.app.withStore((store) => store.database.write((tx) => work(store, tx)));

/** As `store set --confirmations-above`. */
const deepen: Action = (run, random) => {
  const shop = random.pick(run.shops);
  noteFinals(run);
  shop.bands = Array.from({ length: random.int(0, 2) }, () => ({
    aboveSat: random.int(1_000, 3_000_000),
    confirmations: random.int(2, 7),
  }));
  const bands = JSON.stringify(shop.bands);
  change(run, shop, { confirmation_bands: bands });
  return `deepen: ${shop.name} wants ${bands}`;
};

function setTerms({ world }: Run, shop: Shop, terms: Terms): void {
  shop.past = [{ ...shop.terms, endedAt: world.monotonic() }, ...shop.past];
  shop.terms = terms;
}

const move: Action = (run, random) => {
  const shop = random.pick(run.shops);
  const path = `/${shop.name}/${run.step}`;
  change(run, shop, { callback_url: `${run.app.receiver.origin}${path}?secret=s3cr3t` });
  setTerms(run, shop, { ...shop.terms, path });
  return `move: ${shop.name} to ${path}`;
};

/** As `store rotate-secret`. */
const rotate: Action = async (run, random) => {
  const shop = random.pick(run.shops);
  const secret = `whsec_${Buffer.alloc(32, `step ${run.step}`).toString('base64')}`;
  const now = run.world.now();
  const older = { secret: shop.terms.secret, until: now + 7 * dayMs };
  // The shop knows both before the first request that the new one signs.
  setTerms(run, shop, { ...shop.terms, secret, older });
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

/** As `store remove --stop-callbacks`, or without it once more. */
const hush: Action = async (run, random) => {
  const shop = random.pick(run.shops);
  if (!shop.archived && open(run).length === 1) return appActions.found(run, random);
  await setStopped(run, shop, shop.stoppedAt === undefined);
  if (shop.stoppedAt === undefined) return `hush: ${shop.name} is told again`;
  await run.world.advance(onTheWayMs + 1_000);
  const paid = await chainActions.pay(run, random);
  return `hush: ${shop.name} is told nothing; ${paid}`;
};

/** As `callbacks resend`. */
const resend: Action = async (run, random) => {
  const callback = random.recent(readBooks(run.app.path).callbacks);
  if (callback === undefined) return 'resend: nothing was told';
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

/** As `callbacks resend-failed`. */
async function resendFailed(run: Run, shop: Shop): Promise<number> {
  let count = 0;
  await byHand(run, ({ outbox }, tx) => {
    count = outbox.resendFailed(tx, run.world.now(), shop.id, 0);
  });
  return count;
}

const resendAll: Action = async (run, random) => {
  const shop = random.pick(run.shops);
  if (shop.stoppedAt !== undefined) return `resendAll: ${shop.name} is told nothing`;
  return `resendAll: ${await resendFailed(run, shop)} of ${shop.name}`;
};

/** What a person does at last: whoever was told nothing is told again, and what was given up on is sent again. */
export async function reopen(run: Run): Promise<void> {
  for (const shop of run.shops) {
    if (shop.stoppedAt !== undefined) await setStopped(run, shop, false);
  }
  if (run.app.running.health().callbacks.exhausted === 0) return;
  for (const shop of run.shops) await resendFailed(run, shop);
}

/** Longer than any wait of a callback. */
const longMs = 3 * dayMs;
/** More than a callback has tries. */
const tries = 16;

/** Weeks pass in which a shop is broken: what is owed is given up on. */
const neglect: Action = async (run, random) => {
  const { merchant } = run;
  run.merchant = { answer: { status: 500 } };
  await chainActions.pay(run, random);
  for (let left = tries; left > 0; left -= 1) {
    run.world.jumpWallClock(longMs);
    await run.world.advance(1_000);
    await settle(run);
  }
  run.merchant = merchant;
  return `neglect: ${run.app.running.health().callbacks.exhausted} callbacks given up`;
};

/** A machine that slept for long, or whose clock is set back for a while. */
const leap: Action = (run, random) => {
  const ms = random.pick([30, 365]) * dayMs;
  if (random.chance(0.6)) {
    run.world.jumpWallClock(ms);
    return `leap: ${ms / dayMs} days`;
  }
  const lasts = random.int(1, 4);
  run.world.jumpWallClock(-ms);
  run.troubles.push({
    untilStep: run.step + lasts,
    end: () => run.world.jumpWallClock(ms),
  });
  // What was a day old once may have been forgotten.
  for (const [name, order] of run.orders) run.orders.set(name, { ...order, at: 0 });
  return `leap: ${-ms / dayMs} days for ${lasts} steps`;
};

/** What is paid, confirmed and spent while paygate is down. */
const away: Action = async (run, random) => {
  const to = random.recent(run.given);
  if (to === undefined) return 'away: nothing was given out';
  const { app } = run;
  await through(run, app.stop());
  const spent = unlessRefused('spent', () => {
    app.chain.pay([{ script: to.script, valueSat: random.int(5_000, 500_000) }]);
    app.chain.mine(random.int(1, 3));
    return spendAll(run, to);
  });
  if (random.chance(0.5)) app.chain.mine();
  const happened = await meanwhile(run, random);
  await app.start();
  return `away: paid to index ${to.index}, ${spent}${happened}`;
};

/** A shop looks at what is on an address: what it was answered may be remembered. */
const look: Action = async (run, random) => {
  const given = random.recent(run.given);
  if (given === undefined || given.unseen) return 'look: at nothing';
  const asked = run.app.ask(`/api/balance?addr=${given.address}`);
  const { status, body } = await through(run, asked);
  if (status !== 200 && status !== 503) throw new Error(`no balance: ${JSON.stringify(body)}`);
  return `look: at index ${given.index}, ${status}`;
};

export const operatorActions = {
  ...{ deepen, move, rotate, hush, resend, resendAll, neglect, leap, away, look },
};

export const operatorWeights: Readonly<Record<keyof typeof operatorActions, number>> = {
  deepen: 2,
  move: 2,
  rotate: 2,
  hush: 1.5,
  resend: 3,
  resendAll: 1,
  neglect: 1,
  look: 3,
  leap: 1,
  away: 2,
};
