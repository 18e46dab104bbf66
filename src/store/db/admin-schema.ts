// The tables of the dashboard's sign-in (schema.ts has the others, and the units).

import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

const id = () => integer('id').primaryKey();

/** The operator of the dashboard: one row, once a password was set. */
export const admin = sqliteTable('admin', {
  id: id(),
  /** scrypt, with its parameters and salt (dashboard/password.ts). */
  passwordHash: text('password_hash').notNull(),
  passwordAt: integer('password_at').notNull(),
  /** Base32, RFC 6238; null where no second factor is asked for. */
  totpSecret: text('totp_secret'),
  /** The time step of the last code that was taken: none is taken twice. */
  totpStep: integer('totp_step').notNull().default(0),
});

/** Sessions of the dashboard. The cookie itself is not in the file. */
export const sessions = sqliteTable('sessions', {
  id: id(),
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

/** One-time links to the dashboard that still stand. */
export const adminLinks = sqliteTable('admin_links', {
  id: id(),
  /** SHA-256 of the link's token. */
  hash: blob('hash', { mode: 'buffer' }).notNull().unique(),
  expiresAt: integer('expires_at').notNull(),
});
