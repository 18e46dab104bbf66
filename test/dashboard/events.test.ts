// Webhook events in the dashboard: the settings, the list, one event, resending and the test.

import { afterEach, expect, test } from 'vitest';
import { closeApps, openApp, type TestApp, untilReady } from '../support/app.ts';
import { startReceiver } from '../support/receiver.ts';
import { signedIn } from '../support/visitor.ts';

afterEach(closeApps);

const home = '/dashboard';

const settings = (app: TestApp, more: Record<string, string> = {}) => ({
  ...{ name: 'Shop', confirmations: '2', 'allow-private': 'on', 'allow-http': 'on' },
  ...{ 'callback-url': `${app.receiver.origin}/cb?secret=s3cr3t`, 'webhook-events': 'payment' },
  ...more,
});

test('the webhook of a store is set, tried, and its events are listed and resent', async () => {
  const app = await openApp();
  await untilReady(app);
  const hook = await startReceiver();
  const visitor = await signedIn(app);
  const url = `${hook.origin}/hook?secret=tulip`;
  const saved = await visitor.submit(
    `${home}/stores/1/webhooks`,
    'change',
    settings(app, { 'webhook-url': url }),
  );
  expect(saved.status).toBe(303);
  const page = await visitor.get(`${home}/stores/1/webhooks`);
  expect(page.text).toMatch(/<option value="payment" selected="">/);

  const tested = await visitor.submit(`${home}/stores/1/webhooks`, 'send-event');
  expect(tested.text).toContain('Your shop answered 200: the event is delivered.');
  expect(tested.text).toContain('{&quot;type&quot;:&quot;test&quot;');

  hook.script({ status: 500, body: 'broken' });
  app.pay(await app.newAddress(), 20_000);
  await app.settle();
  const list = await visitor.get(`${home}/events`);
  expect(list.text).toMatch(
    /payment\.seen[\s\S]*Waiting[\s\S]*retrying[\s\S]*only 2xx counts as received/,
  );
  const shown = await visitor.get(`${home}/events/1`);
  expect(shown.text).toContain('&quot;value_sat&quot;: 20000');
  expect(shown.text).not.toContain('tulip');
  expect(shown.text).toContain('broken');
  expect((await visitor.submit(`${home}/events/1`, 'resend')).to).toContain('done=resent');
  await app.settle();
  expect((await visitor.get(`${home}/events?state=delivered`)).text).toContain('payment.seen');
  expect((await visitor.get(`${home}/events?state=owed`)).text).toContain('No events found.');
  const resent = await visitor.submit(`${home}/events`, 'resend-failed', { store: '1' });
  expect(resent.to).toContain('done=none-failed');
  await hook.close();
});

test('a store needs no Callback URL and no webhook', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const without = { 'callback-url': '' };
  const change = (section: string, fields: Record<string, string>) =>
    visitor.submit(`${home}/stores/1/${section}`, 'change', settings(app, fields));
  const hook = { 'webhook-url': 'https://shop.example/hook' };
  expect((await change('webhooks', hook)).status).toBe(303);
  expect((await change('callbacks', without)).status).toBe(303);
  const page = async (section: string) => (await visitor.get(`${home}/stores/1/${section}`)).text;
  expect(await page('callbacks')).not.toContain('Send test callback');
  expect(await page('webhooks')).toContain('Send test event');
  // Links need no receiver.
  expect((await change('webhooks', { 'webhook-url': '' })).status).toBe(303);
  for (const path of ['/stores', '/callbacks', '']) {
    expect((await visitor.get(home + path)).status).toBe(200);
  }
});

test('a number of the orders that is wrong is refused with its label', async () => {
  const app = await openApp();
  const visitor = await signedIn(app);
  const fields = settings(app, { tolerance: '11' });
  const refused = await visitor.submit(`${home}/stores/1/general`, 'change', fields);
  expect([refused.status, refused.text]).toEqual([
    400,
    expect.stringContaining('Tolerance (percent): A number from 0 to 10'),
  ]);
});
