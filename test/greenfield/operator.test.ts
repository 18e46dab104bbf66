// What an operator sees of the webhooks of plugins, and removes: findings, pages, commands, audit.

import { afterEach, describe, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { cleanUp } from '../support/files.ts';
import { addHook, openHooked } from '../support/greenfield-hook.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

type Hooked = Awaited<ReturnType<typeof openHooked>>;

const command = async ({ app }: Pick<Hooked, 'app'>, line: string) => {
  const { code, stdout, stderr } = await runCli([...line.split(' '), '--db', app.path]);
  return { code, text: stdout + stderr };
};

/** The newest event of a type. */
const eventOf = ({ app }: Pick<Hooked, 'app'>, type: string) =>
  app.withStore(async ({ webhooks }) => {
    const found = webhooks.page({ limit: 50 }).rows.find((row) => row.type === type);
    if (found === undefined) throw new Error(`no ${type}`);
    return found;
  });

describe('a webhook of a plugin', () => {
  test('is the URL of its events, on their page and in the command', async () => {
    const hooked = await openHooked();
    const { app, hook, invoice, settle } = hooked;
    await app.withStore(({ catalog, database }) =>
      database.write((tx) =>
        catalog.changeStore(tx, 1, { webhookUrl: `${app.receiver.origin}/own?x=veiled` }),
      ),
    );
    const { id } = await invoice();
    await app.post(`/orders/${id}/cancel`);
    await settle();
    const visitor = await signedIn(app);
    const shownAt = async (type: string) => {
      const event = await eventOf(hooked, type);
      const { text } = await visitor.get(`/dashboard/events/${event.id}`);
      const shown = await command(hooked, `events show ${event.publicId}`);
      expect(shown.text).toContain(/POST (\S+)<\/code>/.exec(text)?.[1]);
      return /POST (\S+)<\/code>/.exec(text)?.[1];
    };
    expect(await shownAt('InvoiceInvalid')).toBe(`${hook.receiver.origin}/hook?…`);
    expect(await shownAt('order.canceled')).toBe(`${app.receiver.origin}/own?…`);
  });

  test('has the button that sends again, also where the store has no webhook URL', async () => {
    let isDown = true;
    const hooked = await openHooked({}, () => (isDown ? 500 : 200));
    const { app, hook, invoice, settle } = hooked;
    await invoice();
    await settle();
    const visitor = await signedIn(app);
    const { text } = await visitor.get('/dashboard/events');
    expect(text).toContain('Resend failed events of Shop');
    isDown = false;
    await visitor.submit('/dashboard/events', 'resend-failed', { store: '1' });
    await settle();
    expect(hook.types()).toEqual(['Created', 'Created']);
  });

  test('that refuses is a finding of its own, beside another of the store', async () => {
    const hooked = await openHooked({}, () => 403);
    const { app, greenfield, hook, invoice, settle } = hooked;
    const second = await addHook(greenfield, {}, () => 500);
    await invoice();
    for (let turns = 0; turns < 10; turns += 1) {
      await settle();
      await app.world.advance(120_000);
    }
    const warnings = app.running.health().warnings.filter((text) => /received none/.test(text));
    expect(warnings).toEqual([
      expect.stringMatching(new RegExp(`webhook ${hook.id} has received none.*answered 403`)),
      expect.stringMatching(new RegExp(`webhook ${second.id} has received none.*answered 500`)),
    ]);
    // Each is announced, because each has a subject of its own.
    const announced = await app.withStore(async ({ state }) => state.announced.read());
    expect(Object.keys(announced).filter((key) => key.startsWith('shop-refuses'))).toEqual([
      `shop-refuses webhook store 1 ${hook.id}`,
      `shop-refuses webhook store 1 ${second.id}`,
    ]);
  });

  test('is listed by `store show`, and goes by `store remove-webhook`, noted', async () => {
    const hooked = await openHooked({
      authorizedEvents: { everything: false, specificEvents: ['InvoiceSettled'] },
    });
    const { app, hook, ask, invoice, settle } = hooked;
    const url = `${hook.receiver.origin}/hook?a=b|c`;
    expect((await command(hooked, 'store show 1')).text).toContain(
      `webhook ${hook.id}  ${url} (InvoiceSettled)`,
    );
    const listed = async () =>
      JSON.parse((await command(hooked, 'store show 1 --json')).text).plugin_webhooks;
    expect(await listed()).toEqual([
      { id: hook.id, url, events: ['InvoiceSettled'], enabled: true },
    ]);
    const wrong = await command(hooked, 'store remove-webhook 1 nothing');
    expect(wrong).toMatchObject({ code: 1, text: /store 1 has no webhook nothing/ });
    const removed = await command(hooked, `store remove-webhook 1 ${hook.id}`);
    expect(removed).toEqual({ code: 0, text: `Webhook ${hook.id} is removed.\n` });
    expect(await listed()).toEqual([]);
    expect((await ask('GET', `/webhooks/${hook.id}`)).status).toBe(404);
    await invoice();
    await settle();
    expect(hook.types()).toEqual([]);
    const [newest] = await app.withStore(async ({ audit }) => audit.list(1));
    expect(newest).toMatchObject({ action: 'webhook.remove', storeId: 1, keyId: null });
    expect(newest?.detail).toContain(hook.id);
    expect(newest?.detail).not.toContain('a=b');
  });
});
