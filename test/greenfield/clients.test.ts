// Client libraries of others, unchanged, against the Greenfield API: one for Node, and two for
// Python. .ci/run installs those; where one is missing, its test is skipped.

import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { cleanUp, tempFolder } from '../support/files.ts';
import { type GreenfieldApp, openGreenfield } from '../support/greenfield.ts';

afterEach(closeApps);
afterEach(cleanUp);

const run = promisify(execFile);

/** The path of a Node package; undefined where it is not installed. */
function packageAt(name: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return undefined;
  }
}

const nodeClient = packageAt('btcpay-greenfield-node-client');
const python = '/usr/local/lib/greenfield-clients/bin/python';
const hasPython = existsSync(python);
if (nodeClient === undefined) {
  process.stdout.write('btcpay-greenfield-node-client is not installed: it is not run\n');
}
if (!hasPython) process.stdout.write(`there is no ${python}: the Python clients are not run\n`);

const openWindow = ({ app }: GreenfieldApp) =>
  app.withStore(({ keys, database }) =>
    database.write((tx) => {
      const { id } = keys.list(app.world.now()).at(-1) ?? { id: 0 };
      keys.allowPlugin(tx, app.world.now(), id, app.world.now() + 60_000);
    }),
  );

const metadata = { orderId: '1007', posData: '{"a":1}', n: 42, t: true };

test.runIf(nodeClient !== undefined)(
  '1, 2, 6, 13, 14, 15: btcpay-greenfield-node-client',
  async () => {
    const greenfield = await openGreenfield();
    const { app, storeId, key } = greenfield;
    const client = createRequire(import.meta.url)(nodeClient ?? '');
    const { OpenAPI, ServerInfoService, StoresService, InvoicesService, WebhooksService } = client;
    OpenAPI.BASE = `http://127.0.0.1:${app.port}`;
    OpenAPI.TOKEN = 'A'.repeat(43);
    await expect(ServerInfoService.serverInfoGetServerInfo()).rejects.toMatchObject({
      ...{ status: 401, body: { code: 'unauthenticated' } },
    });
    OpenAPI.TOKEN = key;
    const { fullySynched, version } = await ServerInfoService.serverInfoGetServerInfo();
    expect([fullySynched, version]).toEqual([true, expect.stringMatching(/^[2-9]\.\d+\.\d+/)]);
    expect(await StoresService.storesGetStores()).toMatchObject([{ id: storeId }]);
    const requestBody = { amount: '20.00', currency: 'EUR', metadata };
    const made = await InvoicesService.invoicesCreateInvoice({ storeId, requestBody });
    expect(made).toMatchObject({ status: 'New', additionalStatus: 'None', storeId, metadata });
    expect([Number(made.amount), typeof made.amount]).toEqual([20, 'string']);
    const one = { storeId, invoiceId: made.id };
    expect(await InvoicesService.invoicesGetInvoice(one)).toEqual(made);
    expect(await InvoicesService.invoicesGetInvoices({ storeId })).toEqual([made]);
    expect(await InvoicesService.invoicesGetInvoicePaymentMethods(one)).toMatchObject([
      ...[{ due: '0.0004', payments: [] }],
    ]);
    const status = { status: 'Invalid' };
    expect(
      await InvoicesService.invoicesMarkInvoiceStatus({ ...one, requestBody: status }),
    ).toMatchObject({ status: 'Invalid' });
    await openWindow(greenfield);
    const hook = { url: 'http://127.0.0.1:9/?a=b|c', secret: 'own', enabled: true };
    const added = await WebhooksService.postWebhooksService({
      storeId,
      requestBody: { ...hook, automaticRedelivery: true, authorizedEvents: { everything: true } },
    });
    expect(added).toMatchObject(hook);
    const listed = await WebhooksService.webhokksGetWebhooks({ storeId });
    expect(listed).toMatchObject([{ id: added.id, url: hook.url, enabled: true }]);
    expect(listed[0]).not.toHaveProperty('secret');
  },
);

const pythonClients = `import sys
from btcpay_mcp.client import BTCPayClient
import pygreenfield

base, key, store, prestashop = sys.argv[1:]
client = BTCPayClient(base, key, store)
stores = client.list_stores()
assert [each['id'] for each in stores] == [store], stores
methods = client.get_store_payment_methods()
assert [sorted(each) for each in methods] == [['enabled', 'paymentMethodId']], methods
shop = BTCPayClient(base, prestashop, store).get_store_payment_methods()
assert isinstance(shop['BTC']['data'], dict), shop
assert client.get_exchange_rates('BTC_EUR')[0]['rate'] == '50000.00'
hook = client.create_webhook('http://127.0.0.1:9/', ['InvoiceSettled'], 'own')
assert hook['secret'] == 'own', hook
assert [each['id'] for each in client.list_webhooks()] == [hook['id']]
assert client.get_server_info()['fullySynched'] is True

for each, count in ((key, 5), (prestashop, 6)):
    configuration = pygreenfield.Configuration()
    configuration.host = base
    configuration.api_key['Authorization'] = each
    configuration.api_key_prefix['Authorization'] = 'token'
    api = pygreenfield.ApiClient(configuration)
    current = pygreenfield.APIKeysApi(api).api_v1_api_keys_current_get()
    assert len(current.permissions) == count, current
    assert all(name.endswith(':' + store) for name in current.permissions), current
    assert isinstance(current.label, str), current

made = pygreenfield.InvoicesApi(api).invoices_create_invoice(
    pygreenfield.CreateInvoiceRequest(amount='20.00', currency='EUR', metadata={'orderId': '1007'}),
    store,
)
read = pygreenfield.InvoicesApi(api).invoices_get_invoice(store, made.id)
assert (read.id, read.amount, read.status) == (made.id, '20.00', 'New'), read
print('both clients made and read')
`;

describe.runIf(hasPython)('3, 4, 5: Python clients', () => {
  test('pygreenfield and btcpay-mcp', async () => {
    const greenfield = await openGreenfield();
    const { app, storeId, key, addKey } = greenfield;
    const prestashop = await addKey('prestashop');
    await app.withStore(({ keys, database }) =>
      database.write((tx) => {
        const id = keys.find(key, app.world.now())?.id ?? 0;
        keys.allowPlugin(tx, app.world.now(), id, app.world.now() + 60_000);
      }),
    );
    const script = join(tempFolder(), 'clients.py');
    writeFileSync(script, pythonClients);
    const base = `http://127.0.0.1:${app.port}`;
    const { stdout } = await run(python, [script, base, key, storeId, prestashop]);
    expect(stdout).toContain('both clients made and read');
  });
});
