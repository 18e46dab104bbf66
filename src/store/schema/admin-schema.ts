// The tables of the dashboard's sign-in (schema.ts has the others, and the units).

import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

const id = () => integer('id').primaryKey();
/** The person to whom a row belongs; it goes with the person. */
const personId = () =>
  integer('person_id')
    .notNull()
    .references(() => admin.id, { onDelete: 'cascade' });

/** The people who sign in: row 1 is the owner, once a password was set; all others are viewers. */
export const admin = sqliteTable('admin', {
  // A number is never used again, so that no request of a removed viewer is another's.
  id: integer('id').primaryKey({ autoIncrement: true }),
  /** What the person types to sign in; two names differ in more than case. */
  name: text('name').notNull(),
  /** scrypt, with its parameters and salt (dashboard/guard/password.ts); empty before the first. */
  passwordHash: text('password_hash').notNull(),
  passwordAt: integer('password_at').notNull(),
  /** Base32, RFC 6238; null where no second factor is asked for. */
  totpSecret: text('totp_secret'),
  /** The time step of the last code that was taken: none is taken twice. */
  totpStep: integer('totp_step').notNull().default(0),
  /** The user handle of all passkeys, 32 random bytes; null before the first passkey. */
  passkeyUser: blob('passkey_user', { mode: 'buffer' }),
});

/** Passkeys that sign in (WebAuthn Level 3). The file contains public keys only. */
export const passkeys = sqliteTable('passkeys', {
  id: id(),
  personId: personId(),
  /** The authenticator's id of the credential, base64url. */
  credentialId: text('credential_id').notNull().unique(),
  /** COSE_Key (RFC 9052). */
  publicKey: blob('public_key', { mode: 'buffer' }).notNull(),
  /** The signature counter of the last use; 0 for authenticators without a counter. */
  counter: integer('counter').notNull(),
  /** How browsers reach the authenticator, such as `internal,hybrid`. */
  transports: text('transports').notNull(),
  /** The host name for which the authenticator made it; browsers offer it at no other. */
  rpId: text('rp_id').notNull(),
  /** The origin of the page that added it; it works at no other port or scheme of the host. */
  origin: text('origin').notNull(),
  name: text('name').notNull(),
  createdAt: integer('created_at').notNull(),
  usedAt: integer('used_at'),
});

/** Recovery codes that were not used; each replaces one code of the authenticator app. */
export const recoveryCodes = sqliteTable('recovery_codes', {
  id: id(),
  personId: personId(),
  /** SHA-256 of the code. */
  hash: blob('hash', { mode: 'buffer' }).notNull().unique(),
});

/** Sessions of the dashboard. The cookie itself is not in the file. */
export const sessions = sqliteTable('sessions', {
  id: id(),
  personId: personId(),
  /** SHA-256 of the cookie's text. */
  hash: blob('hash', { mode: 'buffer' }).notNull().unique(),
  createdAt: integer('created_at').notNull(),
  seenAt: integer('seen_at').notNull(),
  /** When the password was last typed. */
  confirmedAt: integer('confirmed_at').notNull(),
  /** The address and program that began the session, for people to recognise. */
  client: text('client').notNull(),
  agent: text('agent').notNull(),
});

/** One-time links to the dashboard that still stand, one a person. */
export const adminLinks = sqliteTable('admin_links', {
  id: id(),
  /** The owner's first link stands before the row of the owner. */
  personId: integer('person_id').notNull().unique(),
  /** SHA-256 of the link's token. */
  hash: blob('hash', { mode: 'buffer' }).notNull().unique(),
  expiresAt: integer('expires_at').notNull(),
});
