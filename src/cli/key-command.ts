// `paygate key show|rotate|add|list|revoke`: the merchant's API key, and keys that may do less.

import { Command, Option } from 'commander';
import { shortApiKey } from '../domain/api-key.ts';
import { formatTime } from '../domain/format.ts';
import { type KeyScope, keyScopes } from '../domain/key-scope.ts';
import { secondMs } from '../lib/time-units.ts';
import { type Key, merchantKeyText } from '../store/records/api-keys.ts';
import { requireRunning } from '../store/records/catalog.ts';
import {
  anyId,
  type FileOptions,
  fileCommand,
  noteChange,
  parseDuration,
  print,
  seconds,
  table,
  withStore,
  world,
} from './command.ts';

export function keyCommand(): Command {
  const show = fileCommand('show', 'print the API key')
    .option('--short', 'in 43 characters, for plugins that take no longer key')
    .action((given: FileOptions & { short?: boolean }) =>
      withStore(given, async ({ keys }) => {
        const whole = merchantKeyText(keys);
        const apiKey = given.short ? shortApiKey(whole) : whole;
        print(given, { api_key: apiKey }, () => apiKey);
      }),
    );
  const rotate = fileCommand('rotate', 'make a new API key')
    .option('--overlap <time>', 'how long the old one stays valid, such as 24h', parseDuration, 0)
    .action((given: FileOptions & { overlap: number }) =>
      withStore(given, async ({ keys, database, audit }) => {
        merchantKeyText(keys);
        const now = world.now();
        const ends = now + given.overlap;
        const promised = promisedBeyond(keys.list(now), ends);
        const secret = world.randomBytes(32);
        const apiKey = await database.write((tx) => {
          noteChange({ audit }, tx, 'key.rotate', { overlap: `${given.overlap / secondMs} s` });
          return keys.rotateMerchantKey(tx, now, secret, given.overlap);
        });
        print(given, { api_key: apiKey, old_key_ends_at: Math.floor(ends / 1000) }, () =>
          given.overlap === 0
            ? `${apiKey}\nNo older key of the merchant is valid any more.`
            : `${apiKey}\nOlder ones are valid until ${formatTime(ends)} at the latest.${cutText(promised)}`,
        );
      }),
    );
  return new Command('key')
    .description('API keys')
    .addCommand(show)
    .addCommand(rotate)
    .addCommand(addCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());
}

/** When keys of the merchant were to end that a rotation ends at this time. */
const promisedBeyond = (keys: readonly Key[], endsAt: number): number[] =>
  keys.flatMap(({ storeId, expiresAt }) =>
    storeId === null && expiresAt !== null && expiresAt > endsAt ? [expiresAt] : [],
  );

function cutText(promised: readonly number[]): string {
  if (promised.length === 0) return '';
  const last = formatTime(Math.max(...promised));
  return promised.length === 1
    ? `\nOne of them ends earlier than it was to, on ${last}.`
    : `\n${promised.length} of them end earlier than they were to, the last of these on ${last}.`;
}

function addCommand(): Command {
  return fileCommand('add', 'make a key for one store; it is shown this once')
    .requiredOption('--store <id>', 'the only store that it is for', anyId)
    .addOption(
      new Option('--scope <scope>', 'what it may do').choices(keyScopes).makeOptionMandatory(),
    )
    .action((given: FileOptions & { store: number; scope: KeyScope }) =>
      withStore(given, async ({ catalog, keys, database, audit }) => {
        const { store: storeId, scope } = given;
        const secret = world.randomBytes(32);
        const apiKey = await database.write((tx) => {
          requireRunning(catalog.store(storeId));
          noteChange({ audit }, tx, 'key.add', { scope }, storeId);
          return keys.add(tx, world.now(), { storeId, scope, secret });
        });
        const id = keys.find(apiKey, world.now())?.id;
        print(given, { id, api_key: apiKey, store_id: storeId, scope }, () => apiKey);
      }),
    );
}

const describe = (key: Key) => ({
  id: key.id,
  store_id: key.storeId,
  scope: key.scope,
  created_at: seconds(key.createdAt),
  ends_at: seconds(key.expiresAt),
  plugin_until: seconds(key.pluginUntil),
});

function listCommand(): Command {
  return fileCommand('list', 'list the keys that are valid').action((given: FileOptions) =>
    withStore(given, async ({ keys }) => {
      const rows = keys.list(world.now());
      print(given, rows.map(describe), () =>
        table([
          ['id', 'store', 'scope', 'made', 'ends'],
          ...rows.map(({ id, storeId, scope, createdAt, expiresAt }) => [
            String(id),
            storeId === null ? 'all' : String(storeId),
            scope,
            formatTime(createdAt),
            expiresAt === null ? '' : formatTime(expiresAt),
          ]),
        ]),
      );
    }),
  );
}

function revokeCommand(): Command {
  return fileCommand('revoke', 'end a key at once')
    .argument('<id>', 'of the key', anyId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async ({ keys, database, audit }) => {
        await database.write((tx) => {
          keys.revoke(tx, world.now(), id);
          noteChange({ audit }, tx, 'key.revoke', { key: id });
        });
        print(given, { id, revoked: true }, () => `Key ${id} is not valid any more.`);
      }),
    );
}
