// The live socket `/payment/{addr}` (wire §3), which notifies a page of a customer of payments to
// its address. Any web page may open it. Only issued addresses are served. The number of sockets
// is limited by client and in total. At the total limit, a new socket replaces the newest socket
// of the network prefix with the most sockets (domain/access/connection-eviction).

import type { IncomingMessage } from 'node:http';
import { type HttpBindings, upgradeWebSocket } from '@hono/node-server';
import { Hono } from 'hono';
import type { WSContext } from 'hono/ws';
import {
  type ClientPrefixes,
  clientPrefixesOf,
  connectionToClose,
} from '../domain/access/connection-eviction.ts';
import { PaygateError } from '../lib/errors.ts';
import { unixSeconds } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import { statusOf } from '../store/payments/confirmations.ts';
import type { Receipt } from '../store/payments/receipts.ts';
import { issuedAddress } from '../store/wallets/issued-address.ts';
import type { ChangeFeed } from '../web/change-feed.ts';
import { isSocketUpgrade } from '../web/http-server.ts';
import type { LimitedLookup } from '../web/limits/lookup-limit.ts';
import { clientAddressOf } from '../web/limits/request-origin.ts';
import type { ApiOptions } from './api-parts.ts';

export interface PaymentSocketOptions extends Pick<ApiOptions, 'records' | 'proxies'> {
  readonly feed: ChangeFeed;
  readonly limitLookup: LimitedLookup;
}

interface SocketSlot extends ClientPrefixes {
  end(code: number, reason: string): void;
}

/** Sockets of one network prefix, and in total. */
const maxSocketsPerPrefix = 20;
const maxSockets = 300;
/** Bytes that may wait for a client that does not read, before its socket is closed. */
const maxUnsentBytes = 64 * 1024;

export function createPaymentSockets(options: PaymentSocketOptions): Hono {
  const live = new Hono();
  /** The open sockets, the newest last. */
  const open = new Set<SocketSlot>();
  /** The socket to close so that one more can open; undefined below the limits. */
  function socketToClose(place: SocketSlot): SocketSlot | undefined {
    const own = [...open].filter(({ prefix48 }) => prefix48 === place.prefix48);
    if (own.length >= maxSocketsPerPrefix) return place;
    return open.size < maxSockets ? undefined : connectionToClose([...open, place]);
  }

  const upgrade = upgradeWebSocket((context) => {
    const { records, feed, proxies, limitLookup } = options;
    const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
    // An error that is thrown here becomes an HTTP response.
    if (incoming === undefined || !isSocketUpgrade(incoming as IncomingMessage)) {
      throw new PaygateError('invalid', 'This is a WebSocket: connect with wss://');
    }
    const text = context.req.param('addr') ?? '';
    const row = limitLookup(context, '/payment', () => issuedAddress(records, text));
    const origin = clientPrefixesOf(clientAddressOf(context, proxies));
    const candidate: SocketSlot = { ...origin, end: () => {} };
    if (socketToClose(candidate) === candidate) {
      throw new PaygateError('limited', 'Too many live connections', { retryAfterSeconds: 30 });
    }
    const sinceMs = Number(context.req.query('timestamp') ?? 0) * 1000 || 0;
    let end = (): void => {};
    return {
      onOpen(_event, socket) {
        const place = {
          ...origin,
          end: (code: number, reason: string) => socket.close(code, reason),
        };
        // Others may have opened since the request was accepted.
        const closing = socketToClose(place);
        closing?.end(1013, 'too many connections');
        if (closing === place) return;
        // It is forgotten at once, because its close event may come much later.
        if (closing !== undefined) open.delete(closing);
        open.add(place);
        const sendIfShown = (receipt: Receipt): void => {
          if (isShown(receipt, sinceMs)) send(socket, records, receipt);
        };
        const stop = feed.listen(row.address, sendIfShown);
        end = () => {
          end = () => {};
          stop();
          open.delete(place);
        };
        const latest = records.receipts
          .byScripthash(row.scripthash)
          .find((receipt) => isShown(receipt, sinceMs));
        if (latest !== undefined) sendIfShown(latest);
      },
      onClose: () => end(),
      onError: () => end(),
    };
  });
  live.get('/payment/:addr', upgrade);
  return live;
}

/** @param sinceMs earlier payments belong to another order */
const isShown = ({ firstSeenAt, state }: Receipt, sinceMs: number): boolean =>
  firstSeenAt >= sinceMs && state !== 'dropped';

function send(socket: WSContext, records: Records, receipt: Receipt): void {
  const { bufferedAmount = 0 } = (socket.raw ?? {}) as { bufferedAmount?: number };
  if (bufferedAmount > maxUnsentBytes) {
    socket.close(1008, 'too slow');
    return;
  }
  socket.send(
    JSON.stringify({
      status: statusOf(records, receipt),
      timestamp: unixSeconds(receipt.changedAt),
      value: receipt.valueSat,
      txid: receipt.txid,
    }),
  );
}
