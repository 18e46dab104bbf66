// The invariants of orders. Nothing that was answered or recorded is lost. The events of an order
// follow each other. Its status is that of a naive count over the simulated chain.

import SqliteDatabase from 'better-sqlite3';
import { type OrderJson, paymentLine } from '../../src/domain/order/order-json.ts';
import type { PaymentState } from '../../src/domain/payment/payment.ts';
import { recount as countOrder, type Recount } from '../support/recount.ts';
import { expectedOf } from './invariants.ts';
import { asPaid, type Settlement, settlementsOf, wrongInvoice } from './lightning-invariants.ts';
import { type EventRecord, type OrderRecord, readOrders, type SimulatedOrder } from './orders.ts';
import { type Expected, paymentKey } from './recount.ts';
import { finish, type Run } from './run.ts';

/** Events are deleted after 90 days. */
const mayHaveDeleted = ({ steps }: Run): boolean =>
  steps.some((each) => /^(sleepDays|exhaust): /.test(each));

/** Holds at any time, also after a power loss. @returns what does not */
export function wrongOrderRecords(run: Run): string[] {
  const { orders, events } = readOrders(run.app.path);
  const isDeleting = mayHaveDeleted(run);
  const areThere = isDeleting || run.events.every(({ id }, place) => events[place]?.id === id);
  const wrong = areThere ? [] : ['events are lost'];
  run.events = events;
  const byId = new Map(orders.map((each) => [each.id, each]));
  for (const known of run.shopOrders.values()) {
    const recorded = byId.get(known.id);
    if (recorded === undefined) wrong.push(`an order is lost: ${shown(known)}`);
    else if (!isAsAnswered(known, recorded)) {
      wrong.push(`an order is ${shown(recorded)}\n  should be ${shown(known)}`);
    }
  }
  for (const { id, version } of orders) {
    const least = run.shownVersions.get(id) ?? 0;
    if (version < least) wrong.push(`the order ${id} has version ${version}, shown was ${least}`);
  }
  const addresses = new Set(orders.map(({ address }) => address));
  if (addresses.size < orders.length) wrong.push('an address has two orders');
  const byOrder = Map.groupBy(
    events.filter(({ type }) => type.startsWith('order.')),
    ({ rowId }) => rowId,
  );
  for (const each of orders) {
    const own = byOrder.get(each.rowId) ?? [];
    const gaps = { isDeleting, isRestored: run.isRestored };
    if (!isDeleting || own.length > 0) wrong.push(...wrongHistory(each, own, gaps));
  }
  return wrong;
}

const isAsAnswered = (known: SimulatedOrder, row: OrderRecord): boolean =>
  (['createdAt', 'expiresAt', 'canceledAt', 'acceptedAt', 'acceptedSat', 'address'] as const).every(
    (name) => row[name] === known[name],
  ) && JSON.stringify(row.quotes) === JSON.stringify(known.quotes);

interface EventBody {
  readonly type: string;
  readonly data: { readonly was: OrderJson['status']; readonly order: OrderJson };
}

const whatWas = ({ was, order }: EventBody['data']) => ({
  status: was,
  version: order.version - 1,
});

/** How far the money has come. */
const progressOf = (status: string): number =>
  Math.max(0, ['open', 'processing', 'paid'].indexOf(status));

interface Gaps {
  /** Some of the events were deleted. */
  readonly isDeleting: boolean;
  /** A restored copy raises all versions. */
  readonly isRestored: boolean;
}

function wrongHistory(
  order: OrderRecord,
  events: readonly EventRecord[],
  { isDeleting, isRestored }: Gaps,
): string[] {
  const wrong: string[] = [];
  const isSame = (version: number, expected: number): boolean =>
    version === expected || (isRestored && version > expected && Number.isSafeInteger(version));
  const fail = (text: string): void => void wrong.push(`${text}: ${shown(order)}`);
  let before: Pick<OrderJson, 'status' | 'version'> = { status: 'open', version: 1 };
  for (const { body, type } of events) {
    const { data, ...event }: EventBody = JSON.parse(body);
    const { status, version } = data.order;
    if (event.type !== type || data.order.id !== order.id) fail('an event of another order');
    if (isDeleting && version > before.version + 1) before = { ...before, ...whatWas(data) };
    if (!isSame(version, before.version + 1)) fail(`version ${version} after ${before.version}`);
    if (data.was !== before.status) fail(`was ${data.was} after ${before.status}`);
    const isFall = progressOf(status) < progressOf(before.status) && status !== 'canceled';
    if (isFall !== (type === 'order.reversed')) fail(`${type} from ${before.status} to ${status}`);
    if (!['order.reversed', 'order.updated'].includes(type) && type !== `order.${status}`) {
      fail(`${type} with ${status}`);
    }
    if (status === 'paid' && !isFinallyCovered(data.order)) fail(`paid without cover, ${body}`);
    before = data.order;
  }
  if (isDeleting) return wrong;
  if (!isSame(order.version, before.version))
    fail(`version of the last event is ${before.version}`);
  if (order.status !== before.status) fail(`status of the last event is ${before.status}`);
  return wrong;
}

/** The most that an order may be short: the simulation asks for 5 % at most. */
const tolerated = 0.95;

/** Whether the final payments that an event shows are worth the price, but for the tolerance. */
function isFinallyCovered({ payments, amount, amount_sat, accepted_at }: OrderJson): boolean {
  const finals = payments.map(paymentLine).filter(({ gone, status }) => !gone && status === 2);
  const sat = finals.reduce((sum, { value_sat }) => sum + value_sat, 0);
  if (accepted_at !== null) return sat > 0;
  if (amount === null) return sat >= amount_sat * tolerated;
  const euros = finals.reduce(
    (sum, { value_sat, rate }) => sum + (value_sat / 1e8) * Number(rate ?? 0),
    0,
  );
  return euros >= Number(amount) * tolerated;
}

interface PaymentRow {
  readonly address: string;
  readonly txid: string;
  readonly preimage: string | null;
  readonly valueSat: number;
  readonly state: PaymentState;
  readonly replacedBy: string | null;
  readonly priceCents: number | null;
  readonly firstSeenAt: number;
  readonly interruptedAt: number | null;
  readonly firstBlockAt: number | null;
}

/** Holds once no fault is active. Asks for each order. @returns what does not */
export async function wrongOrders(run: Run): Promise<string[]> {
  const wrong = wrongOrderRecords(run);
  const records = new Map(readOrders(run.app.path).orders.map((each) => [each.id, each]));
  const payments = Map.groupBy(readPayments(run.app.path), ({ address }) => address);
  const expected = { onchain: expectedOf(run), settled: settlementsOf(run) };
  for (const order of run.shopOrders.values()) {
    const rows = payments.get(order.address) ?? [];
    const now = run.world.now();
    const counted = countAgain(run, order, rows, expected, now);
    const { status, body } = await finish(run, run.app.ask(`/api/v3/orders/${order.id}`));
    const want = {
      status: counted.status,
      late: counted.isLate,
      received_sat: counted.receivedSat,
      confirmed_sat: counted.confirmedSat,
      missing_sat: counted.missingSat,
      excess_sat: counted.excessSat,
      version: records.get(order.id)?.version,
    };
    const isSame = Object.entries(want).every(([name, value]) => body[name] === value);
    wrong.push(...wrongInvoice(run, order, body, counted));
    if (status !== 200 || !isSame) {
      wrong.push(`order: ${shown(body)}\n  should be ${shown(want)}\n  payments ${shown(rows)}`);
    }
    if (counted.status === 'paid' && !counted.isFinallyEnough) wrong.push(`paid: ${shown(order)}`);
    const recorded = records.get(order.id)?.status;
    // A clock that was set back since may show an expired order as open.
    if (recorded !== counted.status && recorded !== 'expired') {
      wrong.push(`recorded as ${recorded}, should be ${counted.status}: ${shown(order)}`);
    }
  }
  for (const id of run.lostOrders) {
    const { status } = await finish(run, run.app.ask(`/api/v3/orders/${id}`));
    if (status !== 404) wrong.push(`the order ${id} of a lost file: ${status}`);
  }
  return wrong;
}

interface ExpectedPayments {
  readonly onchain: ReadonlyMap<string, Expected>;
  readonly settled: ReadonlyMap<string, Settlement>;
}

/**
 * Values, blocks and finality are those of the simulated chain and of the nodes; when and how it
 * was seen, ours.
 */
function countAgain(
  { app }: Run,
  order: SimulatedOrder,
  rows: readonly PaymentRow[],
  { onchain, settled }: ExpectedPayments,
  now: number,
): Recount {
  const seen = rows.map((row) => {
    if (row.preimage !== null) return { ...row, ...asPaid(row, settled.get(row.txid)) };
    const want = onchain.get(paymentKey(row.address, row.txid));
    const block = want?.height == null ? undefined : app.chain.block(want.height);
    return {
      ...row,
      valueSat: want?.valueSat ?? row.valueSat,
      state: want === undefined ? ('dropped' as const) : row.state,
      minedAt: block === undefined ? null : block.time * 1000,
    };
  });
  const isOver = order.expiresAt !== null && order.expiresAt <= now;
  const facts = {
    ...order,
    latePolicy: 'worth' as const,
    minimumSat: null,
    scannedAt: isOver ? now : null,
  };
  return countOrder(facts, order.quotes, seen, now);
}

function readPayments(path: string): PaymentRow[] {
  const file = new SqliteDatabase(path, { readonly: true });
  try {
    return file
      .prepare<[], PaymentRow>(
        `select a.address, p.txid, p.preimage, p.value_sat as valueSat, p.state, p.replaced_by as replacedBy,
          p.price_cents as priceCents, p.first_seen_at as firstSeenAt,
          p.interrupted_at as interruptedAt, p.first_block_at as firstBlockAt
        from payments p join addresses a on a.id = p.address_id
        where a.order_id is not null order by p.id`,
      )
      .all();
  } finally {
    file.close();
  }
}

const shown = (value: object): string =>
  JSON.stringify(value, (_name, each) => (typeof each === 'bigint' ? Number(each) : each));
