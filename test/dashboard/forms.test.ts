// Forms as people send them: with a wrong password first, or with a key that was mistyped.

import { afterEach, describe, expect, test } from 'vitest';
import { closeHouses, type House, merchantKey, openHouse } from '../support/house.ts';
import { type Seen, signedIn, type Visitor } from '../support/visitor.ts';

afterEach(closeHouses);

const stores = '/dashboard/stores';
const one = `${stores}/1`;
/** So late that the password is asked for again. */
const lateMs = 6 * 60_000;

async function late(house: House): Promise<Visitor> {
  const visitor = await signedIn(house);
  house.world.jumpWallClock(lateMs);
  return visitor;
}

/** The form of a page that asks for something. */
const formOf = ({ text }: Seen, does: string): string =>
  [...text.matchAll(/<form.*?<\/form>/gs)]
    .map(([form]) => form)
    .find((form) => form.includes(`name="do" value="${does}"`)) ?? '';

/** What a browser would send of a form that nobody types into. */
function fieldsOf(form: string): URLSearchParams {
  const unescaped = (text: string): string =>
    text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
  const fields = new URLSearchParams();
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1] ?? '';
    if (tag.includes('type="checkbox"') && !/\schecked=/.test(tag)) continue;
    fields.append(name, unescaped(/value="([^"]*)"/.exec(tag)?.[1] ?? ''));
  }
  for (const [, name = '', options = ''] of form.matchAll(
    /<select name="([^"]*)">(.*?)<\/select>/gs,
  )) {
    const values = [...options.matchAll(/<option value="([^"]*)"([^>]*)>/g)];
    const chosen = values.find(([, , rest = '']) => rest.includes('selected')) ?? values[0];
    fields.append(name, chosen?.[1] ?? '');
  }
  return fields;
}

const storeOf = (house: House) => house.withStore(async ({ catalog }) => catalog.store(1));

describe('what was chosen stands after a wrong password', () => {
  test.each([
    [one, 'add-key', { scope: 'read' }],
    [one, 'remove', { 'stop-callbacks': 'on' }],
    [stores, 'rotate-key', { overlap: 'at-once' }],
    [`${one}/wallet`, 'use-known', { wallet: '3' }],
    [one, 'allow-plugin', { key: '3' }],
  ])('at %s, %s', async (path, does, chosen) => {
    const house = await openHouse();
    await house.addStore({ key: merchantKey(2) });
    await house.addStore({ key: merchantKey(3) });
    await house.withStore(async ({ keys, database }) => {
      for (const byte of [7, 8]) {
        const secret = new Uint8Array(32).fill(byte);
        await database.write((tx) =>
          keys.add(tx, house.world.now(), { storeId: 1, scope: 'payments', secret }),
        );
      }
    });
    const visitor = await late(house);
    const refused = await visitor.submit(path, does, { ...chosen, password: 'not the password' });
    expect(refused.status).toBe(403);
    const again = Object.fromEntries(fieldsOf(formOf(refused, does)));
    expect(again).toMatchObject(chosen);
  });

  test('and no form of the page loses what another one was refused for', async () => {
    const house = await openHouse({ store: { callbackUrl: 'https://shop.example/paid' } });
    await house.withStore(async ({ catalog, database }) => {
      await database.write((tx) =>
        catalog.changeStore(tx, 1, { reversalCallback: true, omitRbf: true }),
      );
    });
    const before = await storeOf(house);
    const visitor = await late(house);
    const refused = await visitor.submit(one, 'reveal-secret', { password: 'not the password' });
    const form = fieldsOf(formOf(refused, 'change'));
    form.set('confirmations', '4');
    form.set('password', 'correct horse battery');
    expect((await visitor.post(one, String(form))).to).toBe(`${one}?done=saved`);
    expect(await storeOf(house)).toEqual({ ...before, requiredConfirmations: 4 });
  });

  test('nor where another gateway left off, when the key was mistyped', async () => {
    const house = await openHouse();
    const visitor = await signedIn(house);
    const typed = { 'start-index': '5000', 'allow-depth': 'on' };
    const refused = await visitor.submit(`${stores}/new`, 'look', { ...typed, key: 'tpubWrong' });
    expect(refused.status).toBe(400);
    const form = formOf(refused, 'look');
    expect(Object.fromEntries(fieldsOf(form))).toMatchObject(typed);
    expect(form).toMatch(/<details open/);
    expect(form).not.toContain('tpubWrong');
  });
});
