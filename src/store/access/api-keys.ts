// API keys: *the* merchant key, and keys that are bound to one store. The latter are stored as
// hashes only, and shown once.

import { and, asc, eq, gt, isNotNull, isNull, or, type SQL } from 'drizzle-orm';
import { apiKeyHash, formatApiKey } from '../../domain/access/api-key.ts';
import type { KeyPlugin, KeyScope } from '../../domain/access/key-scope.ts';
import { maxSetBackMs } from '../../domain/payment/clock-check.ts';
import { PaygateError } from '../../lib/errors.ts';
import { columnsOf, equals, type Orm, placeholder, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { apiKeys } from '../schema/schema.ts';

export const maxPluginMs = 60 * 60_000;

export type Key = ReturnType<Keys['list']>[number];

export interface NewKey {
  readonly storeId: number;
  readonly scope: KeyScope;
  readonly plugin?: KeyPlugin;
  /** 32 random bytes. */
  readonly secret: Uint8Array;
}

export type Keys = ReturnType<typeof createKeys>;

export function createKeys(orm: Orm) {
  const statements = prepare(orm);

  /** @throws PaygateError not_found for a key that has ended as well */
  function alive(id: number, now: number) {
    const row = statements.byId.get({ id, now });
    if (row === undefined) throw new PaygateError('not_found', `there is no valid key ${id}`);
    return row;
  }

  return {
    find: (text: string, now: number) => statements.byHash.get({ hash: keyHash(text), now }),
    /** The id of the key of this text that was valid once. */
    ended: (text: string) => statements.anyByHash.get({ hash: keyHash(text) })?.id,
    alive,
    list: (now: number) => statements.list.all({ now }),
    /** The text of the merchant key: valid for all stores, without an end. */
    merchantKey(): string | undefined {
      const row = orm
        .select({ secret: apiKeys.secret })
        .from(apiKeys)
        .where(and(isMerchantKey, isNull(apiKeys.expiresAt)))
        .get();
      return row?.secret ?? undefined;
    },
    /**
     * Makes a merchant key from 32 random bytes; older ones end after the overlap, their "Connect a
     * plugin" at once.
     */
    rotateMerchantKey(_tx: Tx, now: number, secret: Uint8Array, overlapMs: number): string {
      const text = formatApiKey(secret);
      orm.update(apiKeys).set({ pluginUntil: null }).where(isMerchantKey).run();
      orm
        .update(apiKeys)
        .set({ expiresAt: overlapMs === 0 ? atOnce : now + overlapMs })
        .where(and(isMerchantKey, isAlive(now + overlapMs)))
        .run();
      orm
        .insert(apiKeys)
        .values({ hash: keyHash(text), secret: text, createdAt: now })
        .run();
      return text;
    },
    add(_tx: Tx, now: number, { storeId, scope, plugin, secret }: NewKey): string {
      const text = formatApiKey(secret);
      orm
        .insert(apiKeys)
        .values({ hash: keyHash(text), storeId, scope, plugin, createdAt: now })
        .run();
      return text;
    },
    /** @throws PaygateError conflict for the merchant key, which is rotated instead */
    revoke(_tx: Tx, now: number, id: number): void {
      if (alive(id, now).storeId === null) {
        throw new PaygateError(
          'conflict',
          `key ${id} is the merchant key: \`paygate key rotate\` ends it and makes another`,
        );
      }
      orm.update(apiKeys).set({ expiresAt: atOnce }).where(eq(apiKeys.id, id)).run();
    },
    /**
     * Opens "Connect a plugin" for one key, and shuts it for every other one; until now or before
     * shuts it for that, too.
     */
    allowPlugin(_tx: Tx, now: number, id: number, until: number): void {
      const { scope } = alive(id, now);
      if (scope !== 'payments') {
        throw new PaygateError('conflict', `key ${id} is for ${scope} alone and cannot write`);
      }
      orm.update(apiKeys).set({ pluginUntil: null }).run();
      // A time that has passed would come again with a clock that is set back.
      if (until <= now) return;
      orm.update(apiKeys).set({ pluginUntil: until }).where(eq(apiKeys.id, id)).run();
    },
  };
}

/** Not by a clock that was ahead. */
export const isPluginOpen = ({ pluginUntil }: Pick<Key, 'pluginUntil'>, now: number): boolean =>
  pluginUntil !== null && pluginUntil > now && pluginUntil <= now + maxPluginMs + maxSetBackMs;

/** When a key ends that ends now: no clock that is set back makes it valid again. */
const atOnce = 0;

const isMerchantKey = isNotNull(apiKeys.secret);
const isAlive = (at: number | SQL) => or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, at));

const keyHash = (text: string): Buffer => Buffer.from(apiKeyHash(text));

export function endKeysOf(orm: Orm, _tx: Tx, now: number, storeId: number): void {
  orm
    .update(apiKeys)
    .set({ expiresAt: atOnce })
    .where(and(eq(apiKeys.storeId, storeId), isAlive(now)))
    .run();
}

/** *The* merchant key. @throws PaygateError not_found before the first store */
export function requireMerchantKey(keys: Keys, now: number): Key {
  const key = keys.find(merchantKeyText(keys), now);
  if (key !== undefined) return key;
  throw noKeyYet();
}

/** The same as it is sent. @throws PaygateError not_found before the first store */
export function merchantKeyText(keys: Keys): string {
  const text = keys.merchantKey();
  if (text !== undefined) return text;
  throw noKeyYet();
}

const noKeyYet = (): PaygateError =>
  new PaygateError('not_found', 'there is no key yet: it is made with the first store');

function prepare(orm: Orm) {
  const fields = {
    ...columnsOf(apiKeys, 'id', 'scope', 'storeId', 'createdAt', 'expiresAt', 'pluginUntil'),
    ...columnsOf(apiKeys, 'plugin'),
  };
  const isValid = isAlive(placeholder('now'));
  return {
    byHash: prepared(() =>
      orm
        .select(fields)
        .from(apiKeys)
        .where(and(equals(apiKeys.hash, 'hash'), isValid)),
    ),
    anyByHash: prepared(() =>
      orm.select({ id: apiKeys.id }).from(apiKeys).where(equals(apiKeys.hash, 'hash')),
    ),
    byId: prepared(() =>
      orm
        .select(fields)
        .from(apiKeys)
        .where(and(equals(apiKeys.id, 'id'), isValid)),
    ),
    list: prepared(() => orm.select(fields).from(apiKeys).where(isValid).orderBy(asc(apiKeys.id))),
  };
}
