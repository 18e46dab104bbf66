// The live socket `/payment/{addr}` (wire §3): a customer's page hears of the payment to the address it
// shows. Any page may open it, since whoever knows an address may see what the chain says of it; only
// addresses that customers hold are answered for, and one client has a bounded number of sockets. When all are taken,
// the newest socket of the line with most of them gives way, as for connections (domain/connection-eviction).

import type { IncomingMessage } from 'node:http';
import { type HttpBindings, upgradeWebSocket } from '@hono/node-server';
import { Hono } from 'hono';
import type { WSContext } from 'hono/ws';
import { addressToScript, scripthash } from '../bitcoin/address.ts';
import { networks } from '../bitcoin/network.ts';
import {
  type ClientPrefixes,
  clientPrefixesOf,
  connectionToClose,
} from '../domain/connection-eviction.ts';
import { PaygateError } from '../lib/errors.ts';
import type { Store } from '../store/open-store.ts';
import type { AddressPlace } from '../store/records/address-row.ts';
import { statusOf } from '../store/views/confirmations.ts';
import type { Receipt } from '../store/views/receipts.ts';
import type { ChangeFeed } from '../web/change-feed.ts';
import { isSocketUpgrade } from '../web/http-server.ts';
import type { LimitedLookup } from '../web/lookup-limit.ts';
import { clientAddressOf } from '../web/request-origin.ts';
import type { ApiOptions } from './api-parts.ts';

export interface PaymentSocketOptions extends Pick<ApiOptions, 'store' | 'proxies'> {
  readonly feed: ChangeFeed;
  readonly limitLookup: LimitedLookup;
}

/** A socket, or one that is to be. */
interface SocketSlot {
  end(code: number, reason: string): void;
}

/** Sockets of one network prefix, and of all together. */
const maxSocketsPerPrefix = 20;
const maxSockets = 300;
/** Bytes that may wait for a client that does not read. */
const maxUnsentBytes = 64 * 1024;

export function createPaymentSockets(options: PaymentSocketOptions): Hono {
  const live = new Hono();
  /** From the opening of each to its end, the newest last. */
  const open = new Map<SocketSlot, ClientPrefixes>();
  /** The socket to close so that one more can open; undefined while there is room. */
  function leaverFor(place: SocketSlot, origin: ClientPrefixes): SocketSlot | undefined {
    const { prefix64 } = origin;
    const own = [...open.values()].filter((each) => each.prefix64 === prefix64);
    if (own.length >= maxSocketsPerPrefix) return place;
    return open.size < maxSockets
      ? undefined
      : connectionToClose(new Map([...open, [place, origin]]));
  }

  const upgrade = upgradeWebSocket((context) => {
    const { store, feed, proxies, limitLookup } = options;
    const { incoming } = (context.env ?? {}) as Partial<HttpBindings>;
    // What is thrown here is answered by HTTP.
    if (incoming === undefined || !isSocketUpgrade(incoming as IncomingMessage)) {
      throw new PaygateError('invalid', 'This is a WebSocket: connect with wss://');
    }
    const text = context.req.param('addr') ?? '';
    const row = limitLookup(context, '/payment', () => issuedAddress(store, text));
    const origin = clientPrefixesOf(clientAddressOf(context, proxies));
    const newcomer: SocketSlot = { end: () => {} };
    if (leaverFor(newcomer, origin) === newcomer) {
      throw new PaygateError('limited', 'Too many live connections', { retryAfterSeconds: 30 });
    }
    const sinceMs = Number(context.req.query('timestamp') ?? 0) * 1000 || 0;
    let end = (): void => {};
    return {
      onOpen(_event, socket) {
        const place: SocketSlot = { end: (code, reason) => socket.close(code, reason) };
        // Others may have come in since the door was passed.
        const leaver = leaverFor(place, origin);
        leaver?.end(1013, 'too many connections');
        if (leaver === place) return;
        // Its place is free at once: it may take a while to say that it is closed.
        if (leaver !== undefined) open.delete(leaver);
        open.set(place, origin);
        const tell = (receipt: Receipt): void => {
          if (isShown(receipt, sinceMs)) send(socket, store, receipt);
        };
        const stop = feed.listen(row.address, tell);
        end = () => {
          end = () => {};
          stop();
          open.delete(place);
        };
        const latest = store.receipts
          .byScripthash(row.scripthash)
          .find((receipt) => isShown(receipt, sinceMs));
        if (latest !== undefined) tell(latest);
      },
      onClose: () => end(),
      onError: () => end(),
    };
  });
  live.get('/payment/:addr', upgrade);
  return live;
}

/** @throws PaygateError not_found for what customers do not hold */
export function issuedAddress({ addresses, network }: Store, text: string): AddressPlace {
  const script = addressToScript(text, networks[network]);
  const row = addresses.byScripthash(scripthash(script));
  if (row?.origin === 'issued' || row?.origin === 'skipped') return row;
  throw new PaygateError('not_found', 'This address was not issued here');
}

/** @param sinceMs payments seen before are those of another order */
const isShown = ({ firstSeenAt, state }: Receipt, sinceMs: number): boolean =>
  firstSeenAt >= sinceMs && state !== 'dropped';

function send(socket: WSContext, store: Store, receipt: Receipt): void {
  const { bufferedAmount = 0 } = (socket.raw ?? {}) as { bufferedAmount?: number };
  if (bufferedAmount > maxUnsentBytes) {
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
