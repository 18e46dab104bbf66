// The settings of a store as options of a command line, made from their table.

import { InvalidArgumentError, Option } from 'commander';
import { maxMoneySat } from '../bitcoin/transaction.ts';
import { type Band, parseBand, writeBands } from '../domain/confirmation-policy.ts';
import {
  type StoreSetting,
  type StoreSettings,
  storeSettingNames,
  storeSettings,
} from '../domain/store-settings.ts';
import { PaygateError } from '../lib/errors.ts';
import { wholeNumber } from './command.ts';

/** Parsed values under the names that commander gives the options: false for a `--no-…`. */
export type SettingOptions = Readonly<Record<string, unknown>>;

const settingOf = (name: keyof StoreSettings): StoreSetting => storeSettings[name];

export function settingOption(name: keyof StoreSettings): Option {
  const setting = settingOf(name);
  const option = new Option(setting.option, setting.help);
  if (setting.kind === 'text') option.argParser(explained(setting.parse));
  if (setting.kind === 'count') {
    option.argParser(wholeNumber(setting.min, setting.max));
  }
  if (setting.kind === 'amount') option.argParser(wholeNumber(1, maxMoneySat));
  if (setting.kind === 'bands') option.argParser(addBand);
  return option;
}

/** The option `--no-…`, where there is one. */
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
  return value === false ? null : value;
}

/** After `--no-…`, which is false, these take the place of what there was. */
const addBand = (text: string, before: unknown): Band[] => [
  ...((before || []) as Band[]),
  explained(parseBand)(text),
];

/** As commander's own parsers: a fault names the option, and the exit code is 2. */
const explained =
  <T>(parse: (text: string) => T) =>
  (text: string): T => {
    try {
      return parse(text);
    } catch (error) {
      if (error instanceof PaygateError) throw new InvalidArgumentError(error.message);
      throw error;
    }
  };
