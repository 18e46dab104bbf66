// The invariants of Lightning. What the file has of paid invoices is exactly what the nodes
// received for orders that showed them. The shown invoice of an order can be paid.

import SqliteDatabase from 'better-sqlite3';
import type { OrderJson } from '../../src/domain/order/order-json.ts';
import type { Recount } from '../support/recount.ts';
import { invoiceAt, nodeOf, wrongShown } from './lightning.ts';
import type { SimulatedOrder } from './orders.ts';
import type { Run } from './run.ts';

/** What a node received for an order. */
export interface Settlement {
  readonly orderId: string;
  readonly preimage: string;
  readonly valueSat: number;
  readonly currency: string | null;
  /** Epoch milliseconds. A node reports whole seconds. */
  readonly settledAt: number;
}

interface SettlementRow {
  readonly paymentHash: string;
  readonly preimage: string;
  readonly valueSat: number;
  readonly state: string;
  readonly firstSeenAt: number;
  readonly currency: string | null;
  readonly priceCents: number | null;
  readonly orderId: string;
  readonly callbacks: number;
}

/** By payment hash: what was paid for orders that the file has. */
export function settlementsOf(run: Run): Map<string, Settlement> {
  const orders = new Map([...run.shopOrders.values()].map((order) => [order.id, order]));
  const invoices = [...run.nodes.values()].flatMap(({ played }) => played.invoices);
  return new Map(
    invoices.flatMap(({ state, paymentHash, preimage, paidSat: valueSat, settledAt }) => {
      const orderId = run.shownInvoices.get(paymentHash) ?? '';
      const order = orders.get(orderId);
      if (state !== 'SETTLED' || order === undefined) return [];
      const currency = order.price.kind === 'fiat' ? order.price.currency : null;
      return [[paymentHash, { orderId, preimage, valueSat, settledAt, currency }]];
    }),
  );
}

export function readSettlements(path: string): SettlementRow[] {
  const file = new SqliteDatabase(path, { readonly: true });
  try {
    return file
      .prepare<[], SettlementRow>(
        `select p.txid as paymentHash, p.preimage, p.value_sat as valueSat, p.state, p.currency,
          p.first_seen_at as firstSeenAt, p.price_cents as priceCents, o.public_id as orderId,
          (select count(*) from deliveries d
            where d.channel = 'callback' and d.payment_id = p.id) as callbacks
        from payments p join addresses a on a.id = p.address_id join orders o on o.id = a.order_id
        where p.preimage is not null order by p.id`,
      )
      .all();
  } finally {
    file.close();
  }
}

/** Holds once no fault is active and the nodes had time to report. @returns what does not */
export function wrongSettlements(run: Run): string[] {
  const rows = new Map<string, SettlementRow>();
  const wrong: string[] = [];
  const expected = settlementsOf(run);
  for (const row of readSettlements(run.app.path)) {
    const want = expected.get(row.paymentHash);
    if (rows.has(row.paymentHash)) wrong.push(`recorded twice: ${shown(row)}`);
    if (want === undefined) wrong.push(`no node received it: ${shown(row)}`);
    else if (!isAs(run, row, want)) wrong.push(`${shown(row)}\n  should be ${shown(want)}`);
    rows.set(row.paymentHash, row);
  }
  for (const [paymentHash, want] of expected) {
    const isMissing = !rows.has(paymentHash) && !mayBeLost(run, paymentHash);
    if (isMissing) wrong.push(`not recorded: ${paymentHash} ${shown(want)}`);
  }
  return [...wrong, ...wrongCursors(run)];
}

/** A copy learns for a day of payments to invoices that it does not have. */
const mayBeLost = (run: Run, paymentHash: string): boolean =>
  run.isRestored &&
  run.steps.some((each) => /^(jumpDays|sleepDays|exhaust)/.test(each)) &&
  read(run, 'select count(*) from lightning_invoices where payment_hash = ?', paymentHash) === 0;

/** The first value of a row. */
function read(run: Run, query: string, key: string): unknown {
  const file = new SqliteDatabase(run.app.path, { readonly: true });
  try {
    return file.prepare<[string], unknown>(query).pluck().get(key);
  } finally {
    file.close();
  }
}

function isAs(run: Run, row: SettlementRow, want: Settlement): boolean {
  const isPriced = row.priceCents !== null || row.currency === null || !isSteady(run);
  return (
    row.orderId === want.orderId &&
    row.preimage === want.preimage &&
    row.valueSat === want.valueSat &&
    row.currency === want.currency &&
    row.state === 'settled' &&
    row.callbacks === 0 &&
    isPriced &&
    isSeenAt(run, row, want)
  );
}

/** Nothing hid the price of a bitcoin, and all clocks were right. */
const isSteady = ({ steps }: Run): boolean =>
  !steps.some((each) => /^(jump|sleep|exhaust|setRate: no answer)/.test(each));

/** The times of a node and of the file may be of different clocks, or of one that was set back. */
const hasJumped = ({ steps }: Run): boolean => steps.some((each) => /^jump/.test(each));

const isSeenAt = (
  run: Run,
  { firstSeenAt }: Pick<SettlementRow, 'firstSeenAt'>,
  { settledAt }: Settlement,
): boolean =>
  hasJumped(run) ||
  (Math.floor(settledAt / 1000) * 1000 <= firstSeenAt && firstSeenAt <= settledAt);

/** What an order counts of a row: the value that the node says, final since it was paid. */
export const asPaid = (row: Pick<SettlementRow, 'firstSeenAt'>, want: Settlement | undefined) => ({
  valueSat: want?.valueSat ?? 0,
  state: 'settled' as const,
  minedAt: row.firstSeenAt,
  firstBlockAt: null,
  interruptedAt: null,
  replacedBy: null,
});

/** The file is where the node is, so that a restart asks for nothing that is known. */
const wrongCursors = (run: Run): string[] =>
  run.shops.flatMap((shop) => {
    const node = nodeOf(run, shop);
    if (node === undefined) return [];
    const name = `lightning_cursor_${shop.id}_${node.known.publicKey}`;
    const cursor = read(run, 'select value from settings where name = ?', name) ?? '""';
    const recorded = Number.parseInt(JSON.parse(String(cursor)), 10);
    const last = Math.max(0, ...node.played.invoices.map(({ settleIndex }) => settleIndex));
    return recorded === last ? [] : [`${name} is ${recorded} of ${last}`];
  });

/** @param order as it was answered @returns what is wrong with the invoice that it shows, or not */
export function wrongInvoice(
  run: Run,
  { address }: SimulatedOrder,
  order: OrderJson,
  { status, missingSat }: Recount,
): string[] {
  const { lightning, amount, expires_at, quote, accepted_at } = order;
  const shop = run.issued.find((each) => each.address === address)?.shop;
  const node = shop && nodeOf(run, shop);
  const isPriced = amount === null || accepted_at !== null;
  const hasUnpriced = !isPriced && order.payments.some(({ rate }) => rate === null);
  const endsAt = ((amount === null ? expires_at : quote?.expires_at) ?? 0) * 1000;
  const isPayable = status === 'open' && Boolean(missingSat) && !hasUnpriced;
  const wrong = wrongShown(run, order);
  const faults = wrong === undefined ? [] : [wrong];
  if (lightning !== null) {
    const { node: maker, invoice } = invoiceAt(run, lightning.invoice) ?? {};
    if (maker !== node) faults.push('its invoice is of another node');
    if (invoice?.state !== 'OPEN') faults.push(`its invoice is ${invoice?.state}`);
  } else if (node && isPayable && endsAt - minPayMs > run.world.now() && !hasJumped(run)) {
    faults.push('it has no invoice');
  }
  return faults.map((fault) => `${fault}: ${shown(order)}`);
}

/** Nodes report within a minute, and are asked again then. */
const minPayMs = 300_000;

const shown = (value: object): string => JSON.stringify(value);
