// `paygate links …`, each a process of its own beside an open file.

import { afterEach, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { cleanUp } from '../support/files.ts';
import { openShop, type Shop } from '../support/ledger.ts';

afterEach(cleanUp);

async function open(): Promise<Shop> {
  const shop = await openShop();
  await shop.write((tx) => shop.state.baseUrl.write(tx, 'https://pay.example.com'));
  return shop;
}

const links = (shop: Shop, ...args: string[]) => runCli(['links', ...args, '--db', shop.path]);

async function json(shop: Shop, ...args: string[]) {
  const { code, stdout, stderr } = await links(shop, ...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

const auditOf = (shop: Shop) =>
  shop.audit
    .list(10)
    .filter(({ action }) => action.startsWith('link.'))
    .map(({ action, storeId, detail }) => [action, storeId, JSON.parse(detail)]);

describe('a link', () => {
  it('is added, listed and shown', async () => {
    const shop = await open();
    const terms = ['--currency', 'EUR', '--min', '5', '--suggested', '5', '10.50'];
    const others = ['--note', 'optional', '--max-orders', '9', '--ask-email'];
    const link = await json(shop, 'add', '--title', 'Tips', ...terms, ...others);
    expect(link).toMatchObject({
      ...{ store_id: 1, title: 'Tips', currency: 'EUR', amount: null, min: '5.00', max: null },
      ...{ suggested: ['5.00', '10.50'], note: 'optional', most_orders: 9, ask_email: true },
      ...{ active: true, order_count: 0, url: `https://pay.example.com/l/${link.id}` },
    });
    const added = await links(shop, 'add', '--title', 'Poster', '--amount', '5000');
    expect(added.stdout).toMatch(/^https:\/\/pay\.example\.com\/l\/lnk_\w{22}\n/);
    const [poster, tips] = await json(shop, 'list');
    expect(tips).toEqual(link);
    expect(poster).toMatchObject({ title: 'Poster', currency: null, amount_sat: 5_000 });
    expect(await json(shop, 'list', '--limit', '1', '--after', poster.id)).toEqual([link]);
    const list = (await links(shop, 'list', '--limit', '1')).stdout;
    expect(list).toContain(`${poster.id}  1      Poster  5000 sat  on     0       0`);
    expect(list).toContain(`There are more: --after ${poster.id} shows the next page.`);
    const text = (await links(shop, 'show', link.id)).stdout;
    expect(text).toMatch(/^amount +from 5.00 EUR$/m);
    expect(text).toMatch(/^suggested +5.00, 10.50$/m);
    expect(text).toMatch(/^mail address +optional$/m);
    expect(added.stdout).not.toContain('mail address');
    expect(auditOf(shop)).toEqual([
      ['link.add', 1, { link: poster.id, client: 'command' }],
      ['link.add', 1, { link: link.id, client: 'command' }],
    ]);
  });

  it('is changed, and switched off and on', async () => {
    const shop = await open();
    const fixed = ['--amount', '25', '--currency', 'EUR', '--description', 'A2'];
    const { id } = await json(shop, 'add', '--title', 'Poster', ...fixed);
    expect(await json(shop, 'set', id, '--amount', '30', '--no-description')).toMatchObject({
      ...{ title: 'Poster', amount: '30.00', currency: 'EUR', description: null },
    });
    expect(await json(shop, 'set', id, '--no-currency', '--amount', '5000')).toMatchObject({
      ...{ amount: null, currency: null, amount_sat: 5_000 },
    });
    expect(await json(shop, 'set', id, '--no-amount', '--max', '9000')).toMatchObject({
      ...{ amount_sat: null, max_sat: 9_000 },
    });
    expect(await json(shop, 'set', id, '--ask-email')).toMatchObject({ ask_email: true });
    expect(await json(shop, 'set', id, '--title', 'A')).toMatchObject({ ask_email: true });
    expect(await json(shop, 'set', id, '--no-ask-email')).toMatchObject({ ask_email: false });
    expect(await json(shop, 'off', id)).toMatchObject({ active: false });
    const again = await links(shop, 'off', id);
    expect(again.stdout).toMatch(/^Nothing changed\.\n/);
    expect((await links(shop, 'on', id)).stdout).toMatch(/^The link is changed\.\n/);
    expect(auditOf(shop)).toHaveLength(9);
  });
});

describe('what is refused', () => {
  it('changes nothing', async () => {
    const shop = await open();
    const { id } = await json(shop, 'add', '--title', 'Poster', '--amount', '5000');
    const refused = async (...args: string[]) => {
      const { code, stderr } = await links(shop, ...args);
      return [code, stderr];
    };
    expect(await refused('add', '--title', 'A', '--amount', '25.00', '--max-orders', '0')).toEqual([
      2,
      expect.stringMatching(/amount_sat: whole satoshis.*most_orders: a whole number/),
    ]);
    expect(await refused('set', id)).toEqual([2, expect.stringContaining('no change is given')]);
    expect(await refused('set', id, '--min', '600')).toEqual([
      ...[2, expect.stringContaining('min_sat: is for a link whose payer enters the amount')],
    ]);
    expect(await refused('off', 'ord_3yQ8tZr6WmB1nK5vXc2dLp')).toEqual([
      ...[2, expect.stringContaining('Give the id of a link')],
    ]);
    expect(await refused('show', 'lnk_3yQ8tZr6WmB1nK5vXc2dLp')).toEqual([
      ...[1, expect.stringContaining('there is no link')],
    ]);
    await shop.addStore({ name: 'Second' });
    expect(await refused('add', '--title', 'A')).toEqual([
      ...[2, expect.stringContaining('name one with --store')],
    ]);
    expect(await json(shop, 'list')).toHaveLength(1);
  });
});
