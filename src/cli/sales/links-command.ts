// `paygate links list|show|add|set|off|on`: links by which strangers make orders.

import { isDeepStrictEqual } from 'node:util';
import { Command, InvalidArgumentError, Option } from 'commander';
import {
  type LinkBody,
  type LinkInput,
  noteRules,
  parseLinkChange,
  parseLinkInput,
} from '../../domain/order/link-input.ts';
import { type LinkJson, linkAmount } from '../../domain/order/link-json.ts';
import { idBytes, idOf, isId } from '../../domain/order/order-id.ts';
import { signedNumberIn } from '../../domain/store/store-settings.ts';
import { formatTime } from '../../domain/text/format.ts';
import { PaygateError, throwInvalid } from '../../lib/errors.ts';
import type { Records } from '../../store/open-records.ts';
import type { LinkRow } from '../../store/orders/link-view.ts';
import { requireRunning } from '../../store/wallets/catalog.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  printPage,
  recordChange,
  rowId,
  type TextList,
  table,
  wholeNumber,
  withStore,
  world,
} from '../command.ts';

export function linksCommand(): Command {
  return new Command('links')
    .description('list, show, add, change and switch off payment links')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(addCommand())
    .addCommand(setCommand())
    .addCommand(switchCommand('off', 'switch a link off; its orders stay as they are', false))
    .addCommand(switchCommand('on', 'switch a link on again', true));
}

function linkId(text: string): string {
  if (isId('lnk', text)) return text;
  throw new InvalidArgumentError('Give the id of a link, such as lnk_8Fj2RkW5nXc1vB7mQd4tLs.');
}

/** @throws PaygateError not_found */
function linkOf({ linkView }: Records, publicId: string): LinkRow {
  const row = linkView.byPublicId(publicId);
  if (row === undefined) throw new PaygateError('not_found', `there is no link ${publicId}`);
  return row;
}

interface ListOptions extends FileOptions {
  readonly store?: number;
  readonly after?: string;
  readonly limit: number;
}

function listCommand(): Command {
  return fileCommand('list', 'list links, newest first')
    .option('--store <id>', 'only of this store', rowId)
    .option('--after <id>', 'only older than this link: the next page', linkId)
    .option('--limit <n>', 'maximum number of links', wholeNumber(1, 10_000), 100)
    .action((given: ListOptions) =>
      withStore(given, async (records) => {
        const { store: storeId, after, limit } = given;
        const beforeId = after === undefined ? undefined : linkOf(records, after).id;
        const found = records.linkView.list({ storeId, beforeId, limit: limit + 1 });
        const links = found.map((row) => records.linkView.json(row));
        printPage(given, links, linkList);
      }),
    );
}

function showCommand(): Command {
  return fileCommand('show', 'show a link')
    .argument('<id>', 'of the link', linkId)
    .action((id: string, given: FileOptions) =>
      withStore(given, async (records) => {
        const link = records.linkView.json(linkOf(records, id));
        print(given, link, () => renderLink(link));
      }),
    );
}

/** What the options say of a link; false for a `--no-…`. */
interface LinkOptions extends FileOptions {
  readonly title?: string;
  readonly description?: string | false;
  readonly currency?: string | false;
  readonly amount?: string | false;
  readonly min?: string | false;
  readonly max?: string | false;
  readonly suggested?: readonly string[] | false;
  readonly note?: LinkInput['note'];
  readonly maxOrders?: number | false;
  readonly adjustPercent?: number | false;
  readonly askEmail?: boolean;
}

const adjustHelp = 'discount (-5) or surcharge (5); without it, that of the store';

function withLinkOptions(command: Command): Command {
  return command
    .option('--description <text>', 'shown to the payer below the title')
    .option('--currency <code>', 'ISO 4217, such as EUR; without it, amounts are in satoshis')
    .option('--amount <amount>', 'fixed amount; without it, the payer enters one')
    .option('--min <amount>', 'least amount that a payer may enter')
    .option('--max <amount>', 'greatest amount that a payer may enter')
    .option('--suggested <amounts...>', 'amounts that a payer may choose')
    .addOption(new Option('--note <rule>', 'a note by the payer').choices(noteRules))
    .option('--max-orders <n>', 'end the link once so many of its orders are paid', Number)
    .option('--adjust-percent <percent>', adjustHelp, signedNumberIn)
    .option('--ask-email', 'the payer may enter a mail address, for the mails of the order');
}

function addCommand(): Command {
  return withLinkOptions(
    fileCommand('add', 'add a link')
      .requiredOption('--title <text>', 'shown to the payer')
      .option('--store <id>', 'needed with several stores', rowId),
  ).action((given: LinkOptions & { readonly store?: number }) =>
    withStore(given, async (records) => {
      const storeId = storeFor(records, given.store);
      const input = parseLinkInput(bodyOf(given, null));
      const publicId = idOf('lnk', world.randomBytes(idBytes));
      const row = await records.database.write((tx) => {
        recordChange(records, tx, 'link.add', { link: publicId }, storeId);
        return records.links.create(tx, world.now(), { ...input, publicId, storeId });
      });
      const link = records.linkView.json(row);
      print(given, link, () => `${link.url}\n\n${renderLink(link)}`);
    }),
  );
}

/** @throws PaygateError invalid if several stores may be meant; not_found, conflict */
function storeFor({ catalog }: Records, id: number | undefined): number {
  if (id !== undefined) return requireRunning(catalog.store(id)).id;
  const [only, second] = catalog.stores();
  if (only === undefined) throwInvalid('there is no store yet');
  if (second !== undefined) throwInvalid('there are several stores; name one with --store');
  return only.id;
}

function setCommand(): Command {
  const command = fileCommand('set', 'change a link; its orders stay as they are')
    .argument('<id>', 'of the link', linkId)
    .option('--title <text>', 'shown to the payer');
  withLinkOptions(command)
    .option('--no-description', 'no description')
    .option('--no-currency', 'amounts are in satoshis')
    .option('--no-amount', 'the payer enters the amount')
    .option('--no-min', 'no least amount')
    .option('--no-max', 'no greatest amount')
    .option('--no-suggested', 'no suggestions')
    .option('--no-max-orders', 'no limit of orders')
    .option('--no-adjust-percent', 'the discount or surcharge of the store')
    .option('--no-ask-email', 'the payer enters no mail address');
  return command.action((id: string, given: LinkOptions) => {
    const { db, network, json, ...changes } = given;
    if (Object.keys(changes).length === 0) {
      throwInvalid('no change is given; name an option (`--help` lists them)');
    }
    return change(given, id, ({ currency }) => bodyOf(given, currency));
  });
}

const switchCommand = (name: string, description: string, active: boolean): Command =>
  fileCommand(name, description)
    .argument('<id>', 'of the link', linkId)
    .action((id: string, given: FileOptions) => change(given, id, () => ({ active })));

/** Changes a link, with an entry in the audit log. */
const change = (
  given: FileOptions,
  id: string,
  bodyFor: (before: LinkRow) => LinkBody,
): Promise<void> =>
  withStore(given, async (records) => {
    const isChanged = await records.database.write((tx) => {
      const before = linkOf(records, id);
      const body = bodyFor(before);
      const after = records.links.change(tx, before.id, parseLinkChange(before, body));
      const isNew = !isDeepStrictEqual(before, after);
      if (isNew) recordChange(records, tx, 'link.change', { link: id, ...body }, before.storeId);
      return isNew;
    });
    const link = records.linkView.json(linkOf(records, id));
    print(given, link, () =>
      [isChanged ? 'The link is changed.' : 'Nothing changed.', renderLink(link)].join('\n\n'),
    );
  });

/**
 * The body that the options say.
 * @param before the currency of the link before its change
 */
function bodyOf(given: LinkOptions, before: string | null): LinkBody {
  const { title, description, note, maxOrders, adjustPercent, askEmail } = given;
  const { currency = before || false } = given;
  return {
    title,
    note,
    ...amountsOf(given, currency !== false),
    description: orNull(description),
    most_orders: orNull(maxOrders),
    adjust_percent: orNull(adjustPercent),
    ask_email: askEmail,
    currency: orNull(given.currency),
  };
}

/** The amounts under the names for a currency, or for satoshis; the other names have none. */
function amountsOf({ currency, amount, min, max, suggested }: LinkOptions, isFiat: boolean) {
  // Amounts of another unit mean nothing.
  const none = currency === undefined ? {} : isFiat ? noSatoshis : noFiat;
  if (isFiat) {
    return {
      ...none,
      amount: orNull(amount),
      min: orNull(min),
      max: orNull(max),
      suggested: orNull(suggested),
    };
  }
  return {
    ...none,
    amount_sat: satOf(amount),
    min_sat: satOf(min),
    max_sat: satOf(max),
    suggested_sat: orNull(suggested)?.map((text) => satOf(text) as number),
  };
}

const noFiat = { amount: null, min: null, max: null, suggested: null };
const noSatoshis = { amount_sat: null, min_sat: null, max_sat: null, suggested_sat: null };

const orNull = <T>(value: T | false | undefined): T | null | undefined =>
  value === false ? null : value;

/** NaN for a text such as `25.00`, which is refused with all other problems. */
function satOf(text: string | false | undefined): number | null | undefined {
  if (text === undefined || text === false) return orNull<number>(text);
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

const linkList: TextList<LinkJson> = {
  none: 'There is no link.',
  columns: {
    id: (link) => link.id,
    store: (link) => link.store_id,
    title: (link) => link.title,
    amount: (link) => linkAmount(link),
    state: (link) => (link.active ? 'on' : 'off'),
    orders: (link) => link.order_count,
    paid: (link) => link.paid_count,
  },
  next: ({ id }) => `--after ${id}`,
};

function renderLink(link: LinkJson): string {
  const { description, currency, most_orders: mostOrders, adjust_percent: percent } = link;
  const suggested = currency === null ? link.suggested_sat : link.suggested;
  return table([
    ['id', link.id],
    ['URL', link.url],
    ['store', String(link.store_id)],
    ['title', link.title],
    ...(description === null ? [] : [['description', description]]),
    ['amount', linkAmount(link)],
    ...(suggested.length === 0 ? [] : [['suggested', suggested.join(', ')]]),
    ...(percent === null
      ? []
      : [[percent < 0 ? 'discount' : 'surcharge', `${Math.abs(percent)} %`]]),
    ['note', link.note],
    ...(link.ask_email ? [['mail address', 'optional']] : []),
    ['state', link.active ? 'on' : 'off'],
    ['orders', `${link.order_count}, ${link.paid_count} paid`],
    ...(mostOrders === null ? [] : [['ends after', `${mostOrders} paid orders`]]),
    ['created', formatTime(link.created_at * 1000)],
  ]);
}
