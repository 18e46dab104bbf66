// Sends the notifications that are due. Mails form one lane, and each webhook has its own. A lane
// sends one notification at a time, the oldest first. No webhook delays a mail. A notification is
// sent at least once: without a record of its attempt, it is sent again with the same id.

import { type Notice, summedNotice } from '../domain/delivery/notice.ts';
import { nextAttempt, unsureWaitMs } from '../domain/delivery/retry.ts';
import { notificationIdFor } from '../domain/order/order-id.ts';
import { formatCount, formatTime, verbOf } from '../domain/text/format.ts';
import { type BackgroundTasks, createBackgroundTasks } from '../lib/background-tasks.ts';
import { reasonOf } from '../lib/errors.ts';
import { minuteMs, secondMs } from '../lib/time-units.ts';
import type {
  NotificationLane,
  NotificationResult,
  NotificationRow,
} from '../store/delivery/notification-queue.ts';
import type { Records } from '../store/open-records.ts';
import { type AgeJudge, trustedClock } from '../world/clock-watch.ts';
import type { Cancel, World } from '../world/world.ts';
import {
  createNotificationSender,
  type NotificationSender,
  type NotificationSenderParts,
  type Sent,
} from './notification-sender.ts';

export interface NotifierParts {
  readonly world: Pick<World, 'now' | 'monotonic' | 'random' | 'after' | 'schedule' | 'log'>;
  readonly records: Pick<Records, 'database' | 'notifications' | 'typedEmails'>;
  readonly sender: NotificationSender;
  /** While the clock may be wrong, nothing fails for good by its age. */
  readonly clock?: AgeJudge;
}

/** A lane pauses for so long when its server fails, because the next mail would fail as well. */
const pauseMs = minuteMs;
/** `stop` waits this long for what is on its way. */
const drainMs = 5 * secondMs;
const everySecond = '* * * * * *';
const everyHour = '0 0 * * * *';

const nameOf = ({ channel, owner }: NotificationLane): string => `${channel} ${owner}`;

export const createNotifier = (
  parts: Omit<NotificationSenderParts, 'world' | 'records'> &
    Pick<NotifierParts, 'records' | 'clock'> & {
      readonly world: World;
      readonly records: Pick<Records, 'state' | 'admin' | 'orderView'>;
    },
): Notifier => new Notifier({ ...parts, sender: createNotificationSender(parts) });

export class Notifier {
  readonly #parts: NotifierParts;
  readonly #clock: AgeJudge;
  readonly #tasks: BackgroundTasks;
  readonly #running = new Set<string>();
  /** By lane, monotonic. */
  readonly #pausedUntil = new Map<string, number>();
  readonly #abortAll = new AbortController();
  #cancels: Cancel[] = [];
  #isStopping = false;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? trustedClock;
    this.#tasks = createBackgroundTasks((error) => {
      parts.world.log.error('notifications could not be sent', { reason: reasonOf(error) });
    });
  }

  /** Sends a test to each recipient of a target, as `NotificationSender.test` does. */
  test: NotificationSender['test'] = (owner, signal) => this.#parts.sender.test(owner, signal);

  start(): void {
    const { world } = this.#parts;
    this.#cancels = [
      world.schedule(everySecond, () => this.#tick()),
      world.schedule(everyHour, () => this.#tidy()),
    ];
    this.#tidy();
    this.#tick();
  }

  /** Resolves when nothing is on its way and nothing is due in a lane that is not paused. */
  async idle(): Promise<void> {
    this.#tick();
    await this.#tasks.idle();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const cancel of this.#cancels) cancel();
    const reason = new Error('paygate is stopping');
    const cancel = this.#parts.world.after(drainMs, () => this.#abortAll.abort(reason));
    await this.#tasks.idle();
    cancel();
  }

  /** Recipients that missed notifications, as texts. */
  warnings(): string[] {
    const { world, records } = this.#parts;
    return records.notifications
      .missed(world.now())
      .map(({ count, channel, recipient, reason }) => {
        const to =
          channel === 'mail'
            ? `${formatCount(count, 'mail')} to ${recipient}`
            : `${formatCount(count, 'notification')} to a webhook`;
        return `${to} failed and ${verbOf(count, 'is', 'are')} no longer retried (${reason ?? 'no attempt'}); send a test`;
      });
  }

  #tick(): void {
    if (this.#isStopping) return;
    const { world, records } = this.#parts;
    for (const lane of records.notifications.lanesDue(world.now())) {
      const name = nameOf(lane);
      if (this.#running.has(name)) continue;
      this.#running.add(name);
      this.#tasks.run(async () => {
        try {
          await this.#serve(lane);
        } catch (error) {
          this.#pause(name);
          throw error;
        } finally {
          this.#running.delete(name);
        }
      });
    }
  }

  #isPaused(name: string): boolean {
    return (this.#pausedUntil.get(name) ?? 0) > this.#parts.world.monotonic();
  }

  #pause(name: string): void {
    this.#pausedUntil.set(name, this.#parts.world.monotonic() + pauseMs);
  }

  /** Sends what is due in a lane, until its server fails. */
  async #serve(lane: NotificationLane): Promise<void> {
    const { world, records, sender } = this.#parts;
    while (!this.#isStopping && !this.#isPaused(nameOf(lane))) {
      const rows = records.notifications.next(lane, world.now());
      const [row] = rows;
      if (row === undefined) return;
      const sent = await this.#send(sender, summedRow(row, rows));
      if (sent === undefined) return;
      if (sent.kind === 'failed' && !sent.isOfMail) this.#pause(nameOf(lane));
      const result = this.#resultOf(row, sent);
      await records.database.write((tx) => {
        for (const { id } of rows) records.notifications.record(tx, world.now(), id, result);
      });
      for (const each of rows) this.#log(each, result);
    }
  }

  /** Undefined if the stop of paygate aborted it. */
  async #send(sender: NotifierParts['sender'], row: NotificationRow): Promise<Sent | undefined> {
    try {
      return await sender.send(row, this.#abortAll.signal);
    } catch (error) {
      if (this.#abortAll.signal.aborted) return undefined;
      throw error;
    }
  }

  #resultOf({ attemptCount }: NotificationRow, sent: Sent): NotificationResult {
    if (sent.kind !== 'failed') return { state: sent.kind, reason: null };
    const { world } = this.#parts;
    const now = world.now();
    const { reason, isPermanent, retryAfterSeconds } = sent;
    const failed = {
      attemptCount: attemptCount + 1,
      now,
      jitter: world.random(),
      retryAfterSeconds,
    };
    const later = this.#clock.isSure() ? undefined : now + unsureWaitMs;
    const at = isPermanent ? undefined : (nextAttempt(failed) ?? later);
    return at === undefined ? { state: 'failed', reason } : { state: 'owed', at, reason };
  }

  #log(
    { publicId, type, channel, attemptCount }: NotificationRow,
    { state, at, reason }: NotificationResult,
  ): void {
    const { log } = this.#parts.world;
    const attempt = attemptCount + 1;
    const fields = { notificationId: publicId, type, channel, attempt, state };
    if (reason === null) log.info('notification attempted', fields);
    else {
      const next = at === undefined ? {} : { nextAttempt: formatTime(at) };
      log.warn('notification attempted', { ...fields, reason, ...next });
    }
  }

  #tidy(): void {
    const { world, records } = this.#parts;
    const { database, notifications, typedEmails } = records;
    this.#tasks.run(() =>
      database.write((tx) => {
        const now = world.now();
        const passed = this.#clock.passed(now);
        notifications.tidy(tx, now, passed);
        typedEmails.tidy(tx, passed);
      }),
    );
  }
}

/** One mail for all of these rows. Its id is that of exactly these. */
function summedRow(first: NotificationRow, rows: readonly NotificationRow[]): NotificationRow {
  if (rows.length === 1) return first;
  const [one, ...others] = rows.map(({ notice }) => JSON.parse(notice) as Notice);
  if (one === undefined) return first;
  const notice = JSON.stringify(summedNotice([one, ...others]));
  return { ...first, notice, publicId: notificationIdFor(rows.map(({ publicId }) => publicId)) };
}
