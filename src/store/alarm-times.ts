// When alarms were first seen, as the settings keep them: one JSON object, from an alarm's key to epoch
// milliseconds. What an alarm is, it does not know.

import type { Catalog } from './catalog.ts';
import type { Tx } from './writer.ts';

export type AlarmTimes = Readonly<Record<string, number>>;

const name = 'alarm_times';

export function readAlarmTimes(catalog: Pick<Catalog, 'setting'>): AlarmTimes {
  const text = catalog.setting(name);
  return text === undefined ? {} : (JSON.parse(text) as AlarmTimes);
}

export const writeAlarmTimes = (
  tx: Tx,
  catalog: Pick<Catalog, 'putSetting'>,
  times: AlarmTimes,
): void => catalog.putSetting(tx, name, JSON.stringify(times));
