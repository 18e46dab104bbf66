// A visit to the sandbox, which runs in this process as `paygate sandbox` does, on real sockets
// with the test's clock. The visitor has no JavaScript: it posts forms and reads pages as text.

import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { freePort } from '../../scripts/ports.mjs';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { tempFolder, whenOver } from './files.ts';
import { cheapHash, type Visitor as Merchant, password, type Seen, visitorOf } from './visitor.ts';
import { createTestWorld, type TestWorld } from './world.ts';

export interface Page {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

/** One request on a connection of its own; `fetch` would not let us choose the Host. */
export const ask = (url: string, { method = 'GET', headers = {}, body }: Asked = {}) =>
  new Promise<Page>((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
      response.on('error', reject);
    });
    sent.on('error', reject).end(body);
  });

/** What an order's page shows. */
export interface Shown {
  /** The order's status by its last event. */
  readonly status: string | undefined;
  /** The amounts, by their names. */
  readonly amounts: Readonly<Record<string, string>>;
  /** The types of the webhooks, and `callback 0` for a callback of status 0. */
  readonly received: readonly string[];
  readonly text: string;
}

export interface Placed {
  readonly path: string;
  readonly address: string;
  readonly totalSat: number;
}

export interface Visitor {
  get(path: string): Promise<Page>;
  /** As a form of one of the pages does. */
  post(path: string, fields: Record<string, string>): Promise<Page>;
  order(cart?: Record<string, string>): Promise<Placed>;
  pay(order: Placed, how?: string): Promise<Page>;
  /** As the box below the newest order does. */
  mine(blocks?: number): Promise<unknown>;
  shown(order: Placed): Promise<Shown>;
  /** Change events as the browser receives them. */
  changes(): Promise<Changes>;
}

export interface Changes {
  /** Status of the response; 200 opens the stream. */
  readonly status: number;
  /** Resolves with the next one, or undefined at the end of the stream. */
  next(): Promise<string | undefined>;
  close(): void;
}

/** @param origin of the shop */
export function visit(origin: string): Visitor {
  const post = (path: string, fields: Record<string, string>) =>
    ask(`${origin}${path}`, {
      method: 'POST',
      headers: { Origin: origin, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    });
  const get = (path: string) => ask(`${origin}${path}`);
  let newest = '';
  return {
    get,
    post,
    async order(cart = { espresso: '2' }) {
      const { headers } = await post('/orders', cart);
      const path = headers.location ?? '';
      newest = path;
      const { text } = await get(path);
      const [, address = '', total] = /\?address=(\w+)&amp;amount=(\d+)/.exec(text) ?? [];
      return { path, address, totalSat: Number(total) };
    },
    pay: ({ path }, how = 'exact') => post(`${path}/pay`, { how }),
    mine: (blocks = 1) => post(`${newest}/mine`, { blocks: String(blocks) }),
    async shown({ path }) {
      const { text } = await get(path);
      const rows = text.matchAll(/<tr><td>(.*?)<\/td><td>(.*?)<\/td>/g);
      const amounts = Object.fromEntries([...rows].map(([, name, value]) => [name, value]));
      const messages = text.matchAll(/<code>(?:webhook (\S+),|(callback) status=(-?\d))/g);
      const received = [...messages].map(([, type, noun, number]) => type ?? `${noun} ${number}`);
      return { status: /class="state (\w+)"/.exec(text)?.[1], amounts, received, text };
    },
    changes: () => openChanges(`${origin}/events`),
  };
}

/** Orders, pays, and mines until the order is paid. @returns the statuses that its page showed */
export async function buy(shop: Visitor): Promise<{ order: Placed; states: readonly string[] }> {
  const order = await shop.order();
  const changes = await shop.changes();
  await shop.pay(order);
  const states = ['open'];
  let blocks = 0;
  while (states.at(-1) !== 'paid') {
    await changes.next();
    const { status = '', received } = await shop.shown(order);
    if (status !== states.at(-1)) states.push(status);
    // The next block comes once the shop has the callback of the one before.
    if (status === 'processing' && received.includes(`callback ${blocks}`)) {
      blocks += 1;
      await shop.mine();
    }
  }
  changes.close();
  return { order, states };
}

const openChanges = (url: string) =>
  new Promise<Changes>((resolve, reject) => {
    const sent = request(url, { agent: false }, (response) => {
      const events = readEvents(response.setEncoding('utf8'));
      resolve({
        status: response.statusCode ?? 0,
        next: async () => (await events.next()).value || undefined,
        close: () => void response.destroy(),
      });
    });
    sent.on('error', reject).end();
  });

/** The data of each event, by the format of server-sent events. */
async function* readEvents(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const whole = `${rest}${chunk}`.split('\n\n');
    rest = whole.pop() ?? '';
    for (const event of whole) {
      const [, data] = /^data: (changed)$/.exec(event) ?? [];
      if (data !== undefined) yield data;
    }
  }
}

export interface Visit extends Visitor {
  readonly world: TestWorld;
  readonly sandbox: Sandbox;
  /** Its file. */
  readonly db: string;
  /** Signed in to the dashboard by the link of its Chain page. */
  merchant(): Promise<Merchant>;
  /** Submits a form of the Chain page. */
  pull(does: string, fields?: Record<string, string>): Promise<Seen>;
  /** Waits until all changes of the chain are processed and their callbacks delivered. */
  settle(): Promise<void>;
  /** Waits until the shop was notified that the order has this status. */
  reaches(order: Placed, status: string): Promise<Shown>;
  /** Waits until the page of the order fulfils the condition. */
  until(order: Placed, condition: (shown: Shown) => boolean): Promise<Shown>;
  /** Passes the half minute after which an unreported payment is dropped. */
  outlastAbsence(): Promise<void>;
}

const listen = { host: '127.0.0.1', port: 0 };

/** On free ports. */
export const sandboxOptions = (db: string): SandboxOptions => ({
  ...{ db, api: listen, shop: listen, passwordHash: cheapHash(password) },
  onFatal(error) {
    throw error;
  },
});

export async function openSandbox(): Promise<Visit> {
  const world = createTestWorld();
  const db = join(tempFolder(), 'paygate.db');
  // Links to the pages of orders name the configured port.
  const api = { ...listen, port: await freePort() };
  const sandbox = await startSandbox({ ...sandboxOptions(db), api }, world);
  whenOver(() => sandbox.stop());
  await world.until(() => sandbox.app.health().electrum.caught_up, 'paygate to catch up');
  let signedIn: Promise<Merchant> | undefined;
  const merchant = (): Promise<Merchant> => {
    signedIn ??= enter(sandbox);
    return signedIn;
  };
  const shop = visit(sandbox.shopOrigin);
  async function until(order: Placed, condition: (shown: Shown) => boolean): Promise<Shown> {
    for (;;) {
      await sandbox.app.idle();
      const shown = await shop.shown(order);
      if (condition(shown)) return shown;
      await world.turn();
    }
  }
  return {
    ...{ world, sandbox, db, merchant, ...shop },
    settle: () => sandbox.app.idle(),
    reaches: (order, status) => until(order, (shown) => shown.status === status),
    until,
    async outlastAbsence() {
      await sandbox.app.idle();
      await world.advance(31_000);
      await sandbox.app.idle();
    },
    pull: async (does, fields) => (await merchant()).submit(chainPath, does, fields),
    async mine(blocks = 1) {
      sandbox.chain.mine(blocks);
    },
  };
}

const chainPath = '/dashboard/chain';

/** Follows the link that the sandbox prints. */
async function enter({ links, apiOrigin }: Sandbox): Promise<Merchant> {
  const merchant = visitorOf({ port: Number(new URL(apiOrigin).port) });
  const { to } = await merchant.get(links.chain.slice(apiOrigin.length));
  if (to !== chainPath) throw new Error(`the link leads to ${to}`);
  return merchant;
}
