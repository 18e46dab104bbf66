// The settings of a store as options of a command line, made from the settings table. Also checks
// them, and adds notes on what only the running server knows.

import { InvalidArgumentError, Option } from 'commander';
import { maxMoneySat } from '../../bitcoin/transaction.ts';
import { isOnion } from '../../domain/delivery/onion.ts';
import { type Band, parseBand, writeBands } from '../../domain/payment/confirmation-policy.ts';
import type { StoreSetting } from '../../domain/store/setting-kinds.ts';
import {
  checkStoreSettings,
  type StoreSettings,
  storeSettingNames,
  storeSettings,
} from '../../domain/store/store-settings.ts';
import { barNote } from '../../domain/text/url-text.ts';
import { PaygateError } from '../../lib/errors.ts';
import { wholeNumber, world } from '../command.ts';

/** Parsed values under the names that commander gives the options: false for a `--no-…`. */
export type SettingOptions = Readonly<Record<string, unknown>>;

const settingOf = (name: keyof StoreSettings): StoreSetting => storeSettings[name];

export function settingOption(name: keyof StoreSettings): Option {
  const setting = settingOf(name);
  const option = new Option(setting.option, setting.help);
  if (setting.kind === 'text' || setting.kind === 'number') {
    const parse = withOptionName<unknown>(setting.parse);
    const isRepeatable = setting.kind === 'text' && setting.isRepeatable;
    option.argParser((text, before) => parse(isRepeatable && before ? `${before} ${text}` : text));
  }
  if (setting.kind === 'choice') option.choices(Object.keys(setting.choices));
  if (setting.kind === 'count') {
    option.argParser(wholeNumber(setting.min, setting.max));
  }
  if (setting.kind === 'amount') option.argParser(wholeNumber(1, maxMoneySat));
  if (setting.kind === 'bands') option.argParser(addBand);
  return option;
}

/** The option `--no-…`, if the setting has one. */
export function settingOffOption(name: keyof StoreSettings): Option | undefined {
  const { option, noHelp } = settingOf(name);
  const [flag = ''] = option.split(' ');
  return noHelp === undefined ? undefined : new Option(`--no-${flag.slice(2)}`, noHelp);
}

/** The settings that a command line names. */
export function settingsIn(given: SettingOptions): Partial<StoreSettings> {
  const named = storeSettingNames.flatMap((name) => {
    const setting = settingOf(name);
    const value = given[settingOption(name).attributeName()];
    return value === undefined ? [] : [[name, columnValue(setting, value)]];
  });
  return Object.fromEntries(named) as Partial<StoreSettings>;
}

function columnValue(setting: StoreSetting, value: unknown): unknown {
  if (setting.kind === 'switch') return setting.isOptionInverted ? value === false : value;
  if (setting.kind === 'bands') return writeBands((value || []) as readonly Band[]);
  return value !== false ? value : setting.kind === 'text' ? setting.none : null;
}

/** The first band replaces a `--no-…`, which is false. */
const addBand = (text: string, before: unknown): Band[] => [
  ...((before || []) as Band[]),
  withOptionName(parseBand)(text),
];

/** Makes a parser fail as commander's do: the error names the option, and the exit code is 2. */
export const withOptionName =
  <T>(parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof PaygateError) throw new InvalidArgumentError(error.message);
      throw error;
    }
  };

/**
 * Checks settings as the server would. Whether the running server has a proxy is not known here.
 * @param before the store before the change
 * @throws PaygateError invalid
 */
export const checkSettings = (
  settings: Partial<StoreSettings>,
  before: StoreSettings | undefined,
): void => checkStoreSettings(settings, before, { ownAddresses: world.ownAddresses() });

export const callbackUrlNotes = (callbackUrl: string): string[] => [
  ...(callbackUrl !== '' && isOnion(new URL(callbackUrl).hostname)
    ? [
        'This Callback URL is reached only through Tor: start serve with --proxy socks5://127.0.0.1:9050 ' +
          '(or PAYGATE_PROXY), else its callbacks are refused.',
      ]
    : []),
  ...[barNote(callbackUrl)].filter((note) => note !== undefined),
];

export const withNotes = <T extends object>(answer: T, notes: readonly string[]) => ({
  ...answer,
  ...(notes.length > 0 && { note: notes.join(' ') }),
});
