// Row `callbacks`: 5,000 callbacks of 100 stores on 100 hosts become due at once. The clock runs
// from the first to the last delivery that the file records.
// Peer: the same number of requests to the same hosts by a bare loop of undici (bare-sender.mjs).

import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { startChain } from './chain.mjs';
import { atEnd } from './cleanup.mjs';
import { addStores, makeDue, paidFile, setCallbackUrl } from './database.mjs';
import { startHelper } from './helper.mjs';
import { serve, untilCaughtUp } from './server.mjs';
import { median, pairedRatio, takeTurns } from './stats.mjs';

const HOSTS = 100;
const EACH = 50;
const ROUNDS = 5;
const POLL_MS = 5;
const MIN_RATIO = 0.4;

/** @type {import('../bench.mjs').Bench} */
export async function benchCallbacks(context) {
  const { callbackUrls } = await startHelper('many-shops.mjs', [HOSTS]).next();
  const { electrum } = await startChain();
  const { path } = await paidFile(context, HOSTS * EACH);
  setCallbackUrl(path, callbackUrls[0]);
  addStores(path, callbackUrls.slice(1));
  await untilCaughtUp(await serve(context, path, electrum));
  const file = new SqliteDatabase(path, { readonly: true });
  atEnd(() => file.close());
  const count = file.prepare("SELECT count(*) FROM callbacks WHERE state = 'owed'").pluck();
  const due = () => Number(count.get());
  const contenders = {
    /** @returns recorded deliveries a second */
    async ours() {
      makeDue(path);
      while (due() === HOSTS * EACH) await sleep(POLL_MS);
      const [startedAt, first] = [performance.now(), due()];
      while (due() > 0) await sleep(POLL_MS);
      return (first * 1000) / (performance.now() - startedAt);
    },
    async bare() {
      const sender = startHelper('bare-sender.mjs');
      const { ms } = await sender.ask({ urls: callbackUrls, each: EACH });
      sender.end();
      return (HOSTS * EACH * 1000) / ms;
    },
  };
  await takeTurns(1, contenders); // V8 compiles both
  const { ours, bare } = await takeTurns(ROUNDS, contenders);
  const ratio = pairedRatio(ours, bare);
  return {
    name: 'callbacks',
    unit: '/s',
    figure: median(ours),
    peer: { name: 'bare undici', figure: median(bare) },
    ratio,
    floor: `≥ ${MIN_RATIO} of the bare sender`,
    holds: ratio >= MIN_RATIO,
    details: [],
  };
}
