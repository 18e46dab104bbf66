// `paygate key show|rotate|add|list|revoke`: the merchant's API key, and keys of one store and
// scope.

import { Command, Option } from 'commander';
import { shortApiKey } from '../../domain/access/api-key.ts';
import {
  type KeyPlugin,
  type KeyScope,
  keyPlugins,
  keyScopes,
} from '../../domain/access/key-scope.ts';
import { formatTime } from '../../domain/text/format.ts';
import { secondMs, unixSeconds } from '../../lib/time-units.ts';
import { type Key, merchantKeyText } from '../../store/access/api-keys.ts';
import { requireRunning } from '../../store/wallets/catalog.ts';
import {
  type FileOptions,
  fileCommand,
  parseDuration,
  print,
  recordChange,
  rowId,
  table,
  withStore,
  world,
} from '../command.ts';

export function keyCommand(): Command {
  const show = fileCommand('show', 'print the API key')
    .option('--short', 'print it in 43 characters, for plugins that accept no longer key')
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
        const shortened = shortenedKeyEnds(keys.list(now), ends);
        const secret = world.randomBytes(32);
        const apiKey = await database.write((tx) => {
          recordChange({ audit }, tx, 'key.rotate', { overlap: `${given.overlap / secondMs} s` });
          return keys.rotateMerchantKey(tx, now, secret, given.overlap);
        });
        print(given, { api_key: apiKey, old_key_ends_at: unixSeconds(ends) }, () =>
          given.overlap === 0
            ? `${apiKey}\nAll older keys of the merchant are revoked.`
            : `${apiKey}\nOlder keys end at ${formatTime(ends)} at the latest.${shortenedText(shortened)}`,
        );
      }),
    );
  return new Command('key')
    .description('show, make and revoke API keys')
    .addCommand(show)
    .addCommand(rotate)
    .addCommand(addCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());
}

/** The ends, later than `endsAt`, of merchant keys that a rotation lets end then. */
const shortenedKeyEnds = (keys: readonly Key[], endsAt: number): number[] =>
  keys.flatMap(({ storeId, expiresAt }) =>
    storeId === null && expiresAt !== null && expiresAt > endsAt ? [expiresAt] : [],
  );

function shortenedText(ends: readonly number[]): string {
  if (ends.length === 0) return '';
  const last = formatTime(Math.max(...ends));
  return ends.length === 1
    ? `\nOne of them ends earlier than planned, which was ${last}.`
    : `\n${ends.length} of them end earlier than planned, which was ${last} for the last one.`;
}

function addCommand(): Command {
  return fileCommand('add', 'make a key for one store; it is shown only now')
    .requiredOption('--store <id>', 'the only store that it can use', rowId)
    .addOption(
      new Option('--scope <scope>', 'what it may do').choices(keyScopes).makeOptionMandatory(),
    )
    .addOption(
      new Option('--plugin <plugin>', 'the BTCPay plugin that it is for')
        .choices(keyPlugins)
        .default('standard'),
    )
    .action((given: FileOptions & { store: number; scope: KeyScope; plugin: KeyPlugin }) =>
      withStore(given, async ({ catalog, keys, database, audit }) => {
        const { store: storeId, scope, plugin } = given;
        const secret = world.randomBytes(32);
        const apiKey = await database.write((tx) => {
          requireRunning(catalog.store(storeId));
          recordChange({ audit }, tx, 'key.add', { scope }, storeId);
          return keys.add(tx, world.now(), { storeId, scope, plugin, secret });
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
  created_at: unixSeconds(key.createdAt),
  ends_at: unixSeconds(key.expiresAt),
  plugin_until: unixSeconds(key.pluginUntil),
});

function listCommand(): Command {
  return fileCommand('list', 'list valid keys').action((given: FileOptions) =>
    withStore(given, async ({ keys }) => {
      const rows = keys.list(world.now());
      print(given, rows.map(describe), () =>
        table([
          ['id', 'store', 'scope', 'created', 'ends'],
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
  return fileCommand('revoke', 'revoke a key at once')
    .argument('<id>', 'of the key', rowId)
    .action((id: number, given: FileOptions) =>
      withStore(given, async ({ keys, database, audit }) => {
        await database.write((tx) => {
          keys.revoke(tx, world.now(), id);
          recordChange({ audit }, tx, 'key.revoke', { key: id });
        });
        print(given, { id, revoked: true }, () => `Key ${id} is revoked.`);
      }),
    );
}
