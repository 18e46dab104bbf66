// Method of `commits`: strace counts the fsyncs and fdatasyncs of a `./paygate serve` (its Electrum server
// unreachable) by file while a shop asks for 100 addresses one after the other and then for 1,000 on 64
// connections; the commits are counted in SQLite's own write-ahead log. Ours: those of the database a
// commit; beside it those of the sidecar, the mark, a commit that issues. Without strace there is no row.

import { burst, LEAD_IN } from './load.mjs';
import { NO_ELECTRUM } from './new-address.mjs';
import { addStore, serve } from './paygate.mjs';
import { pidOf } from './process-of.mjs';
import { commitsInLog, countSyncs, emptyLog, noStrace } from './syncs.mjs';

const ALONE = 100;
const TOGETHER = 1_000;
const CONNECTIONS = 64;

/** @type {import('../bench.mjs').Bench} */
export async function benchCommits(context) {
  const lacking = noStrace();
  if (lacking !== undefined) {
    context.progress(`commits: no row, ${lacking}`);
    return [];
  }
  const shop = await addStore(context, 'commits');
  const origin = await serve(context, shop.path, NO_ELECTRUM);
  const target = { origin, path: '/api/new_address', apiKey: shop.apiKey };
  await burst({ ...target, connections: 1 }, 1);
  const counter = await countSyncs(pidOf(shop.path), shop.path, context.folder);

  /**
   * @param {number} connections
   * @param {number} count
   */
  async function run(connections, count) {
    await counter.taken();
    await emptyLog(shop.path);
    const { answers } = await burst({ ...target, connections }, count);
    const syncs = await counter.taken();
    const commits = commitsInLog(shop.path);
    return { commits, syncs, issued: answers.length + LEAD_IN };
  }
  const alone = await run(1, ALONE);
  const together = await run(CONNECTIONS, TOGETHER);
  const commits = alone.commits + together.commits;
  const database = alone.syncs.log + together.syncs.log + alone.syncs.main + together.syncs.main;
  const mark = alone.syncs.mark + together.syncs.mark;
  return {
    name: 'commits',
    unit: 'fsyncs',
    ours: database / commits,
    pairs: commits,
    beside: [{ name: 'sidecar, a commit', value: mark / commits, ratio: database / mark }],
    targets: [
      { text: '1.0 of the database a commit', met: Math.abs(database / commits - 1) < 0.01 },
    ],
    notes: [
      `${commits} commits: ${describe(alone)} one after the other, ${describe(together)} on ` +
        `${CONNECTIONS} connections. Some commits derive ahead and do not touch the sidecar.`,
    ],
  };
}

/** @param {{ commits: number, syncs: import('./syncs.mjs').Syncs, issued: number }} run */
const describe = ({ commits, syncs: { log, main, mark }, issued }) =>
  `${issued} addresses in ${commits} commits, ${log + main} fsyncs of the database and ${mark} of the sidecar`;
