// The live socket `/payment/{addr}` (wire §3): a customer's page hears of the payment to the address it
// shows. Any page may open it, since whoever knows an address may see what the chain says of it; only
// addresses that customers hold are answered for, and one client has a bounded number of sockets.

import type { IncomingMessage } from 'node:http';
import { type HttpBindings, upgradeWebSocket } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import type { WSContext } from 'hono/ws';
import { addressToScript, scripthash } from '../bitcoin/address.ts';
import { networks } from '../bitcoin/network.ts';
import { householdOf } from '../domain/client-address.ts';
import { PaygateError } from '../errors.ts';
import type { AddressPlace } from '../store/address-statements.ts';
import type { Store } from '../store/open.ts';
import type { Receipt } from '../store/receipts.ts';
import { addressOf } from './auth.ts';
import type { Feed } from './feed.ts';
import { statusOf } from './merchant-tx.ts';
import type { ApiOptions } from './options.ts';

export interface LiveOptions extends Pick<ApiOptions, 'store' | 'proxies'> {
  readonly feed: Feed;
}

/** Sockets of one client, and of all together. */
const mostOfOne = 20;
const mostOfAll = 300;
/** Bytes that may wait for a client that does not read. */
const mostWaiting = 64 * 1024;

/** Nothing else may leave HTTP. */
export const asksForLive = ({ method, url = '', headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.upgrade?.toLowerCase() === 'websocket' &&
  // The whole URL is as good (RFC 9112 section 3.2.2).
  URL.parse(url, 'http://localhost')?.pathname.startsWith('/payment/') === true;

export function createLive(options: LiveOptions): Hono {
  const live = new Hono();
  const open = new Map<string, number>();
  let total = 0;

  const isFull = (client: string): boolean =>
    total >= mostOfAll || (open.get(client) ?? 0) >= mostOfOne;
  /** Counts a socket from its opening to its end. */
  function enter(client: string): void {
    open.set(client, (open.get(client) ?? 0) + 1);
    total += 1;
  }
  function leave(client: string): void {
    const left = (open.get(client) ?? 1) - 1;
    if (left === 0) open.delete(client);
    else open.set(client, left);
    total -= 1;
  }

  const upgrade = upgradeWebSocket((context) => {
    const { store, feed } = options;
    const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
    // What is thrown here is answered by HTTP.
    if (incoming === undefined || !asksForLive(incoming as IncomingMessage)) {
      throw new PaygateError('invalid', 'This is a WebSocket: connect with wss://');
    }
    const row = issuedAddress(store, context.req.param('addr') ?? '');
    const client = clientOf(options, context);
    if (isFull(client)) {
      throw new PaygateError('limited', 'Too many live connections', { retryAfterSeconds: 30 });
    }
    const sinceMs = Number(context.req.query('timestamp') ?? 0) * 1000 || 0;
    let end = (): void => {};
    return {
      onOpen(_event, socket) {
        // Others may have come in since the door was passed.
        if (isFull(client)) {
          socket.close(1013, 'too many connections');
          return;
        }
        enter(client);
        const tell = (receipt: Receipt): void => {
          if (isTold(receipt, sinceMs)) send(socket, store, receipt);
        };
        const stop = feed.listen(row.address, tell);
        end = () => {
          end = () => {};
          stop();
          leave(client);
        };
        const latest = store.receipts
          .byScripthash(row.scripthash)
          .find((receipt) => isTold(receipt, sinceMs));
        if (latest !== undefined) tell(latest);
      },
      onClose: () => end(),
      onError: () => end(),
    };
  });
  live.get('/payment/:addr', upgrade);
  return live;
}

const clientOf = ({ proxies }: LiveOptions, context: Context): string =>
  householdOf(addressOf(context, proxies));

/** @throws PaygateError not_found for what customers do not hold */
export function issuedAddress({ addresses, network }: Store, text: string): AddressPlace {
  const script = addressToScript(text, networks[network]);
  const row = addresses.byScripthash(scripthash(script));
  if (row?.origin === 'issued' || row?.origin === 'skipped') return row;
  throw new PaygateError('not_found', 'This address was not issued here');
}

/** @param sinceMs payments seen before are those of another order */
const isTold = ({ firstSeenAt, state }: Receipt, sinceMs: number): boolean =>
  firstSeenAt >= sinceMs && state !== 'dropped';

function send(socket: WSContext, store: Store, receipt: Receipt): void {
  const { bufferedAmount = 0 } = (socket.raw ?? {}) as { bufferedAmount?: number };
  if (bufferedAmount > mostWaiting) {
    socket.close(1008, 'too slow');
    return;
  }
  socket.send(
    JSON.stringify({
      status: statusOf(store, receipt),
      timestamp: Math.floor(receipt.changedAt / 1000),
      value: receipt.valueSat,
      txid: receipt.txid,
    }),
  );
}
