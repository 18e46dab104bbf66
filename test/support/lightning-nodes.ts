// Lightning nodes on real sockets, played: LND's REST API and phoenixd's HTTP API, as their
// documentation and their sources have them. A test pays their invoices, stops and starts them, and
// lets them answer wrongly.

import { createHash } from 'node:crypto';
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type InvoiceFields, writeInvoice } from './bolt11.ts';
import { writeMacaroon } from './macaroon.ts';

export interface PlayedInvoice {
  readonly paymentHash: string;
  readonly preimage: string;
  readonly invoice: string;
  readonly valueSat: number;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly seconds: number;
  readonly text: string;
  readonly externalId: string;
  /** Counted from 1. */
  readonly addIndex: number;
  state: 'OPEN' | 'SETTLED' | 'CANCELED';
  /** 0 before it is settled. */
  settleIndex: number;
  paidSat: number;
  /** Epoch milliseconds. */
  settledAt: number;
}

export interface NodeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface PlayedAnswer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
}

/** Instead of the right answer: another one, none, or a lost connection. */
export type Fault = (
  request: NodeRequest,
) => PlayedAnswer | 'hang' | 'reset' | undefined | Promise<undefined>;

export interface PlayedNodeOptions {
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Epoch milliseconds; the clock of the machine by default. */
  readonly now?: () => number;
  /** The secret key that signs invoices, a small number. */
  readonly signer?: number;
}

export interface PlayedNode {
  /** What a merchant enters for it. */
  readonly url: string;
  /** One that can only receive. */
  readonly credential: string;
  /** One that can spend. */
  readonly spendingCredential: string;
  readonly requests: NodeRequest[];
  /** In the order in which they were made. */
  readonly invoices: PlayedInvoice[];
  fault: Fault;
  /** What each invoice has instead of what was asked for. */
  wrong: InvoiceFields;
  /** A customer pays. @param paidSat by default what the invoice asks for */
  pay(invoice: string, paidSat?: number): PlayedInvoice;
  /** Another program makes an invoice. */
  makeInvoice(valueSat: number, seconds?: number): PlayedInvoice;
  /** Closes all connections, and refuses new ones until the start. */
  stop(): Promise<void>;
  /** At the same port, with its invoices. */
  start(): Promise<void>;
}

interface Book {
  readonly invoices: PlayedInvoice[];
  readonly now: () => number;
  readonly onChange: Set<(invoice: PlayedInvoice) => void>;
  add(asked: Asked): PlayedInvoice;
}

interface Asked {
  readonly valueSat: number;
  readonly seconds: number;
  readonly text?: string;
  readonly externalId?: string;
}

type Handler = (request: NodeRequest, response: ServerResponse, book: Book) => void;

export const startLnd = (options: PlayedNodeOptions = {}): Promise<PlayedNode> =>
  startNode(answerAsLnd, lndCredentials, options);

export const startPhoenixd = (options: PlayedNodeOptions = {}): Promise<PlayedNode> =>
  startNode(answerAsPhoenixd, phoenixdCredentials, options);

async function startNode(
  handler: Handler,
  credentials: Pick<PlayedNode, 'credential' | 'spendingCredential'>,
  { tls, now = Date.now, signer = 1 }: PlayedNodeOptions,
): Promise<PlayedNode> {
  const requests: NodeRequest[] = [];
  const sockets = new Set<Socket>();
  const book = createBook(now, signer, (fields) =>
    writeInvoice({ signer, ...fields, ...node.wrong }),
  );
  async function take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming);
    requests.push(request);
    const answer = await node.fault(request);
    if (answer === 'hang') return;
    if (answer === 'reset') incoming.socket.resetAndDestroy();
    else if (answer === undefined) handler(request, response, book);
    else response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
  }
  const server = tls ? createTlsServer(tls, take) : createPlainServer(take);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => {});
  });
  let port = 0;
  const node: PlayedNode = {
    get url() {
      return `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
    },
    ...credentials,
    requests,
    invoices: book.invoices,
    fault: () => undefined,
    wrong: {},
    pay(invoice, paidSat) {
      const found = book.invoices.find((each) => each.invoice === invoice);
      if (found?.state !== 'OPEN') throw new Error(`nobody can pay it: ${found?.state}`);
      found.state = 'SETTLED';
      found.settleIndex = Math.max(0, ...book.invoices.map((each) => each.settleIndex)) + 1;
      found.paidSat = paidSat ?? found.valueSat;
      found.settledAt = now();
      for (const changed of book.onChange) changed(found);
      return found;
    },
    makeInvoice: (valueSat, seconds = 3600) => book.add({ valueSat, seconds }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
    start: () =>
      new Promise((resolve) => {
        server.listen(port, '127.0.0.1', () => {
          ({ port } = server.address() as AddressInfo);
          resolve();
        });
      }),
  };
  await node.start();
  return node;
}

function createBook(
  now: () => number,
  signer: number,
  write: (fields: InvoiceFields) => string,
): Book {
  const invoices: PlayedInvoice[] = [];
  const onChange: Book['onChange'] = new Set();
  return {
    invoices,
    now,
    onChange,
    add({ valueSat, seconds, text = '', externalId = '' }) {
      const addIndex = invoices.length + 1;
      const preimage = createHash('sha256').update(`preimage ${signer} ${addIndex}`).digest('hex');
      const paymentHash = createHash('sha256').update(preimage, 'hex').digest('hex');
      const createdAt = Math.floor(now() / 1000);
      const amount = `${valueSat * 10}n`;
      const fields = { amount, seconds, createdAt, paymentHash, description: text };
      const invoice: PlayedInvoice = {
        ...{ paymentHash, preimage, invoice: write(fields), valueSat, createdAt, seconds },
        ...{ text, externalId, addIndex, state: 'OPEN', settleIndex: 0, paidSat: 0, settledAt: 0 },
      };
      invoices.push(invoice);
      for (const changed of onChange) changed(invoice);
      return invoice;
    },
  };
}

async function readRequest(incoming: IncomingMessage): Promise<NodeRequest> {
  const { method = '', url = '', headers } = incoming;
  const { pathname: path, searchParams: query } = new URL(url, 'http://node');
  let body = '';
  for await (const chunk of incoming) body += chunk;
  return { method, path, query, headers, body };
}

const lndCredentials = {
  credential: writeMacaroon([['invoices', ['read', 'write']]]),
  spendingCredential: writeMacaroon([
    ['invoices', ['read', 'write']],
    ['offchain', ['read', 'write']],
    ['onchain', ['read', 'write']],
  ]),
};

/** @see https://lightning.engineering/api-docs/api/lnd/rest-endpoints */
const answerAsLnd: Handler = ({ method, path, query, headers, body }, response, book) => {
  const json = (status: number, value: object): void =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify(value));
  const fail = (status: number, code: number, message: string): void =>
    json(status, { code, message, details: [] });
  const macaroon = headers['grpc-metadata-macaroon'];
  const maySpend = macaroon === lndCredentials.spendingCredential;
  if (!maySpend && macaroon !== lndCredentials.credential) {
    return fail(500, 2, 'verification failed: signature mismatch after caveat verification');
  }
  switch (`${method} ${path}`) {
    case 'POST /v1/invoices': {
      const { value, expiry, memo } = JSON.parse(body);
      const asked = { valueSat: Number(value), seconds: Number(expiry), text: memo };
      const { paymentHash, invoice, addIndex } = book.add(asked);
      const r_hash = Buffer.from(paymentHash, 'hex').toString('base64');
      return json(200, { r_hash, payment_request: invoice, add_index: String(addIndex) });
    }
    case 'POST /v2/invoices/cancel': {
      const hash = Buffer.from(JSON.parse(body).payment_hash, 'base64').toString('hex');
      const found = book.invoices.find(({ paymentHash }) => paymentHash === hash);
      if (found === undefined) return fail(404, 5, 'unable to locate invoice');
      if (found.state === 'SETTLED') return fail(500, 2, 'invoice already settled');
      found.state = 'CANCELED';
      return json(200, {});
    }
    case 'GET /v1/invoices': {
      const limit = Number(query.get('num_max_invoices'));
      const isReversed = query.get('reversed') === 'true';
      const after = book.invoices.slice(isReversed ? 0 : Number(query.get('index_offset')));
      const page = isReversed ? after.slice(-limit) : after.slice(0, limit);
      const last = String(page.at(-1)?.addIndex ?? 0);
      return json(200, { invoices: page.map(lndInvoice), last_index_offset: last });
    }
    case 'GET /v1/invoices/subscribe':
      return streamAsLnd(Number(query.get('settle_index')), response, book);
    default:
      if (!maySpend) return fail(500, 2, 'permission denied');
      return fail(500, 2, 'payment hash must be 32 bytes');
  }
};

function streamAsLnd(since: number, response: ServerResponse, book: Book): void {
  const send = (invoice: PlayedInvoice): void => {
    response.write(`${JSON.stringify({ result: lndInvoice(invoice) })}\n`);
  };
  const missed = since === 0 ? [] : book.invoices.filter((each) => each.settleIndex > since);
  for (const each of missed.sort((one, other) => one.settleIndex - other.settleIndex)) send(each);
  book.onChange.add(send);
  response.once('close', () => book.onChange.delete(send));
}

const lndInvoice = (invoice: PlayedInvoice): object => ({
  memo: invoice.text,
  r_preimage: Buffer.from(invoice.preimage, 'hex').toString('base64'),
  r_hash: Buffer.from(invoice.paymentHash, 'hex').toString('base64'),
  value: String(invoice.valueSat),
  creation_date: String(invoice.createdAt),
  settle_date: String(Math.floor(invoice.settledAt / 1000)),
  payment_request: invoice.invoice,
  expiry: String(invoice.seconds),
  add_index: String(invoice.addIndex),
  settle_index: String(invoice.settleIndex),
  amt_paid_sat: String(invoice.paidSat),
  amt_paid_msat: String(invoice.paidSat * 1000),
  state: invoice.state,
});

const phoenixdCredentials = {
  credential: 'limited-5c0b2bbcb1ffec7b6f5b3cbe7c0e3a80',
  spendingCredential: 'full-33a6c24c8e6b2f9ac5c39bb7d4fb1b0d',
};

/** @see https://phoenix.acinq.co/server/api */
const answerAsPhoenixd: Handler = ({ method, path, query, headers, body }, response, book) => {
  const json = (value: object): void =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(value, null, 4));
  const fail = (status: number, text: string): void =>
    void response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
  const [, encoded = ''] = /^Basic (.*)$/.exec(headers.authorization ?? '') ?? [];
  const password = Buffer.from(encoded, 'base64')
    .toString()
    .replace(/^[^:]*:/, '');
  const maySpend = password === phoenixdCredentials.spendingCredential;
  const unauthorized =
    'Invalid authentication (use basic auth with the http password set in phoenix.conf)';
  if (!maySpend && password !== phoenixdCredentials.credential) return fail(401, unauthorized);
  switch (`${method} ${path}`) {
    case 'POST /createinvoice': {
      const form = new URLSearchParams(body);
      const text = form.get('description') ?? '';
      if (text.length > 128) return fail(400, 'Request parameter description is too long');
      const [valueSat, seconds] = [form.get('amountSat'), form.get('expirySeconds')].map(Number);
      const externalId = form.get('externalId') ?? '';
      const asked = { valueSat: valueSat ?? 0, seconds: seconds ?? 3600, text, externalId };
      const { paymentHash, invoice } = book.add(asked);
      return json({ amountSat: asked.valueSat, paymentHash, serialized: invoice });
    }
    case 'GET /payments/incoming': {
      const [from = 0, limit = 20, offset = 0] = ['from', 'limit', 'offset'].map((name) =>
        Number(query.get(name)),
      );
      const received = book.invoices
        .filter(({ state, settledAt }) => state === 'SETTLED' && settledAt >= from)
        .sort((one, other) => other.settledAt - one.settledAt || other.addIndex - one.addIndex);
      return json(received.slice(offset, offset + limit).map(phoenixdPayment));
    }
    case 'POST /payinvoice':
      return maySpend ? fail(400, 'Request parameter invoice is missing') : fail(401, unauthorized);
    default:
      return fail(404, 'Unknown endpoint (check api doc)');
  }
};

const phoenixdPayment = (invoice: PlayedInvoice): object => ({
  type: 'incoming_payment',
  subType: 'lightning',
  paymentHash: invoice.paymentHash,
  preimage: invoice.preimage,
  externalId: invoice.externalId,
  description: invoice.text,
  invoice: invoice.invoice,
  isPaid: true,
  isExpired: false,
  requestedSat: invoice.valueSat,
  receivedSat: invoice.paidSat,
  fees: 0,
  expiresAt: (invoice.createdAt + invoice.seconds) * 1000,
  completedAt: invoice.settledAt,
  createdAt: invoice.createdAt * 1000,
});
