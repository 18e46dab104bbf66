// What the simulation itself knows of orders: what it requested and what was answered. The file is
// read by SQL of its own.

import SqliteDatabase from 'better-sqlite3';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import type { Quote } from '../../src/domain/order/quote.ts';

/** Times are epoch milliseconds, as in the file. */
export interface OrderTimes {
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly canceledAt: number | null;
  readonly acceptedAt: number | null;
  readonly acceptedSat: number | null;
}

/** An order, by the answers to its requests. */
export interface SimulatedOrder extends OrderTimes {
  readonly id: string;
  readonly address: string;
  readonly price:
    | { readonly kind: 'sat'; readonly amountSat: number }
    | { readonly kind: 'fiat'; readonly currency: 'EUR'; readonly minor: bigint };
  readonly toleranceBasisPoints: number;
  readonly quotes: readonly Quote[];
}

export interface OrderRecord extends OrderTimes {
  readonly rowId: number;
  readonly id: string;
  readonly address: string;
  readonly amountSat: number;
  readonly status: string;
  readonly version: number;
  readonly quotes: readonly Quote[];
}

export interface EventRecord {
  readonly id: string;
  readonly rowId: number | null;
  readonly type: string;
  readonly body: string;
  readonly createdAt: number;
}

export interface OrderRecords {
  readonly orders: readonly OrderRecord[];
  /** In the order in which they were made. */
  readonly events: readonly EventRecord[];
}

export function readOrders(path: string): OrderRecords {
  const file = new SqliteDatabase(path, { readonly: true });
  try {
    const quotes = file
      .prepare<[], Quote & { readonly orderId: number }>(
        `select order_id as orderId, rate_cents as rateCents, amount_sat as amountSat,
          created_at as createdAt, expires_at as expiresAt
        from quotes order by quotes.id`,
      )
      .all();
    const rows = file
      .prepare<[], Omit<OrderRecord, 'quotes'>>(
        `select o.id as rowId, o.public_id as id, a.address, o.amount_sat as amountSat, o.status,
          o.version, o.created_at as createdAt, o.expires_at as expiresAt,
          o.canceled_at as canceledAt, o.accepted_at as acceptedAt, o.accepted_sat as acceptedSat
        from orders o join addresses a on a.id = o.address_id and a.order_id = o.id
        order by o.id`,
      )
      .all();
    const events = file
      .prepare<[], EventRecord>(
        `select event_id as id, order_id as rowId, type, content as body, created_at as createdAt
        from deliveries where channel = 'webhook' and type not like 'Invoice%'
        order by deliveries.id`,
      )
      .all();
    const orders = rows.map((row) => ({
      ...row,
      quotes: quotes
        .filter(({ orderId }) => orderId === row.rowId)
        .map(({ orderId: _, ...quote }) => quote),
    }));
    return { orders, events };
  } finally {
    file.close();
  }
}

/** The price in satoshis, by the newest quote. */
export const amountSatOf = ({ price, quotes }: SimulatedOrder): number =>
  price.kind === 'sat' ? price.amountSat : (quotes.at(-1)?.amountSat ?? 0);

/**
 * What an answer adds to what is known of an order. The answer has whole seconds, so milliseconds
 * are read from the file and compared with the answer.
 * @throws Error if the file has something else than was answered
 */
export function answeredOrder(
  path: string,
  known: Pick<SimulatedOrder, 'price' | 'toleranceBasisPoints'>,
  body: OrderJson,
): SimulatedOrder {
  const row = readOrders(path).orders.find(({ id }) => id === body.id);
  if (row === undefined) throw new Error(`answered, and not recorded: ${body.id}`);
  const seconds = (ms: number | null): number | null => ms && Math.floor(ms / 1000);
  const newest = row.quotes.at(-1);
  const isAsAnswered =
    row.address === body.address &&
    seconds(row.createdAt) === body.created_at &&
    seconds(row.expiresAt) === body.expires_at &&
    seconds(row.canceledAt) === body.canceled_at &&
    seconds(row.acceptedAt) === body.accepted_at &&
    (body.quote === null || body.quote.amount_sat === newest?.amountSat) &&
    row.quotes.every((quote) => isRounded(known, quote));
  if (!isAsAnswered) {
    throw new Error(`answered ${JSON.stringify(body)}, recorded ${JSON.stringify(row)}`);
  }
  const { id, address, createdAt, expiresAt, canceledAt, acceptedAt, acceptedSat, quotes } = row;
  const { price, toleranceBasisPoints } = known;
  const times = { createdAt, expiresAt, canceledAt, acceptedAt, acceptedSat };
  return { id, address, price, toleranceBasisPoints, quotes, ...times };
}

/** Whether a quote has the satoshis of its price, rounded up. */
function isRounded(
  { price }: Pick<SimulatedOrder, 'price'>,
  { rateCents, amountSat }: Quote,
): boolean {
  if (price.kind === 'sat') return false;
  const wanted = price.minor * 100_000_000n;
  const paid = BigInt(amountSat) * BigInt(rateCents);
  return paid >= wanted && paid - BigInt(rateCents) < wanted;
}
