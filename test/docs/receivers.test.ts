// Runs the receivers of docs/receivers.md as they stand there, with signed requests over HTTP.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { webhookLibrary } from '../../scripts/regtest/install.mjs';
import { signatureHeaders } from '../../src/delivery/signature.ts';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import { cleanUp, look, tempFolder, whenOver } from '../support/files.ts';

afterEach(cleanUp);

const page = readFileSync('docs/receivers.md', 'utf8');

/** The code blocks of a language: the program, and its function with the library. */
function codeOf(language: string): [program: string, variant: string] {
  const blocks = [...page.matchAll(new RegExp(`\n\`\`\`${language}\n(.*?)\`\`\`\n`, 'gs'))];
  return blocks.map(([, code = '']) => code) as [string, string];
}

type Saved = Record<string, unknown> | undefined;

interface Receiver {
  readonly file: string;
  readonly code: string;
  readonly interpreter: string;
  /** Verifies with the library, and is else the same as another one. */
  readonly hasLibrary?: true;
  command(port: number): readonly string[];
  /** What the program saved of an order. */
  saved(folder: string, id: string): Saved;
}

function fileOf(folder: string, id: string): Saved {
  const file = join(folder, 'orders', `${id}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

function rowOf(folder: string, id: string): Saved {
  const database = look(join(folder, 'orders.db'), { readonly: true });
  const row = database.prepare('SELECT json, shipment FROM orders WHERE id = ?').get(id) as
    | { json: string; shipment: string | null }
    | undefined;
  database.close();
  return row && { ...JSON.parse(row.json), shipment: row.shipment };
}

const [js, jsLibrary] = codeOf('js');
const [python, pythonLibrary] = codeOf('python');
const [php] = codeOf('php');

const node: Receiver = {
  file: 'receiver.mjs',
  code: js,
  interpreter: 'node',
  command: () => ['node', 'receiver.mjs'],
  saved: fileOf,
};
const python3: Receiver = {
  file: 'receiver.py',
  code: python,
  interpreter: 'python3',
  command: () => ['python3', 'receiver.py'],
  saved: rowOf,
};
/** The virtual environment with the library, which `.ci/run` makes. */
const libraryPython = join(webhookLibrary(), 'bin/python3');

const receivers: Readonly<Record<string, Receiver>> = {
  Node: node,
  Python: python3,
  PHP: {
    file: 'public/receiver.php',
    code: php,
    interpreter: 'php',
    // PHP answers 200 to a request that fails, if it prints errors and no other status is set.
    command: (port) => [
      ...['php', '-d', 'display_errors=1', '-S', `127.0.0.1:${port}`, 'public/receiver.php'],
    ],
    saved: fileOf,
  },
  'Node with the library': {
    ...node,
    hasLibrary: true,
    code: js.replace(/function isGenuine.*?\n}\n/s, () => jsLibrary),
  },
  'Python with the library': {
    ...python3,
    hasLibrary: true,
    code: python.replace(/def is_genuine.*?(?=\ndef )/s, () => pythonLibrary),
    interpreter: libraryPython,
    command: () => [libraryPython, 'receiver.py'],
  },
};

const [secret, otherSecret] = [1, 2].map(
  (byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`,
) as [string, string];

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

const id = 'ord_3yQ8tZr6WmB1nK5vXc2dLp';
/** The newest version that a receiver knows, before its event is `order.processing`. */
const order: OrderJson = {
  ...{ id, store_id: 1, link_id: null, version: 2, status: 'processing', late: false },
  ...{ amount: '12.50', currency: 'EUR', adjust_percent: 0, amount_due: '12.50' },
  ...{ amount_sat: 25_000, received_sat: 25_000 },
  ...{ confirmed_sat: 0, missing_sat: 0, excess_sat: 0, quote: null, address: 'bc1qexample' },
  ...{ uri: null, lightning: null, page_url: `https://pay.example.com/o/${id}`, reference: '1007' },
  ...{ description: 'Zwei Plakate, 50 × 70 – „Blüte“', metadata: {}, return_url: null },
  ...{ language: 'de', customer_email: null, created_at: 1_763_650_000 },
  ...{ expires_at: 1_763_653_600, paid_at: null },
  ...{ canceled_at: null, accepted_at: null, payments: [], refunds: [] },
};

const eventOf = (type: string, data: object): string =>
  JSON.stringify({ type, timestamp: new Date().toISOString(), data });

const orderEvent = (changes: Partial<OrderJson>): string =>
  eventOf('order.updated', { was: 'open', order: { ...order, ...changes } });

type Headers = Record<string, string>;

const signed = (body: string, secrets = [secret], timestamp = nowSeconds()): Headers => ({
  ...signatureHeaders({ eventId: 'evt_2Lh9KRb0pzN4LePd3XiA4v', timestamp, payload: body }, secrets),
});

interface Running {
  /** Sends a body, signed unless headers are given. @returns the status of the answer */
  post(body: string, headers?: Headers): Promise<number>;
  /** Sends a version of the order. */
  order(changes: Partial<OrderJson>): Promise<number>;
  saved(id?: string): Saved;
  shipment(): unknown;
  kill(): Promise<void>;
  readonly folder: string;
  readonly port: number;
}

function folderOf({ file, code }: Receiver): string {
  const folder = tempFolder();
  mkdirSync(join(folder, 'public'));
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, file), code);
  return folder;
}

function spawnIn(folder: string, { command }: Receiver, port: number, env: Headers) {
  const [program = '', ...args] = command(port);
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: String(port), PHP_CLI_SERVER_WORKERS: '4', ...env },
    stdio: 'ignore',
    detached: true,
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const kill = async () => {
    // PHP's workers are in the same group.
    if (!hasEnded(child)) process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
  };
  whenOver(kill);
  return { child, kill };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

async function start(
  receiver: Receiver,
  { folder = folderOf(receiver), env = { WEBHOOK_SECRET: secret } as Headers } = {},
): Promise<Running> {
  const port = await freePort();
  const { child, kill } = spawnIn(folder, receiver, port, env);
  await untilListening(port, child);
  const post = async (body: string, headers = signed(body)) => {
    const answer = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body, headers });
    await answer.text();
    return answer.status;
  };
  const saved = (of = id) => receiver.saved(folder, of);
  return {
    post,
    order: (changes) => post(orderEvent(changes)),
    saved,
    shipment: () => saved()?.shipment ?? null,
    ...{ folder, port, kill },
  };
}

/** Connects again until the port is open. */
function untilListening(port: number, child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const attempt = () => {
      if (hasEnded(child)) {
        reject(new Error(`it ended with ${child.exitCode}`));
        return;
      }
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve();
      });
      socket.once('error', () => setTimeout(attempt, 20));
    };
    attempt();
  });
}

function hasInterpreter(name: string): boolean {
  try {
    execFileSync(name, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const paid = { status: 'paid', version: 3 } as const;

type Cases = Readonly<Record<string, (receiver: Receiver) => Promise<void>>>;

const signatureCases: Cases = {
  async 'saves an order whose signature is right'(receiver) {
    const { order: send, saved, shipment } = await start(receiver);
    expect(await send({})).toBe(200);
    expect(saved()).toMatchObject(order);
    expect(shipment()).toBeNull();
  },

  async 'answers 401 to a request that is forged, old or incomplete'(receiver) {
    const { post, saved } = await start(receiver);
    const body = orderEvent(paid);
    const genuine = signed(body);
    const without = (name: string) =>
      Object.fromEntries(Object.entries(genuine).filter(([each]) => each !== name));
    const signature = genuine['webhook-signature'] ?? '';
    const forged: readonly Headers[] = [
      {},
      ...Object.keys(genuine).map(without),
      signed(body, [otherSecret]),
      signed(body, [secret], nowSeconds() - 310),
      signed(body, [secret], nowSeconds() + 310),
      signed(`${body} `),
      { ...genuine, 'webhook-id': 'evt_other' },
      { ...genuine, 'webhook-timestamp': String(nowSeconds() + 1) },
      ...['soon', '', '9'.repeat(5_000)].map((time) => ({ ...genuine, 'webhook-timestamp': time })),
      ...[signature.replace('v1,', 'v2,'), 'v1,', 'v1', 'v1,é', 'v1,A', ''].map((each) => ({
        ...genuine,
        'webhook-signature': each,
      })),
    ];
    for (const headers of forged)
      expect([headers, await post(body, headers)]).toEqual([headers, 401]);
    expect(await post('{', {})).toBe(401);
    expect(saved()).toBeUndefined();
    expect(await post(body, genuine)).toBe(200);
  },

  async 'accepts each of two signatures while the secret is rotated'(receiver) {
    const { post, saved } = await start(receiver);
    const body = orderEvent({});
    expect(await post(body, signed(body, [otherSecret, secret]))).toBe(200);
    const next = orderEvent(paid);
    expect(await post(next, signed(next, [secret, otherSecret]))).toBe(200);
    expect(saved()).toMatchObject(paid);
  },
};

const orderCases: Cases = {
  async 'ships a paid order, and ignores versions that it knows'(receiver) {
    const { order: send, saved, shipment } = await start(receiver);
    expect(await send({})).toBe(200);
    expect(await send(paid)).toBe(200);
    expect(shipment()).toBe('ship');
    const before = saved();
    expect(await send(paid)).toBe(200);
    expect(await send({})).toBe(200);
    expect(await send({ ...paid, late: true })).toBe(200);
    expect(saved()).toEqual(before);
    expect(await send({ ...paid, version: 4, late: true, excess_sat: 9_000 })).toBe(200);
    expect(saved()).toEqual({ ...before, version: 4, late: true, excess_sat: 9_000 });
  },

  async 'looks at the stock if money is late'(receiver) {
    const { order: send, shipment } = await start(receiver);
    await send({ status: 'expired' });
    expect(shipment()).toBeNull();
    expect(await send({ ...paid, late: true })).toBe(200);
    expect(shipment()).toBe('check');
  },

  async 'stops a shipment that is reversed, and checks before it ships again'(receiver) {
    const { order: send, post, shipment } = await start(receiver);
    await send(paid);
    const reversed = { was: 'paid', order: { ...order, status: 'processing', version: 4 } };
    expect(await post(eventOf('order.reversed', reversed))).toBe(200);
    expect(shipment()).toBe('stop');
    expect(await send(paid)).toBe(200);
    expect(shipment()).toBe('stop');
    expect(await send({ ...paid, version: 5 })).toBe(200);
    expect(shipment()).toBe('check');
  },

  async 'answers 400 to what is no event, and 200 to events without an order'(receiver) {
    const { post, saved, folder } = await start(receiver);
    const garbage = ['', '{', 'null', '[]', '7', '{}', '{"data":null}', '\u0000', '['.repeat(1e5)];
    for (const body of garbage) expect([body, await post(body)]).toEqual([body, 400]);
    for (const data of [{ order: {} }, { order: { id } }, { order: 'none' }]) {
      expect([data, await post(eventOf('order.paid', data))]).toEqual([data, 400]);
    }
    await post(orderEvent({ id: '../escaped' }));
    expect(existsSync(join(folder, 'escaped.json'))).toBe(false);
    const payment = { payment: { txid: 'aa', address: 'bc1qexample' }, order_id: id };
    expect(await post(eventOf('payment.seen', payment))).toBe(200);
    expect(await post(eventOf('test', {}))).toBe(200);
    expect(saved()).toBeUndefined();
  },

  async 'goes on after bodies that are too large or break off'(receiver) {
    const { post, order: send, port } = await start(receiver);
    for (const length of [1_500_000, 9_000_000]) {
      const body = 'a'.repeat(length);
      expect([413, 'closed']).toContain(await post(body).catch(() => 'closed'));
    }
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const head = 'POST / HTTP/1.1\r\nHost: shop\r\nContent-Length: 100\r\n\r\n{';
    await new Promise((resolve) => socket.write(head, resolve));
    socket.destroy();
    expect(await send({})).toBe(200);
  },

  async 'loses nothing when it is killed, and ships nothing twice'(receiver) {
    const first = await start(receiver);
    expect(await first.order(paid)).toBe(200);
    const before = first.saved();
    await first.kill();
    const second = await start(receiver, { folder: first.folder });
    expect(await second.order(paid)).toBe(200);
    expect(second.saved()).toEqual(before);
    expect(await second.order({ ...paid, version: 4 })).toBe(200);
    expect(second.saved()).toEqual({ ...before, version: 4 });
  },

  async 'saves the newest of many versions that come at once'(receiver) {
    const { order: send, saved } = await start(receiver);
    const versions = Array.from({ length: 20 }, (_, at) => ({ ...paid, version: 3 + at }));
    const answers = await Promise.all(versions.reverse().map(send));
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(saved()).toMatchObject({ version: 22, shipment: 'ship' });
  },

  async 'accepts nothing without a secret'(receiver) {
    const body = orderEvent(paid);
    for (const env of [{}, { WEBHOOK_SECRET: '' }, { WEBHOOK_SECRET: 'whsec_' }]) {
      const answer = start(receiver, { env }).then(
        ({ post }) => post(body, signed(body, ['whsec_'])),
        () => 'ended',
      );
      expect([500, 'ended']).toContain(await answer);
    }
  },
};

for (const [name, receiver] of Object.entries(receivers)) {
  const { interpreter, hasLibrary = false } = receiver;
  const cases = Object.entries({ ...signatureCases, ...(!hasLibrary && orderCases) });
  const isAtHand = hasInterpreter(interpreter);
  if (!isAtHand) {
    const skipped = `there is no ${interpreter}, ${cases.length} tests are skipped`;
    process.stdout.write(`docs/receivers.md, ${name}: ${skipped}\n`);
  }
  describe.skipIf(!isAtHand)(`S-104 the receiver in ${name}`, () => {
    it.each(cases)('%s', (_title, run) => run(receiver));
  });
}
