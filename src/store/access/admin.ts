// Access to the dashboard: the operator's password and authenticator app, sessions, one-time links.
// Tokens come in as text; only their hashes are stored.

import { and, desc, eq, gt, lte, ne, not, type SQL, sql } from 'drizzle-orm';
import { maxSetBackMs } from '../../domain/payment/clock-check.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { admin, adminLinks, sessions } from '../schema/admin-schema.ts';
import { tokenHash as hashOf, passkeysOf, recoveryCodesOf } from './second-factors.ts';

/** A session ends so long after it was last used … */
const idleMs = 30 * 60_000;
/** … and so long after it began, whatever happens. */
export const absoluteMs = 12 * 3_600_000;
export const linkMs = 15 * 60_000;
const seenEveryMs = 60_000;

export type Operator = typeof admin.$inferSelect;
export type Session = typeof sessions.$inferSelect;

export interface NewSession {
  readonly token: string;
  readonly client: string;
  readonly agent: string;
}

export type Admin = ReturnType<typeof createAdmin>;

const only = 1;

export function createAdmin(orm: Orm) {
  const recovery = recoveryCodesOf(orm);
  return {
    /** Undefined until a password was set. */
    operator: (): Operator | undefined => orm.select().from(admin).get(),
    /** Ends every session and every link, so that the old password gives no access. */
    setPassword(_tx: Tx, now: number, passwordHash: string): void {
      const set = { passwordHash, passwordAt: now };
      orm
        .insert(admin)
        .values({ id: only, ...set })
        .onConflictDoUpdate({ target: admin.id, set })
        .run();
      orm.delete(sessions).run();
      orm.delete(adminLinks).run();
    },
    /**
     * Also deletes the recovery codes.
     * @param secret null turns the authenticator app off
     * @param step the time step of the code that proved the secret
     */
    setTotp(tx: Tx, secret: string | null, step = 0): void {
      orm.update(admin).set({ totpSecret: secret, totpStep: step }).run();
      recovery.setRecoveryCodes(tx, []);
    },
    /** Takes the code of a step; false where it, or a later one, was taken before. */
    takeStep: (_tx: Tx, step: number): boolean =>
      orm
        .update(admin)
        .set({ totpStep: step })
        .where(lte(admin.totpStep, step - 1))
        .run().changes > 0,
    /** One link stands at a time. */
    addLink(_tx: Tx, now: number, token: string): void {
      orm.delete(adminLinks).run();
      orm
        .insert(adminLinks)
        .values({ hash: hashOf(token), expiresAt: now + linkMs })
        .run();
    },
    hasLink: (now: number, token: string): boolean =>
      orm.select().from(adminLinks).where(linkIs(now, token)).get() !== undefined,
    /** Uses a link up; false where it stands no more. */
    useLink: (_tx: Tx, now: number, token: string): boolean =>
      orm.delete(adminLinks).where(linkIs(now, token)).run().changes > 0,
    ...sessionsOf(orm),
    ...recovery,
    ...passkeysOf(orm),
  };
}

function sessionsOf(orm: Orm) {
  /** None that was seen by a clock that was ahead: it would last until that time comes. */
  const isAlive = (now: number | SQL): SQL =>
    sql`(${sessions.seenAt} > ${now} - ${idleMs} and ${sessions.createdAt} > ${now} - ${absoluteMs}
      and ${sessions.seenAt} <= ${now} + ${maxSetBackMs})`;
  const alive = prepared(() =>
    orm
      .select()
      .from(sessions)
      .where(and(equals(sessions.hash, 'hash'), isAlive(placeholder('now')))),
  );
  return {
    begin(_tx: Tx, now: number, { token, client, agent }: NewSession): Session {
      orm
        .delete(sessions)
        .where(not(isAlive(now)))
        .run();
      const times = { createdAt: now, seenAt: now, confirmedAt: now };
      return orm
        .insert(sessions)
        .values({ hash: hashOf(token), client, agent, ...times })
        .returning()
        .get();
    },
    session: (now: number, token: string): Session | undefined =>
      alive.get({ hash: hashOf(token), now }),
    isDueToBeSeen: ({ seenAt }: Session, now: number): boolean => now - seenAt >= seenEveryMs,
    seen(_tx: Tx, now: number, id: number): void {
      orm.update(sessions).set({ seenAt: now }).where(eq(sessions.id, id)).run();
    },
    /**
     * The password was typed again; false where the session has ended meanwhile, and its number may
     * be another's.
     */
    confirm: (_tx: Tx, now: number, { hash }: Pick<Session, 'hash'>): boolean =>
      orm.update(sessions).set({ confirmedAt: now }).where(eq(sessions.hash, hash)).run().changes >
      0,
    end(_tx: Tx, id: number): void {
      orm.delete(sessions).where(eq(sessions.id, id)).run();
    },
    /** Ends the session with this hash of its cookie: a number may belong to a later session. */
    endByHash: (_tx: Tx, hash: Buffer): boolean =>
      orm.delete(sessions).where(eq(sessions.hash, hash)).run().changes > 0,
    endOthers(_tx: Tx, id: number): void {
      orm.delete(sessions).where(ne(sessions.id, id)).run();
    },
    /** Clients of the present sessions, and of those that were present when the last one began. */
    sessionClients: (): string[] =>
      orm
        .select({ client: sessions.client })
        .from(sessions)
        .all()
        .map(({ client }) => client),
    /** Those that are signed in, newest first. */
    sessions: (now: number): Session[] =>
      orm.select().from(sessions).where(isAlive(now)).orderBy(desc(sessions.id)).all(),
  };
}

const linkIs = (now: number, token: string) =>
  and(
    eq(adminLinks.hash, hashOf(token)),
    gt(adminLinks.expiresAt, now),
    lte(adminLinks.expiresAt, now + linkMs + maxSetBackMs),
  );
