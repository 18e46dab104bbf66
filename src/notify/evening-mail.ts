// Writes the evening mail, once a day, from an hour of the merchant's zone on. Each target has
// what it asked for: the operator all stores, a store its own. The day before is summed again as a
// whole, because sales go on after the mail.

import { type ChangedOrder, dayNotice } from '../domain/delivery/day-notice.ts';
import { orderJson } from '../domain/order/order-json.ts';
import { refundableOf } from '../domain/order/refund.ts';
import { dayOf, dayStart, formatDay, hourOf } from '../domain/text/time-zone.ts';
import { type BackgroundTasks, createBackgroundTasks } from '../lib/background-tasks.ts';
import { reasonOf } from '../lib/errors.ts';
import { nextTurn } from '../lib/next-turn.ts';
import type { TargetOwner } from '../store/file/file-state.ts';
import type { Records } from '../store/open-records.ts';
import type { Cancel, World } from '../world/world.ts';

/** The clocks show it when the mail is written. */
export const eveningHour = 21;

/** The newest orders that changed: reading more would take long. */
const maxChanged = 5_000;
/** Orders that are read in one turn of the event loop. */
const ordersPerTurn = 20;
/** A mail counts payments up to this number. */
const maxUnconfirmed = 1_000;

export interface EveningParts {
  readonly world: Pick<World, 'now' | 'schedule' | 'log'>;
  readonly records: Records;
}

export class EveningMail {
  readonly #parts: EveningParts;
  readonly #tasks: BackgroundTasks;
  #cancel: Cancel = () => undefined;
  /** The day whose mails were written; a row of the queue says so after a restart. */
  #done: number | undefined;

  constructor(parts: EveningParts) {
    this.#parts = parts;
    this.#tasks = createBackgroundTasks((error) => {
      // The next minute is the next attempt.
      this.#done = undefined;
      parts.world.log.error('the evening mail could not be written', { reason: reasonOf(error) });
    });
  }

  start(): void {
    this.#cancel = this.#parts.world.schedule('30 * * * * *', () => this.#tick());
    this.#tick();
  }

  async stop(): Promise<void> {
    this.#cancel();
    await this.#tasks.idle();
  }

  idle(): Promise<void> {
    return this.#tasks.idle();
  }

  #tick(): void {
    const { world, records } = this.#parts;
    const [now, zone] = [world.now(), records.state.zone()];
    const day = dayOf(now, zone);
    if (hourOf(now, zone) < eveningHour || day === this.#done) return;
    this.#done = day;
    this.#tasks.run(() => this.#write(now, day, zone));
  }

  async #write(now: number, day: number, zone: string): Promise<void> {
    const { catalog, state, database, notifications } = this.#parts.records;
    const owners: TargetOwner[] = [null, ...catalog.stores().map(({ id }) => id)];
    const asked = owners.filter((owner) => state.notifyTarget(owner).read().kinds.includes('day'));
    if (asked.length === 0) return;
    const orders = await changedOrders(this.#parts.records, dayStart(day - 1, zone), now);
    for (const owner of asked) {
      const notice = await this.#noticeOf(owner, orders, { now, day, zone });
      if (notice === undefined) continue;
      await database.write((tx) => notifications.dayEnded(tx, now, owner, notice, day));
    }
  }

  async #noticeOf(
    owner: TargetOwner,
    orders: readonly ChangedOrder[],
    { now, day, zone }: { readonly now: number; readonly day: number; readonly zone: string },
  ) {
    const { accountView, paymentView, catalog } = this.#parts.records;
    const storeId = owner ?? undefined;
    const [yesterday, since] = [dayStart(day - 1, zone), dayStart(day, zone)];
    const unconfirmed = paymentView.list({
      states: ['unconfirmed', 'confirming'],
      storeId,
      since,
      limit: maxUnconfirmed,
    });
    return dayNotice({
      day: formatDay(day),
      storeName: owner === null ? null : catalog.store(owner).name,
      today: await accountView.sums({ storeId, since, until: now + 1 }),
      unconfirmed: unconfirmed.length,
      yesterday: await accountView.sums({ storeId, since: yesterday, until: since }),
      orders: orders.filter(({ order }) => owner === null || order.store_id === owner),
    });
  }
}

/** The newest first. */
async function changedOrders(
  { orderView, refunds }: Pick<Records, 'orderView' | 'refunds'>,
  since: number,
  now: number,
): Promise<ChangedOrder[]> {
  const found: ChangedOrder[] = [];
  const ids = orderView.changedSince(since).slice(-maxChanged).reverse();
  for (const [place, id] of ids.entries()) {
    if (place % ordersPerTurn === 0) await nextTurn();
    const record = orderView.record(orderView.byId(id));
    const standing = orderView.standing(record, now);
    const sent = refunds.of(id);
    found.push({
      order: orderJson(record.details, standing, orderView.baseUrl),
      storeName: record.details.storeName,
      linkTitle: record.linkTitle,
      excessSat: refundableOf(standing, sent)?.excessSat ?? 0,
      isRefunded: sent.length > 0,
    });
  }
  return found;
}
