// Access to the dashboard: the people who sign in, each with a password, an authenticator app,
// sessions and one-time links. Tokens come in as text; only their hashes are stored.

import { and, asc, desc, eq, lte, ne, not, type SQL, sql } from 'drizzle-orm';
import { maxSetBackMs } from '../../domain/payment/clock-check.ts';
import { PaygateError } from '../../lib/errors.ts';
import { dayMs } from '../../lib/time-units.ts';
import { equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { admin, adminLinks, sessions } from '../schema/admin-schema.ts';
import { tokenHash as hashOf, passkeysOf, recoveryCodesOf } from './second-factors.ts';

/** A session ends so long after it was last used … */
const idleMs = 30 * 60_000;
/** … and so long after it began, whatever happens. */
export const absoluteMs = 12 * 3_600_000;
/** How long a link to the dashboard stands: the owner's is read where it was printed. */
export const linkMs = 15 * 60_000;
const viewerLinkMs = dayMs;
const seenEveryMs = 60_000;

export type Person = typeof admin.$inferSelect;
export type Session = typeof sessions.$inferSelect;

export interface NewSession {
  readonly token: string;
  readonly client: string;
  readonly agent: string;
}

export type Admin = ReturnType<typeof createAdmin>;
export type Account = ReturnType<typeof accountOf>;

/** The owner may do everything; every other person only sees. */
export const ownerId = 1;
/** The name with which the owner signs in. */
export const ownerName = 'admin';

export const linkMsOf = (personId: number): number =>
  personId === ownerId ? linkMs : viewerLinkMs;

/** Whether both name one person. */
export const isSameName = (one: string, other: string): boolean => folded(one) === folded(other);
const folded = (name: string): string => name.normalize('NFKC').toLowerCase();

/** It has the owner's account, and that of each person by `of`. */
export function createAdmin(orm: Orm) {
  const owner = accountOf(orm, ownerId);
  const people = (): Person[] => orm.select().from(admin).orderBy(asc(admin.id)).all();
  return {
    ...owner,
    /** Undefined until the owner set a password. */
    operator: owner.person,
    of: (personId: number): Account => accountOf(orm, personId),
    /** The owner first. */
    people,
    hasViewers: (): boolean => people().length > 1,
    personNamed: (name: string): Person | undefined =>
      people().find((each) => isSameName(each.name, name)),
    /**
     * A viewer without a password: a link has to set it.
     * @throws PaygateError conflict before there is an owner, who has the first number
     */
    addViewer(_tx: Tx, now: number, name: string): Person {
      if (owner.person() === undefined) throw new PaygateError('conflict', 'there is no owner yet');
      return orm
        .insert(admin)
        .values({ name, passwordHash: '', passwordAt: now })
        .returning()
        .get();
    },
    /** Ends the viewer's sessions and links, too. */
    removeViewer(_tx: Tx, id: number): Person | undefined {
      if (id === ownerId) return undefined;
      orm.delete(adminLinks).where(eq(adminLinks.personId, id)).run();
      return orm.delete(admin).where(eq(admin.id, id)).returning().get();
    },
    /** Whose link it is; undefined where it stands no more. */
    linkedPerson(now: number, token: string): number | undefined {
      const found = orm
        .select()
        .from(adminLinks)
        .where(eq(adminLinks.hash, hashOf(token)))
        .get();
      if (found === undefined) return undefined;
      const leftMs = found.expiresAt - now;
      const isValid = leftMs > 0 && leftMs <= linkMsOf(found.personId) + maxSetBackMs;
      return isValid ? found.personId : undefined;
    },
    ...sessionsOf(orm),
  };
}

/** The account of one person. */
function accountOf(orm: Orm, personId: number) {
  const isPerson = eq(admin.id, personId);
  const recovery = recoveryCodesOf(orm, personId);
  return {
    personId,
    person: (): Person | undefined => orm.select().from(admin).where(isPerson).get(),
    /** Ends all sessions and links of the person, so that the old password gives no access. */
    setPassword(_tx: Tx, now: number, passwordHash: string): void {
      const set = { passwordHash, passwordAt: now };
      if (personId === ownerId) {
        orm
          .insert(admin)
          .values({ id: ownerId, name: ownerName, passwordHash, passwordAt: now })
          .onConflictDoUpdate({ target: admin.id, set })
          .run();
      } else orm.update(admin).set(set).where(isPerson).run();
      orm.delete(sessions).where(eq(sessions.personId, personId)).run();
      orm.delete(adminLinks).where(eq(adminLinks.personId, personId)).run();
    },
    /**
     * Also deletes the recovery codes.
     * @param secret null turns the authenticator app off
     * @param step the time step of the code that proved the secret
     */
    setTotp(tx: Tx, secret: string | null, step = 0): void {
      orm.update(admin).set({ totpSecret: secret, totpStep: step }).where(isPerson).run();
      recovery.setRecoveryCodes(tx, []);
    },
    /** Takes the code of a step; false where it, or a later one, was taken before. */
    takeStep: (_tx: Tx, step: number): boolean =>
      orm
        .update(admin)
        .set({ totpStep: step })
        .where(and(isPerson, lte(admin.totpStep, step - 1)))
        .run().changes > 0,
    /** One link of a person stands at a time. */
    addLink(_tx: Tx, now: number, token: string): void {
      orm.delete(adminLinks).where(eq(adminLinks.personId, personId)).run();
      orm
        .insert(adminLinks)
        .values({ personId, hash: hashOf(token), expiresAt: now + linkMsOf(personId) })
        .run();
    },
    begin: (_tx: Tx, now: number, { token, client, agent }: NewSession): Session =>
      orm
        .insert(sessions)
        .values({
          personId,
          hash: hashOf(token),
          client,
          agent,
          createdAt: now,
          seenAt: now,
          confirmedAt: now,
        })
        .returning()
        .get(),
    /** Ends the person's session with this hash of its cookie. */
    endByHash: (_tx: Tx, hash: Buffer): boolean =>
      orm
        .delete(sessions)
        .where(and(eq(sessions.personId, personId), eq(sessions.hash, hash)))
        .run().changes > 0,
    endOthers(_tx: Tx, id: number): void {
      orm
        .delete(sessions)
        .where(and(eq(sessions.personId, personId), ne(sessions.id, id)))
        .run();
    },
    /** The browsers that are signed in, the newest first. */
    sessions: (now: number): Session[] =>
      orm
        .select()
        .from(sessions)
        .where(and(eq(sessions.personId, personId), isAlive(now)))
        .orderBy(desc(sessions.id))
        .all(),
    ...recovery,
    ...passkeysOf(orm, personId),
  };
}

/** None that was seen by a clock that was ahead: it would last until that time comes. */
const isAlive = (now: number | SQL): SQL =>
  sql`(${sessions.seenAt} > ${now} - ${idleMs} and ${sessions.createdAt} > ${now} - ${absoluteMs}
    and ${sessions.seenAt} <= ${now} + ${maxSetBackMs})`;

function sessionsOf(orm: Orm) {
  const alive = prepared(() =>
    orm
      .select()
      .from(sessions)
      .where(and(equals(sessions.hash, 'hash'), isAlive(placeholder('now')))),
  );
  return {
    /** Deletes those that have ended. */
    clearSessions(_tx: Tx, now: number): void {
      orm
        .delete(sessions)
        .where(not(isAlive(now)))
        .run();
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
    /** Clients of the present sessions, and of those that were present when the last one began. */
    sessionClients: (): string[] =>
      orm
        .select({ client: sessions.client })
        .from(sessions)
        .all()
        .map(({ client }) => client),
  };
}
