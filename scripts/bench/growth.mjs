// Method: the same work with 1,000, 10,000, 100,000 and 1,000,000 addresses in the file, each with a settled payment.
// What belongs to one address or payment is done in this process, 200 in a commit, where the commit counts
// as well: an address is issued (derived before), a payment recorded, a callback claimed and its delivery
// recorded; and the reads that a sweep makes each minute. A start, a block and a page are those of the built
// `./paygate serve` beside a simulated chain. Each row says 1,000,000 as ours and 10,000 as the floor: what
// grows no faster than the logarithm of the number does not double.

import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../src/store/open-store.ts';
import { cpuOfBlocks, startChain } from './new-block.mjs';
import { askPage } from './pages.mjs';
import { launcher, memoryOf, serveArguments, startProgram, untilCaughtUp } from './program.mjs';
import { paidFile } from './sized.mjs';
import { median, takeTurns } from './stats.mjs';

const SIZES = [1_000, 10_000, 100_000, 1_000_000];
const STARTS = 5;
/** In one or two of them the log is moved into the file, and what is written meanwhile waits for the disk. */
const ROUNDS = 15;
const AT_ONCE = 200;
const SWEPT_AT_ONCE = 50;
/** One takes a tenth of a millisecond. */
const SWEEPS = 50;
const PAGE_REQUESTS = 20;
/** Something else that runs once makes a block free, or worse. */
const BLOCK_ROUNDS = 5;
const POLL_MS = 100;
/** What a start leaves to tidy up is not the block's. */
const SETTLE_MS = 10_000;
const WARM_UP = 2_000;
/** With fewer, all rows lie on the same few pages of the file. */
const COMPARED = 10_000;
const MOST_GROWTH = 2;
/** These go by how many are hot. @type {ReadonlySet<string>} */
const counting = new Set(['ready', 'round']);
const WALLET = 1;
const STORE = 1;

/** What is measured, in the order of the table; a start grows with what the server must be asked. */
const rows = /** @type {const} */ ({
  issue: 'an address issued',
  record: 'a payment recorded',
  deliver: 'a callback claimed and delivered',
  sweep: 'reads of a sweep’s minute',
  round: 'the counts that a round of sweeps begins with, every ten minutes',
  listening: 'a start, until it listens',
  block: 'CPU of a block for nobody',
  page: 'the first page of the dashboard',
  ready: 'a start, until all are compared (100,000 at most)',
});
/** @typedef {keyof typeof rows} Name */

/** @type {import('../bench.mjs').Bench} */
export async function benchGrowth(context) {
  const { electrum, mine } = await startChain();
  /** @type {(Record<Name, number> & { memoryMib: number })[]} */
  const measured = [];
  // Not counted: code that runs for the first time.
  const warmUp = await paidFile(context, WARM_UP);
  await measureStore(warmUp.path);
  for (const size of SIZES) {
    const { path } = await paidFile(context, size);
    context.progress(`growth: ${size}`);
    const served = await measureServed(context, path, { electrum, mine });
    measured.push({ ...served, ...(await measureStore(path)) });
  }
  return /** @type {Name[]} */ (Object.keys(rows)).map((name) => rowOf(name, measured));
}

/**
 * @param {Name} name
 * @param {(Record<Name, number> & { memoryMib: number })[]} measured of each size
 * @returns {import('./table.mjs').Row}
 */
function rowOf(name, measured) {
  const values = measured.map((each) => each[name]);
  const floor = values[SIZES.indexOf(COMPARED)] ?? Number.NaN;
  const ours = values.at(-1) ?? Number.NaN;
  const memory = measured.map(({ memoryMib }) => memoryMib.toFixed(0)).join(', ');
  return {
    name: `growth-${name}`,
    unit: 'ms',
    ours,
    floor,
    ratio: ours / floor,
    pairs: ROUNDS,
    ...(name === 'ready' && { memoryMib: measured.at(-1)?.memoryMib ?? Number.NaN }),
    ...(!counting.has(name) && {
      targets: [{ text: `≤ ${MOST_GROWTH} × at 10,000`, met: ours <= MOST_GROWTH * floor }],
    }),
    notes: [
      `${rows[name]}: ${values.map((value) => value.toFixed(3)).join(', ')} ms with ${SIZES.join(', ')} addresses` +
        (name === 'ready' ? `; it holds ${memory} MiB then (anonymous).` : '.'),
    ],
  };
}

/**
 * @param {import('../bench.mjs').Context} context
 * @param {string} path
 * @param {{ electrum: string, mine: () => Promise<void> }} chain
 */
async function measureServed(context, path, { electrum, mine }) {
  const args = serveArguments(path, electrum);
  await (await startProgram(launcher(context), args)).end();
  const starts = [await startReady(context, args)];
  while (starts.length < STARTS) {
    await starts.at(-1)?.program.end();
    starts.push(await startReady(context, args));
  }
  const { program } = starts.at(-1) ?? fail();
  await sleep(SETTLE_MS);
  const page = median(await askPage(program.port, '/dashboard', PAGE_REQUESTS));
  const { blocks } = await takeTurns(BLOCK_ROUNDS, { blocks: () => cpuOfBlocks(program, mine) });
  const block = median(blocks);
  const memoryMib = memoryOf(program).anonymous;
  await program.end();
  return {
    listening: median(starts.map(({ program: { answeredMs } }) => answeredMs)),
    ready: median(starts.map(({ readyMs }) => readyMs)),
    ...{ page, block, memoryMib },
  };
}

/**
 * @param {import('../bench.mjs').Context} context
 * @param {(port: number) => string[]} args
 */
async function startReady(context, args) {
  const program = await startProgram(launcher(context), args);
  await untilCaughtUp(program.origin, POLL_MS);
  return { program, readyMs: performance.now() - program.startedAt };
}

/** @param {string} path */
async function measureStore(path) {
  const store = await openStore({
    ...{ path, create: false, network: 'regtest', newInstance: () => '' },
  });
  const { database, addresses, ledger, outbox } = store;
  // The first start finds no mark and skips 100 indexes, whose payments belong to nobody here.
  const hot = addresses
    .recent(0, undefined, ROUNDS * AT_ONCE)
    .flatMap(({ scripthash }) => addresses.byScripthash(scripthash) ?? [])
    .filter(({ origin }) => origin === 'issued');
  let next = 0;

  const record = () =>
    database.write((tx) => {
      for (let count = 0; count < AT_ONCE; count += 1) {
        const { id: addressId } = hot[next % hot.length] ?? fail();
        next += 1;
        const txid = /** @type {import('../../src/bitcoin/ids.ts').Txid} */ (
          `${next}`.padStart(64, 'e')
        );
        const output = { valueSat: 1_000, signalsRbf: false, coinbase: false };
        const seen = [{ txid, block: null, output, raw: new Uint8Array(200) }];
        const facts = { addressId, origin: /** @type {const} */ ('issued'), seen, gone: [] };
        ledger.apply(tx, Date.now(), { ...facts, statusHash: null });
      }
    });
  const deliver = () =>
    database.write((tx) => {
      const now = Date.now();
      const limits = { limit: AT_ONCE, perStore: AT_ONCE, leaseMs: 60_000, afterStoreId: 0 };
      const claimed = outbox.claim(tx, now, limits);
      if (claimed.length !== AT_ONCE) throw new Error(`claimed ${claimed.length}`);
      for (const each of claimed) outbox.record(tx, now, each, delivered, never);
    });
  const sweep = async () => {
    for (let count = 0; count < SWEEPS; count += 1) {
      addresses.recent(0, undefined, SWEPT_AT_ONCE);
      addresses.unsettled(Number.MAX_SAFE_INTEGER, SWEPT_AT_ONCE);
      addresses.given(Number.MAX_SAFE_INTEGER, SWEPT_AT_ONCE);
    }
  };
  const round = async () => {
    addresses.countRecent(0);
    addresses.countUnsettled();
    addresses.count();
  };
  const issue = () =>
    database.write((tx) => {
      const now = Date.now();
      for (let count = 0; count < AT_ONCE; count += 1) addresses.issue(tx, now, WALLET, STORE);
    });

  const until = addresses.derivedUntil(WALLET) + ROUNDS * AT_ONCE;
  await database.write((tx) => void addresses.deriveAhead(tx, WALLET, until));
  const measured = {
    record: await timeEach(record, AT_ONCE),
    deliver: await timeEach(deliver, AT_ONCE),
    sweep: await timeEach(sweep, SWEEPS),
    round: await timeEach(round, 1),
    issue: await timeEach(issue, AT_ONCE),
  };
  await database.close();
  return measured;
}

const never = { step: 1, at: undefined };
const delivered = /** @type {import('../../src/store/records/outbox.ts').AttemptRecord} */ ({
  ...{ startedAt: 0, durationMs: 1, outcome: 'delivered', httpStatus: 200, reason: null },
  ...{ body: null, address: null, phases: {}, doubt: null },
});

/**
 * @param {() => Promise<void>} work
 * @param {number} parts
 * @returns {Promise<number>} milliseconds of one part, the median of some rounds
 */
async function timeEach(work, parts) {
  const times = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    await work();
    times.push((performance.now() - began) / parts);
  }
  return median(times);
}

/** @returns {never} */
function fail() {
  throw new Error('there is none');
}
