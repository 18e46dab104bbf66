// What the merchant edits: stores and wallets. Nothing here is ever deleted: a wallet's
// counter and a store's addresses outlive both.

import { and, eq, getTableColumns, isNull } from 'drizzle-orm';
import { storedWalletKey, type WalletKey } from '../../bitcoin/keychain.ts';
import type { NetworkName } from '../../bitcoin/network.ts';
import { PaygateError } from '../../lib/errors.ts';
import { endKeysOf } from '../access/api-keys.ts';
import { columnsOf, equals, type Orm, prepared } from '../db/orm.ts';
import type { Tx } from '../db/writer.ts';
import { ownWebhook, stores, wallets, webhooks } from '../schema/schema.ts';

export type WalletRow = typeof wallets.$inferSelect;
export type StoreRow = NonNullable<ReturnType<Statements['storeById']['get']>>;

export type StoreChoice = Pick<StoreRow, keyof typeof choice>;

export type StoreChange = Partial<
  Omit<StoreRow, 'id' | 'createdAt' | 'archivedAt' | 'callbacksStopped'>
>;

/** What is left out is as the table has it. */
export type NewStore = StoreChange &
  Pick<StoreRow, 'name' | 'walletId' | 'callbackUrl' | 'requiredConfirmations' | 'webhookSecret'>;

export class Catalog {
  readonly #orm: Orm;
  readonly #network: NetworkName;
  readonly #statements: Statements;
  /** By descriptor: a number may be given again when its wallet was rolled back. */
  readonly #keys = new Map<string, WalletKey>();

  constructor(orm: Orm, network: NetworkName) {
    this.#orm = orm;
    this.#network = network;
    this.#statements = prepare(orm);
  }

  wallets(): WalletRow[] {
    return this.#statements.wallets.all();
  }

  wallet(id: number): WalletRow {
    const row = this.#statements.walletById.get({ id });
    if (row === undefined) throw new PaygateError('not_found', `there is no wallet ${id}`);
    return row;
  }

  /** The key that a wallet derives from; the same object each time, so that it may be cached on. */
  walletKey(id: number): WalletKey {
    const row = this.wallet(id);
    const { descriptor } = row;
    const known = this.#keys.get(descriptor);
    if (known !== undefined) return known;
    const key = storedWalletKey(row, this.#network);
    this.#keys.set(descriptor, key);
    return key;
  }

  /** The wallet of this key: the one there is, or a new one. `startIndex` skips the first scan. */
  ensureWallet(_tx: Tx, now: number, key: WalletKey, startIndex?: number): WalletRow {
    const isSame = eq(wallets.descriptor, key.descriptor);
    const found = this.#orm.select().from(wallets).where(isSame).get();
    if (found === undefined) return insertWallet(this.#orm, now, key, startIndex);
    if (startIndex === undefined) return found;
    throw new PaygateError(
      'conflict',
      `this key is wallet ${found.id} already, which continues at index ${found.nextIndex}; ` +
        'leave --start-index out',
    );
  }

  addStore(_tx: Tx, now: number, { webhookUrl, webhookEvents, ...fields }: NewStore): StoreRow {
    const { id } = this.#orm
      .insert(stores)
      .values({ ...fields, createdAt: now })
      .returning()
      .get();
    const events = webhookEvents ?? 'order';
    this.#orm
      .insert(webhooks)
      .values({ storeId: id, format: 'standard', url: webhookUrl ?? null, events })
      .run();
    return this.store(id);
  }

  stores({ archived = false } = {}): StoreRow[] {
    return this.#statements[archived ? 'allStores' : 'activeStores'].all();
  }

  sharing({ id, walletId }: StoreRow): StoreRow[] {
    return this.stores().filter((each) => each.id !== id && each.walletId === walletId);
  }

  /**
   * What requests for an address choose between: all stores but archived ones, or those with
   * exactly a callback URL.
   */
  choices(callbackUrl?: string): StoreChoice[] {
    const { choices, choicesCalled } = this.#statements;
    return callbackUrl === undefined ? choices.all() : choicesCalled.all({ callbackUrl });
  }

  /** @throws PaygateError not_found */
  store(id: number): StoreRow {
    const row = this.#statements.storeById.get({ id });
    if (row === undefined) throw new PaygateError('not_found', `there is no store ${id}`);
    return row;
  }

  /** @throws PaygateError not_found */
  changeStore(_tx: Tx, id: number, change: StoreChange): StoreRow {
    const before = this.store(id);
    if (Object.keys(change).length === 0) return before;
    // The receiver of another Callback URL may always answer nothing.
    const answers = isElsewhere(before.callbackUrl, change.callbackUrl)
      ? { hasAccepted: false }
      : {};
    const { webhookUrl: url, webhookEvents: events, ...fields } = { ...change, ...answers };
    const isOwn = and(eq(webhooks.storeId, id), eq(webhooks.format, 'standard'));
    if (url !== undefined) this.#orm.update(webhooks).set({ url }).where(isOwn).run();
    if (events !== undefined) this.#orm.update(webhooks).set({ events }).where(isOwn).run();
    return this.#update(id, fields);
  }

  #update(id: number, values: Partial<typeof stores.$inferSelect>): StoreRow {
    const isStore = eq(stores.id, id);
    if (Object.keys(values).length > 0) this.#orm.update(stores).set(values).where(isStore).run();
    return this.store(id);
  }

  /** Ends the store's own keys as well. */
  archiveStore(tx: Tx, now: number, id: number, stopCallbacks: boolean): StoreRow {
    const before = this.store(id);
    endKeysOf(this.#orm, tx, now, id);
    const archivedAt = before.archivedAt ?? now;
    return this.#update(id, { archivedAt, callbacksStopped: stopCallbacks });
  }

  unarchiveStore(_tx: Tx, id: number): StoreRow {
    return this.#update(id, { archivedAt: null, callbacksStopped: false });
  }
}

/** Another receiver answers there; one with another query may have lost its secret alone. */
const isElsewhere = (before: string, after = before): boolean =>
  before.replace(/\?.*/s, '') !== after.replace(/\?.*/s, '');

const choice = columnsOf(stores, 'id', 'name', 'walletId', 'callbackUrl');

const storeColumns = { ...getTableColumns(stores), ...ownWebhook };

const isActive = isNull(stores.archivedAt);

function prepare(orm: Orm) {
  return {
    storeById: prepared(() => orm.select(storeColumns).from(stores).where(equals(stores.id, 'id'))),
    activeStores: prepared(() => orm.select(storeColumns).from(stores).where(isActive)),
    allStores: prepared(() => orm.select(storeColumns).from(stores)),
    choices: prepared(() => orm.select(choice).from(stores).where(isActive)),
    choicesCalled: prepared(() =>
      orm
        .select(choice)
        .from(stores)
        .where(and(isActive, equals(stores.callbackUrl, 'callbackUrl'))),
    ),
    wallets: prepared(() => orm.select().from(wallets)),
    walletById: prepared(() => orm.select().from(wallets).where(equals(wallets.id, 'id'))),
  };
}

type Statements = ReturnType<typeof prepare>;

/** What a store that was removed is not asked for any more. @throws PaygateError conflict */
export function requireRunning(row: StoreRow): StoreRow {
  if (row.archivedAt === null) return row;
  throw new PaygateError('conflict', `store ${row.id} was removed`);
}

function insertWallet(
  orm: Orm,
  now: number,
  key: WalletKey,
  startIndex: number | undefined,
): WalletRow {
  return orm
    .insert(wallets)
    .values({
      descriptor: key.descriptor,
      account: key.account,
      scriptType: key.scriptType,
      nextIndex: startIndex ?? 0,
      scannedAt: startIndex === undefined ? null : now,
      createdAt: now,
    })
    .returning()
    .get();
}

/**
 * The store that issued what this copy does not know, if only one can have. A store that was
 * removed before the file was copied counts only if there is no other.
 */
export function onlyStoreOf(orm: Orm, walletId: number, copiedAt: number): number | null {
  const all = orm
    .select({ id: stores.id, archivedAt: stores.archivedAt })
    .from(stores)
    .where(eq(stores.walletId, walletId))
    .all();
  const issuing = all.filter(
    ({ archivedAt }) => archivedAt === null || (copiedAt > 0 && archivedAt > copiedAt),
  );
  const [only, second] = issuing.length > 0 ? issuing : all;
  return only !== undefined && second === undefined ? only.id : null;
}
