// The load generator: keep-alive connections with one request at a time on each. It shares the cores
// with the server, so it parses no more of an answer than it must: 50 µs of processor a request
// instead of the 120 µs of undici. Any status but 200 is an error.

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Target {
  readonly origin: string;
  readonly path: string;
  readonly apiKey?: string;
  readonly cookie?: string;
  readonly connections?: number;
  /** JSON of a POST; a GET without it. */
  readonly body?: string;
  /** After each answer. */
  readonly pauseMs?: number;
  /** Requests before the others that are not counted: the connections are made meanwhile. */
  readonly leadIn?: number;
}

export type Load = Awaited<ReturnType<typeof load>>;

/** @param goesOn is called before each request @returns the rate is answers a second */
async function load(target: Target, goesOn: () => boolean) {
  const { connections: count = 1, pauseMs = 0, leadIn = 0 } = target;
  const latenciesMs: number[] = [];
  const answers: string[] = [];
  const connections = await Promise.all(
    Array.from({ length: count }, () => openConnection(target)),
  );
  const onEach = (work: (get: () => Promise<string>) => Promise<void>) =>
    Promise.all(connections.map(({ get }) => work(get)));
  try {
    await onEach(async (get) => {
      for (let asked = 0; asked < leadIn / count; asked += 1) await get();
    });
    const startedAt = performance.now();
    await onEach(async (get) => {
      while (goesOn()) {
        const askedAt = performance.now();
        answers.push(await get());
        latenciesMs.push(performance.now() - askedAt);
        if (pauseMs > 0) await sleep(pauseMs);
      }
    });
    const seconds = (performance.now() - startedAt) / 1000;
    return { rate: answers.length / seconds, latenciesMs, answers };
  } finally {
    for (const { close } of connections) close();
  }
}

/** A fixed number of requests. */
export function burst(target: Target, count: number): Promise<Load> {
  let left = count;
  return load(target, () => {
    left -= 1;
    return left >= 0;
  });
}

/** Requests beside something else. @returns ends them */
export function beginLoad(target: Target): () => Promise<Load> {
  let isOver = false;
  const run = load(target, () => !isOver);
  run.catch(() => {}); // the caller that ends it gets the error
  return () => {
    isOver = true;
    return run;
  };
}

async function openConnection({ origin, path, apiKey, cookie, body }: Target) {
  const { host, hostname, port } = new URL(origin);
  const head = [
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    `host: ${host}`,
    ...(apiKey === undefined ? [] : [`authorization: Bearer ${apiKey}`]),
    ...(cookie === undefined ? [] : [`cookie: ${cookie}`]),
    ...(body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    '\r\n',
  ].join('\r\n');
  const request = head + (body ?? '');
  // One character a byte: Content-Length counts bytes.
  const socket = connect(Number(port), hostname).setNoDelay().setEncoding('latin1');
  await once(socket, 'connect');
  let received = '';
  let awaited: PromiseWithResolvers<string> | undefined;
  const fail = (error: Error) => awaited?.reject(error);
  socket.on('error', fail);
  socket.on('close', () => fail(new Error(`${origin}: the connection ended`)));
  socket.on('data', (piece: string) => {
    received += piece;
    const answer = bodyOf(received);
    if (answer === undefined) return;
    const status = received.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    received = '';
    if (status === '200') awaited?.resolve(answer);
    else fail(new Error(`${path} answered ${status}: ${answer}`));
  });
  return {
    get() {
      awaited = Promise.withResolvers();
      socket.write(request);
      return awaited.promise;
    },
    close: () => void socket.destroy(),
  };
}

/** @returns undefined while the answer is incomplete */
function bodyOf(received: string): string | undefined {
  const head = received.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const body = received.slice(head + 4);
  const length = /^content-length: (\d+)\r$/im.exec(received)?.[1];
  // An answer without a length is chunked: it is complete with its last, empty chunk.
  const isComplete =
    length === undefined ? body.endsWith('0\r\n\r\n') : body.length >= Number(length);
  return isComplete ? Buffer.from(body, 'latin1').toString() : undefined;
}
