// A server that leads in circles through its headers, or shows them too slowly, or not at all. It
// delays no payment while another server is there.

import { afterEach, describe, expect, test } from 'vitest';
import { collectGarbage } from '../../../src/cli/service/run-until-stopped.ts';
import { cleanUp } from '../../support/files.ts';
import type { Asked, Liar, Message } from '../../support/liar.ts';
import { type Lying, prepareLying } from '../../support/lying.ts';
import { prepareWatching } from '../../support/watching.ts';

afterEach(cleanUp);

const minuteMs = 60_000;
const newBlock = 'blockchain.headers.subscribe';
const getHeaders = 'blockchain.block.headers';
/** Within the deadline of a request. */
const slowMs = 6_000;
const strange = Buffer.alloc(80, 7).toString('hex');
const farTip = { height: 1_000, hex: strange };

async function begin(servers: number): Promise<Lying> {
  const watching = await prepareLying({ servers });
  await watching.start();
  await watching.world.until(() => liveOf(watching).length === 2, 'two servers');
  await watching.watcher.idle();
  return watching;
}

const liveOf = ({ watcher }: Lying): string[] =>
  watcher.status().servers.flatMap(({ state, label }) => (state === 'live' ? [label] : []));

/** In steps that leave time for real sockets. */
async function pass({ world }: Pick<Lying, 'world'>, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += 1_000) {
    await world.advance(1_000);
    for (let turns = 0; turns < 3; turns += 1) await world.turn();
  }
}

/** Announces an unknown tip, and answers requests for its headers. */
function lead(liar: Liar, show: (start: number, answer: Message) => Message | undefined): void {
  liar.lieUnasked = (message) => (message.method === newBlock ? undefined : message);
  liar.lie = ({ method, params }: Asked, answer) => {
    if (method === newBlock) return { ...answer, result: farTip };
    return method === getHeaders ? show(params[0], answer) : answer;
  };
  liar.notify(newBlock, [farTip]);
}

/** The header of a height, or one without a parent. */
function oneHeader({ chain }: Lying, { id, result }: Message, height: number): Message {
  const header = chain.header(height);
  const hex = header === undefined ? strange : Buffer.from(header).toString('hex');
  const shown = result?.headers ? { headers: [hex] } : { hex };
  return { jsonrpc: '2.0', id, result: { count: 1, max: 2016, ...shown } };
}

// The first block of all is one that we know.
test.each([
  {
    where: 'round and round',
    at: (start: number) => (start === 0 ? 0 : -1),
    says: 'the later ones do not connect',
  },
  { where: 'on and on', at: () => 0, says: 'not at the heights' },
])('P-152 headers that lead $where are a lie, and delay no payment', async ({ at, says }) => {
  const watching = await begin(2);
  const { chain, world, watcher } = watching;
  const liar = watching.inUse();
  let asked = 0;
  lead(liar, (start, answer) => {
    asked += 1;
    return oneHeader(watching, answer, at(start));
  });
  await world.turn();
  const issued = await watching.issue();
  chain.pay([{ address: issued.address, valueSat: 7_000 }]);
  chain.mine(3);
  const bans = () => watcher.status().servers.flatMap(({ ban }) => ban?.reason ?? []);
  await world.until(() => asked > 100 || bans().length > 0, 'the ban');
  expect(asked).toBeLessThan(20);
  expect(bans()).toEqual([expect.stringContaining(says)]);
  await watcher.idle();
  expect(watching.payments(issued)).toMatchObject([{ state: 'confirmed' }]);
});

test('P-159 a server that sends headers one by one is not awaited once another has sent them', async () => {
  const watching = await begin(2);
  const { chain, world, watcher } = watching;
  const liar = watching.inUse();
  const issued = await watching.issue();
  liar.lie = ({ method, params: [start] }, answer) => {
    if (method !== getHeaders) return answer;
    world.after(slowMs, () => liar.say(oneHeader(watching, answer, start)));
    return undefined;
  };
  chain.pay([{ address: issued.address, valueSat: 7_000 }]);
  // After many blocks at once, the server announces only the last one.
  chain.mine(40);
  await world.until(() => watcher.status().tipHeight === 150, 'the other one');
  await pass(watching, 12_000);
  await world.turn();
  expect(watching.payments(issued)).toMatchObject([{ state: 'confirmed' }]);
});

test('over a slow connection headers come in small pieces, each within its deadline', async () => {
  const watching = await prepareWatching({ servers: 1 });
  const { chain, watcher, servers } = watching;
  // 40 a second, which is 52 kbit/s.
  for (const count of [200, 400, 900]) {
    const isSo = (method: string, [, asked]: readonly unknown[]) =>
      method === getHeaders && Number(asked) <= count && Number(asked) > count / 2;
    servers[0]?.inject({ kind: 'delay', ms: count * 25, when: isSo });
  }
  chain.mine(790);
  watcher.start();
  for (let seconds = 0; watcher.status().tipHeight !== chain.tipHeight; seconds += 1) {
    expect(seconds).toBeLessThan(60);
    await pass(watching, 1_000);
  }
});

test('over a fast connection headers come in growing pieces', async () => {
  const watching = await prepareLying({ servers: 1 });
  const { chain } = watching;
  const liar = watching.liars[0] as Liar;
  const counts: number[] = [];
  liar.lie = ({ method, params: [, count] }, answer) => {
    if (method === getHeaders) counts.push(count);
    return answer;
  };
  chain.mine(900);
  await watching.start();
  expect(counts.filter((count) => count > 1)).toEqual([200, 400, 410]);
});

test('P-159 a server that takes minutes to send the headers of its tip is replaced by another', async () => {
  const watching = await begin(2);
  const { chain, world, watcher } = watching;
  const liar = watching.inUse();
  const { server } = watcher.status();
  lead(liar, (start, answer) => {
    world.after(slowMs, () => liar.say(oneHeader(watching, answer, start)));
    return undefined;
  });
  await world.turn();
  const issued = await watching.issue();
  chain.pay([{ address: issued.address, valueSat: 7_000 }]);
  chain.mine(3);
  await pass(watching, 3 * minuteMs);
  await world.until(() => watching.payments(issued).length > 0, 'the payment');
  expect(watcher.status().server).not.toBe(server);
  expect(watching.payments(issued)).toMatchObject([{ state: 'confirmed' }]);
  expect(world.logs).toContainEqual(
    expect.objectContaining({
      message: 'electrum server in doubt',
      fields: { server, reason: expect.stringContaining('headers') },
    }),
  );
});

test('P-159 an unused server that sends no header of its tip is replaced by another', async () => {
  const watching = await begin(3);
  const { liars, labels, watcher, world } = watching;
  const used = watcher.status().server;
  const second = liveOf(watching).find((label) => label !== used) ?? '';
  const third = labels.find((label) => label !== used && label !== second) ?? '';
  const liar = liars[labels.indexOf(second)];
  if (liar === undefined) throw new Error('there is no second server');
  let shown = 0;
  lead(liar, (_, answer) => {
    shown += 1;
    const none = answer.result?.headers ? { headers: [] } : { hex: '' };
    return { jsonrpc: '2.0', id: answer.id, result: { count: 0, max: 2016, ...none } };
  });
  await world.until(() => shown > 0, 'its headers to be asked for');
  await watcher.idle();
  await pass(watching, 3 * minuteMs);
  await world.until(() => liveOf(watching).includes(third), 'the third one');
  expect(watcher.status().server).toBe(used);
});

describe('P-159 a second server that sends known headers one by one delays', () => {
  const getHistory = 'blockchain.scripthash.get_history';

  async function beginLed() {
    const watching = await begin(2);
    const [second] = watching.liars.filter((each) => each !== watching.inUse());
    if (second === undefined) throw new Error('there is no second server');
    const issued = await watching.issue();
    watching.chain.pay([{ address: issued.address, valueSat: 7_000 }]);
    await watching.watcher.idle();
    return { ...watching, watcher: watching.watcher, second, issued };
  }

  /** Shows ever more of our chain, and never what follows it. */
  function showBack({ chain, world, second }: Lying & { second: Liar }) {
    return (start: number, answer: Message): undefined => {
      const shown = oneHeader({ chain } as Lying, answer, start <= chain.tipHeight ? start : -1);
      world.after(slowMs, () => second.say(shown));
    };
  }

  test('P-160 no address that it has placed falsely', async () => {
    const scene = await beginLed();
    const { chain, world, second, issued } = scene;
    const show = showBack(scene);
    let shown = 0;
    second.lie = ({ method, params: [first] }, answer) => {
      const isOurs = first === issued.scripthash;
      if (method === 'blockchain.scripthash.subscribe' && isOurs) {
        return { ...answer, result: 'ab'.repeat(32) };
      }
      if (method === getHistory && isOurs) {
        const result = answer.result.map((item: Message) => ({ ...item, height: 100 }));
        return { ...answer, result };
      }
      if (method === 'blockchain.transaction.get_merkle') {
        const result = { block_height: 100, merkle: [], pos: 0 };
        return { jsonrpc: '2.0', id: answer.id, result };
      }
      if (method === newBlock) return { ...answer, result: farTip };
      if (method !== getHeaders) return answer;
      shown += 1;
      return show(first, answer);
    };
    while (shown === 0) await pass(scene, 10_000);
    await pass(scene, 2 * minuteMs);
    chain.pay([{ address: issued.address, valueSat: 8_000 }]);
    await pass(scene, minuteMs);
    expect(scene.payments(issued)).toHaveLength(2);
    expect(world.logs.filter(({ message }) => message.includes('banned'))).toEqual([]);
  });

  test('P-160 no address that it alone reports', async () => {
    const scene = await beginLed();
    const { chain, issued, second } = scene;
    const first = scene.inUse();
    first.lie = ({ method, params: [of] }, answer) => {
      if (method !== getHistory || of !== issued.scripthash) return answer;
      return { jsonrpc: '2.0', id: answer.id, error: { code: 1, message: 'busy' } };
    };
    lead(second, showBack(scene));
    await pass(scene, 1_000);
    chain.pay([{ address: issued.address, valueSat: 8_000 }]);
    await pass(scene, 1_000);
    first.lie = undefined;
    await pass(scene, 3 * minuteMs);
    expect(scene.payments(issued)).toHaveLength(2);
  });
});

test('a header that arrives during the commit of the payments that wait for it is not missed', async () => {
  const watching = await prepareLying({ servers: 1 });
  const { chain, world, watcher, records } = watching;
  await watching.start();
  const issued = await watching.issue();
  chain.pay([{ address: issued.address, valueSat: 7_000 }]);
  await watcher.idle();
  const liar = watching.inUse();
  const late: Message[] = [];
  liar.lieUnasked = (message) => {
    if (message.method !== newBlock) return message;
    late.push(message);
    return undefined;
  };
  chain.mine();
  const write = records.database.write.bind(records.database);
  records.database.write = async (work, kind) => {
    records.database.write = write;
    for (const header of late) liar.say(header);
    await world.until(() => watcher.status().tipHeight === chain.tipHeight, 'the header');
    return write(work, kind);
  };
  await world.until(() => watcher.status().tipHeight === chain.tipHeight, 'the header');
  await watcher.idle();
  expect(watching.payments(issued)).toMatchObject([{ state: 'confirming' }]);
});

test('endless notifications of tips, while headers are awaited, cost little memory', async () => {
  const watching = await prepareLying({ servers: 1 });
  const { world, watcher } = watching;
  await watching.start();
  const liar = watching.inUse();
  let asked = 0;
  lead(liar, () => {
    asked += 1;
    return undefined;
  });
  await world.until(() => asked > 0, 'headers to be asked for');
  const bytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = bytes();
  for (let thousands = 0; thousands < 20; thousands += 1) {
    for (let each = 0; each < 1_000; each += 1) liar.notify(newBlock, [farTip]);
    await world.turn();
  }
  liar.notify(newBlock, [{ ...farTip, height: 1_001 }]);
  const heights = () => watcher.status().servers.map(({ height }) => height);
  await world.until(() => heights().includes(1_001), 'the last of them');
  // The work that waits for each announcement takes more than a kilobyte.
  expect(bytes() - before).toBeLessThan(5 * 2 ** 20);
});

test('P-134 announced tips without headers do not excuse a lie', async () => {
  const watching = await begin(2);
  const { chain, watcher, world } = watching;
  const issued = await watching.issue();
  const liar = watching.inUse();
  let isBluffing = false;
  const tell = () => {
    const height = chain.tip.height;
    const hex = Buffer.from(chain.header(height) ?? []).toString('hex');
    liar.notify(newBlock, [isBluffing ? farTip : { height, hex }]);
  };
  liar.lieUnasked = (message) => (message.method === newBlock ? undefined : message);
  liar.lie = ({ method, params }, answer) => {
    const nothing = answer.result?.headers ? { headers: [] } : { hex: '' };
    if (method === newBlock && isBluffing) return { ...answer, result: farTip };
    if (method === getHeaders && params[0] > chain.tip.height) {
      return { jsonrpc: '2.0', id: answer.id, result: { count: 0, max: 2016, ...nothing } };
    }
    if (method !== 'blockchain.transaction.get_merkle') return answer;
    isBluffing = true;
    tell();
    return { ...answer, result: { ...answer.result, merkle: ['00'.repeat(32)] } };
  };
  chain.pay([{ address: issued.address, valueSat: 7_000 }]);
  chain.mine(1);
  tell();
  for (let times = 0; times < 30; times += 1) {
    await pass(watching, 10_000);
    isBluffing = false;
    tell();
  }
  await world.turn();
  expect(watcher.status().servers.flatMap(({ ban }) => ban ?? [])).toHaveLength(1);
  await world.until(() => watching.payments(issued)[0]?.state === 'confirming', 'the payment');
});
