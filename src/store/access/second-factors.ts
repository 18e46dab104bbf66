// Passkeys of a person, and recovery codes of the authenticator app. It stores public keys of
// passkeys and hashes of codes, never a secret.

import { createHash } from 'node:crypto';
import { and, asc, count, eq, isNull } from 'drizzle-orm';
import type { Orm } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { admin, passkeys, recoveryCodes } from '../schema/admin-schema.ts';

export type Passkey = typeof passkeys.$inferSelect;
export type NewPasskey = Omit<Passkey, 'id' | 'personId' | 'createdAt' | 'usedAt'>;

/** The stored form of a token. A token has at least 120 random bits, so its hash needs no salt. */
export const tokenHash = (token: string): Buffer => createHash('sha256').update(token).digest();

export function recoveryCodesOf(orm: Orm, personId: number) {
  const isOwn = eq(recoveryCodes.personId, personId);
  return {
    setRecoveryCodes(_tx: Tx, codes: readonly string[]): void {
      orm.delete(recoveryCodes).where(isOwn).run();
      for (const code of codes)
        orm
          .insert(recoveryCodes)
          .values({ personId, hash: tokenHash(code) })
          .run();
    },
    useRecoveryCode: (_tx: Tx, code: string): boolean =>
      orm
        .delete(recoveryCodes)
        .where(and(isOwn, eq(recoveryCodes.hash, tokenHash(code))))
        .run().changes > 0,
    recoveryCodesLeft: (): number =>
      orm.select({ left: count() }).from(recoveryCodes).where(isOwn).get()?.left ?? 0,
  };
}

export function passkeysOf(orm: Orm, personId: number) {
  const isOwn = eq(passkeys.personId, personId);
  const isPerson = eq(admin.id, personId);
  const isOne = (id: number) => and(isOwn, eq(passkeys.id, id));
  return {
    passkeys: (): Passkey[] =>
      orm.select().from(passkeys).where(isOwn).orderBy(asc(passkeys.id)).all(),
    passkey: (id: number): Passkey | undefined =>
      orm.select().from(passkeys).where(isOne(id)).get(),
    /** The passkey with this id of any person. */
    passkeyOf: (credentialId: string): Passkey | undefined =>
      orm.select().from(passkeys).where(eq(passkeys.credentialId, credentialId)).get(),
    /** The user handle of the person's passkeys. @param fresh stored if there is none yet */
    passkeyUser(_tx: Tx, fresh: Buffer): Buffer {
      orm
        .update(admin)
        .set({ passkeyUser: fresh })
        .where(and(isPerson, isNull(admin.passkeyUser)))
        .run();
      return orm.select().from(admin).where(isPerson).get()?.passkeyUser ?? fresh;
    },
    addPasskey(_tx: Tx, now: number, added: NewPasskey): void {
      orm
        .insert(passkeys)
        .values({ ...added, personId, createdAt: now })
        .run();
    },
    /**
     * Records a use. A counter that did not rise means that the authenticator was copied, or that
     * another use came first.
     * @returns false for such a counter, and for a passkey that was removed
     */
    usePasskey(_tx: Tx, now: number, credentialId: string, counter: number): boolean {
      const is = and(isOwn, eq(passkeys.credentialId, credentialId));
      const found = orm.select().from(passkeys).where(is).get();
      if (found === undefined) return false;
      if ((counter > 0 || found.counter > 0) && counter <= found.counter) return false;
      orm.update(passkeys).set({ counter, usedAt: now }).where(is).run();
      return true;
    },
    renamePasskey: (_tx: Tx, id: number, name: string): boolean =>
      orm.update(passkeys).set({ name }).where(isOne(id)).run().changes > 0,
    removePasskey: (_tx: Tx, id: number): boolean =>
      orm.delete(passkeys).where(isOne(id)).run().changes > 0,
  };
}
