// Which findings are announced, and when: a storm makes one notice, and a restart repeats none.

import { afterEach, expect, test } from 'vitest';
import type { NoticedFinding } from '../../src/domain/delivery/notice.ts';
import { noTarget } from '../../src/domain/delivery/notification-settings.ts';
import { minuteMs } from '../../src/lib/time-units.ts';
import { FindingHistory } from '../../src/status/finding-history.ts';
import type { Finding } from '../../src/status/findings.ts';
import { notifications } from '../../src/store/schema/notification-schema.ts';
import { cleanUp } from '../support/files.ts';
import { openTestStore } from '../support/store.ts';
import { createTestWorld } from '../support/world.ts';

afterEach(cleanUp);

async function open() {
  const records = await openTestStore();
  const webhookUrl = 'https://ntfy.example/topic';
  await records.write((tx) =>
    records.state.notifyTarget(null).write(tx, { ...noTarget, webhookUrl }),
  );
  const world = createTestWorld();
  let findings: readonly Finding[] = [];
  const start = () =>
    new FindingHistory({
      ...{ records, log: world.log, find: () => findings },
      ...{ now: () => world.now(), monotonic: () => world.monotonic() },
    });
  let history = start();
  return {
    restart: () => {
      history = start();
    },
    /** So many minutes pass with these findings. */
    async pass(minutes: number, ...found: readonly Finding[]) {
      findings = found;
      for (let minute = 0; minute < minutes; minute += 1) {
        await world.advance(minuteMs);
        await history.record();
      }
    },
    /** The subjects that began and ended, notice by notice. */
    told: () =>
      records.database.orm
        .select()
        .from(notifications)
        .all()
        .map(({ notice }) => {
          const { began, ended } = JSON.parse(notice).data as Record<string, NoticedFinding[]>;
          return [began, ended].map((each) => each?.map(({ subject }) => subject) ?? []);
        }),
  };
}

const refuses = (subject: string): Finding => ({ code: 'shop-refuses', subject, fact: subject });

test('a finding is told once when it begins and once when it is over', async () => {
  const { pass, told } = await open();
  await pass(1, refuses('a'));
  expect(told()).toEqual([]);
  await pass(30, refuses('a'));
  expect(told()).toEqual([[['a'], []]]);
  await pass(9);
  expect(told()).toHaveLength(1);
  await pass(30);
  expect(told()).toEqual([
    [['a'], []],
    [[], ['a']],
  ]);
});

test('what passes within two minutes, and warnings, are not told', async () => {
  const { pass, told } = await open();
  await pass(2, refuses('a'));
  await pass(30);
  await pass(60, { code: 'reduced-trust', fact: 'one server' });
  await pass(60, { code: 'exhausted-callbacks', fact: 'told by its delivery' });
  expect(told()).toEqual([]);
});

test('a storm of findings is one notice, and the next one has a distance of ten minutes', async () => {
  const { pass, told } = await open();
  const storm = Array.from({ length: 500 }, (_, number) => refuses(`${number}`));
  await pass(3, ...storm);
  expect(told().map(([began]) => began?.length)).toEqual([500]);
  for (let minute = 0; minute < 8; minute += 1) {
    const more = Array.from({ length: minute }, (_, number) => refuses(`more ${number}`));
    await pass(1, ...storm, ...more);
  }
  expect(told()).toHaveLength(1);
  await pass(5, ...storm, refuses('more 0'), refuses('more 1'));
  expect(told().slice(1)).toEqual([[['more 0', 'more 1'], []]]);
});

test('a flapping finding is told once in an hour', async () => {
  const { pass, told } = await open();
  for (let minute = 0; minute < 60; minute += 6) {
    await pass(3, refuses('a'));
    await pass(3);
  }
  expect(told()).toEqual([[['a'], []]]);
});

test('a restart tells nothing again, and still tells the end', async () => {
  const { pass, told, restart } = await open();
  await pass(5, refuses('a'));
  restart();
  await pass(5, refuses('a'));
  expect(told()).toHaveLength(1);
  restart();
  await pass(15);
  expect(told()).toEqual([
    [['a'], []],
    [[], ['a']],
  ]);
});
