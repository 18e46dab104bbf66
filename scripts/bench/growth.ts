// Row `growth`: the same work with 10,000 and with 1,000,000 paid addresses in the file, by
// `./paygate serve` on a simulated chain. Issued addresses, payments (recorded and delivered),
// blocks that pay nobody and pages are measured in processor time, less what an idle paygate
// uses. The figure is the largest ratio of the two. What grows with the logarithm of the size
// grows 1.5 ×.

import { setTimeout as sleep } from 'node:timers/promises';
import { paidFile, sessionCookie, setCallbackUrl } from './database.ts';
import { startChain, startShop } from './helper.ts';
import { burst } from './load.ts';
import { median, type Row } from './row.ts';
import { progress } from './run.ts';
import { cpuMs, type Server, serve, untilCaughtUp } from './server.ts';

const SIZES = [10_000, 1_000_000] as const;
const STARTS = 3;
const ROUNDS = 7;
const PAYMENTS = 200;
const PAGES = 100;
const BLOCKS = 20;
const BLOCK_MS = 100;
/** A start leaves work behind. */
const SETTLE_MS = 10_000;
/** Addresses are derived and subscribed after they were issued. */
const AFTER_MS = 1_000;
const POLL_MS = 5;
const MAX_GROWTH = 2;

/** Milliseconds. */
type Costs = Readonly<Record<'start' | 'address' | 'payment' | 'block' | 'page', number>>;

export async function benchGrowth(): Promise<Row> {
  const [small, large] = [await measure(SIZES[0]), await measure(SIZES[1])];
  const parts = Object.keys(small) as (keyof Costs)[];
  const figure = Math.max(...parts.map((part) => large[part] / small[part]));
  return {
    name: 'growth',
    unit: '×',
    figure,
    floor: `≤ ${MAX_GROWTH} × at 100 × the size`,
    holds: figure <= MAX_GROWTH,
    details: parts.map(
      (each) => `${each} ${small[each].toFixed(2)} → ${large[each].toFixed(2)} ms`,
    ),
  };
}

async function measure(size: number): Promise<Costs> {
  progress(`growth: ${size} addresses`);
  let callbacks = 0;
  const callbackUrl = await startShop((query) => {
    if (query.get('status') === '0') callbacks += 1;
  });
  const chain = await startChain();
  const { path, apiKey } = await paidFile(size);
  setCallbackUrl(path, callbackUrl);
  const starts: number[] = [];
  let server = await serve(path, chain.electrum);
  while (starts.length < STARTS) {
    await server.end();
    server = await serve(path, chain.electrum);
    starts.push(server.answeredMs);
  }
  await untilCaughtUp(server);
  await sleep(SETTLE_MS);
  const idle = (await medianCpu(server, 0, () => sleep(BLOCK_MS))) / BLOCK_MS;
  const block = await medianCpu(server, idle, async () => {
    await chain.tell({ mine: true });
    await sleep(BLOCK_MS);
  });
  const target = { origin: server.origin, path: '/api/new_address', apiKey, connections: 8 };
  let answers: readonly string[] = [];
  const issue = async () => {
    ({ answers } = await burst(target, PAYMENTS));
    await sleep(AFTER_MS);
  };
  const pay = async () => {
    const wanted = callbacks + PAYMENTS;
    await chain.tell({ pay: answers.map((each) => JSON.parse(each).address) });
    while (callbacks < wanted) await sleep(POLL_MS);
    await sleep(AFTER_MS);
  };
  const address: number[] = [];
  const payment: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    address.push(await cpuOf(server, idle, issue));
    payment.push(await cpuOf(server, idle, pay));
  }
  const shown = { origin: server.origin, path: '/dashboard', cookie: sessionCookie(server) };
  const page = await cpuOf(server, idle, () => burst({ ...shown, connections: 8 }, PAGES));
  await server.end();
  return {
    start: median(starts),
    address: median(address) / PAYMENTS,
    payment: median(payment) / PAYMENTS,
    block,
    page: page / PAGES,
  };
}

type Work = () => Promise<unknown>;

async function medianCpu(server: Server, idle: number, work: Work) {
  const each: number[] = [];
  while (each.length < BLOCKS) each.push(await cpuOf(server, idle, work));
  return median(each);
}

/**
 * @param idle milliseconds of processor a millisecond
 * @returns the processor time of the work, milliseconds
 */
async function cpuOf(server: Server, idle: number, work: Work): Promise<number> {
  const [startedAt, before] = [performance.now(), cpuMs(server)];
  await work();
  return cpuMs(server) - before - idle * (performance.now() - startedAt);
}
