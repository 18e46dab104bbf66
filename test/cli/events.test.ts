// `paygate events …`, each a process of its own beside an open file.

import { Webhook } from 'standardwebhooks';
import { afterEach, expect, it } from 'vitest';
import { webhooks } from '../../src/store/schema/schema.ts';
import { addEvent, openWebhook } from '../delivery/events.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp } from '../support/files.ts';
import type { Shop } from '../support/ledger.ts';
import { startReceiver } from '../support/receiver.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await cleanUp();
});

const run = (shop: Shop, command: string) => runCli([...command.split(' '), '--db', shop.path]);

/** Its answer as JSON; it must succeed and complain of nothing. */
// biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what the test looks at.
async function ask(shop: Shop, command: string): Promise<any> {
  const { code, stdout, stderr } = await run(shop, `${command} --json`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

it('lists events by state, type and page, and shows one with its body', async () => {
  const shop = await openWebhook('https://shop.example/hook?secret=tulip');
  for (const state of ['delivered', 'exhausted', 'owed'] as const) addEvent(shop, { state });
  addEvent(shop, { type: 'payment.mined', state: 'unsent' });
  const publicId = (id: number) => shop.webhooks.event(id).publicId;
  const ids = async (options: string) =>
    (await ask(shop, `events list ${options}`)).map(({ id }: { id: string }) => id);
  expect(await ids('--store 1')).toEqual([4, 3, 2, 1].map(publicId));
  expect(await ids('--state exhausted')).toEqual([publicId(2)]);
  expect(await ids('--type payment.mined')).toEqual([publicId(4)]);
  expect(await ids(`--before ${publicId(3)} --limit 1`)).toEqual([publicId(2)]);
  const listed = await run(shop, 'events list --limit 1');
  expect(listed.stdout).toContain(`There are more: --before ${publicId(4)} shows the next page.`);
  expect(await ask(shop, `events show ${publicId(3)}`)).toMatchObject({
    ...{ id: publicId(3), type: 'payment.seen', store_id: 1, state: 'owed', attempts: 0 },
    ...{ url: 'https://shop.example/hook?…', log: [], settled_at: null },
    body: { type: 'payment.seen', data: { addressId: 1 } },
  });
  const shown = await run(shop, `events show ${publicId(3)} --secrets`);
  expect(shown.stdout).toContain('POST https://shop.example/hook?secret=tulip');
  expect(shown.stdout).toContain(shop.webhooks.event(3).body);
  const none = await run(shop, 'events show evt_1');
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('there is no event evt_1')]);
});

it('resends one event, or all that failed, and records that', async () => {
  const shop = await openWebhook();
  addEvent(shop, { state: 'exhausted' });
  addEvent(shop, { state: 'delivered' });
  const { publicId } = shop.webhooks.event(2);
  expect(await ask(shop, `events resend ${publicId}`)).toMatchObject({ state: 'owed' });
  expect(await ask(shop, 'events resend-failed --store 1')).toEqual({ resent: 1 });
  expect((await run(shop, 'events resend-failed --store 1')).stdout).toContain(
    'No event has failed',
  );
  const { stdout } = await run(shop, 'audit list');
  expect(stdout.match(/events? (?:was|were) sent again/g)).toHaveLength(3);
});

it('sends a test event that the published library verifies', async () => {
  const receiver = await startReceiver();
  closing.push(receiver.close);
  const shop = await openWebhook(`${receiver.origin}/hook?secret=tulip`);
  const shown = await ask(shop, 'events test --store 1');
  const { body = '', headers = {} } = receiver.requests[0] ?? {};
  const { webhookSecret } = shop.catalog.store(1);
  expect(new Webhook(webhookSecret).verify(body, headers as Record<string, string>)).toMatchObject({
    ...{ type: 'test', data: { store_id: 1 } },
  });
  expect((headers as Record<string, string>)['webhook-id']).toMatch(
    /^evt_[1-9A-HJ-NP-Za-km-z]{22}$/,
  );
  expect(shown).toMatchObject({ outcome: 'delivered', http_status: 200, sent: body });
  expect(JSON.stringify(shown)).not.toContain('tulip');
  expect(shop.webhooks.list({ limit: 1 })).toEqual([]);
  receiver.script({ status: 500, body: 'broken' });
  const failed = await run(shop, 'events test --store 1');
  expect([failed.code, failed.stdout]).toEqual([
    1,
    expect.stringContaining('answered 500; only 2xx counts as received'),
  ]);
  shop.database.orm.update(webhooks).set({ url: null }).run();
  expect((await run(shop, 'events test --store 1')).stderr).toContain('has no webhook URL');
});
