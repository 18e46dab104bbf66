// A reverse proxy between a browser and paygate that fails as proxies and networks do. Each kind of
// request has its own behaviour: the page that the script fetches again, the event stream, the
// script itself, and all others.

import { EventEmitter } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
  request as send,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { whenOver } from './files.ts';

/** What the proxy does with a request. */
export type Behaviour =
  | 'pass'
  /** The browser never gets an answer. */
  | 'hang'
  /** The connection ends without an answer. */
  | 'cut'
  /** The whole answer arrives when it is complete; that of a stream never is. */
  | 'buffer'
  /** The answer waits for `release`. */
  | 'late'
  /** The proxy answers by itself. */
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

export type RequestKind = 'page' | 'stream' | 'script' | 'other';

export interface FlakyProxy {
  readonly origin: string;
  /** What happens to each kind of request from now on. */
  readonly behaviour: Record<RequestKind, Behaviour>;
  /** How many requests of each kind arrived. */
  readonly counts: Record<RequestKind, number>;
  /** Streams that the browser holds open. */
  readonly openStreams: () => number;
  /** Open streams forward no more bytes, and do not end. */
  silenceStreams(): void;
  /** Open streams end as if paygate ended them. */
  endStreams(): void;
  /** Late answers are sent. */
  release(): void;
  /** Resolves when the next request of the kind is answered, hangs or is late. */
  next(kind: RequestKind): Promise<void>;
  /** Resolves when the next bytes of a stream were forwarded. */
  nextChunk(): Promise<void>;
}

const kindOf = ({ url = '', headers }: IncomingMessage): RequestKind => {
  if (headers.accept === 'text/event-stream') return 'stream';
  if (url.endsWith('.js')) return 'script';
  return headers['x-paygate-live'] === undefined ? 'other' : 'page';
};

/** @param port of paygate, which changes when it restarts */
export async function startFlakyProxy(port: () => number): Promise<FlakyProxy> {
  const pass: Behaviour = 'pass';
  const behaviour: FlakyProxy['behaviour'] = {
    ...{ page: pass, stream: pass, script: pass, other: pass },
  };
  const counts = { page: 0, stream: 0, script: 0, other: 0 };
  const late: (() => void)[] = [];
  const chunks = new EventEmitter();
  const waiting: { readonly kind: RequestKind; readonly resolve: () => void }[] = [];
  const streams = new Map<ServerResponse, IncomingMessage>();
  const sockets = new Set<Socket>();

  function settled(kind: RequestKind): void {
    for (const each of waiting.filter((one) => one.kind === kind)) {
      waiting.splice(waiting.indexOf(each), 1);
      each.resolve();
    }
  }

  const server = createServer((request, response) => {
    const kind = kindOf(request);
    const does = behaviour[kind];
    counts[kind] += 1;
    if (does === 'hang') {
      settled(kind);
      return;
    }
    response.on('close', () => settled(kind));
    if (does === 'late') {
      late.push(() => forward(request, response, false));
      settled(kind);
    } else if (does === 'cut') request.socket.destroy();
    else if (typeof does === 'object') {
      response.writeHead(does.status, { 'Content-Type': 'text/html', ...does.headers });
      response.end(does.body ?? '<h1>An error</h1>');
    } else forward(request, response, does === 'buffer');
  });

  function forward(request: IncomingMessage, response: ServerResponse, isBuffered: boolean): void {
    const { url: path, method, headers } = request;
    const options: RequestOptions = { host: '127.0.0.1', port: port(), path, method, headers };
    const forwarded = send({ ...options, agent: false }, (answer) => {
      const { statusCode = 502 } = answer;
      answer.on('error', () => response.destroy());
      if (isBuffered) {
        const body: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => void body.push(chunk));
        answer.on('end', () =>
          response.writeHead(statusCode, answer.headers).end(Buffer.concat(body)),
        );
        return;
      }
      response.writeHead(statusCode, answer.headers);
      answer.pipe(response);
      if (kindOf(request) !== 'stream') return;
      streams.set(response, answer);
      answer.on('data', () => chunks.emit('forwarded'));
      settled('stream');
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => {
      streams.delete(response);
      forwarded.destroy();
    });
    request.pipe(forwarded);
  }

  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenOver(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behaviour,
    counts,
    openStreams: () => streams.size,
    silenceStreams() {
      for (const [response, answer] of streams) answer.unpipe(response).resume();
    },
    endStreams() {
      for (const response of streams.keys()) response.end();
    },
    release() {
      for (const answer of late.splice(0)) answer();
    },
    nextChunk: () => new Promise((resolve) => void chunks.once('forwarded', resolve)),
    next: (kind) => new Promise((resolve) => void waiting.push({ kind, resolve })),
  };
}
