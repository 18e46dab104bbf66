// How the customer of a paid order goes back to the shop by itself, and what the receipt names.

import { afterEach, describe, expect, test } from 'vitest';
import { minuteMs } from '../../src/lib/time-units.ts';
import { closeApps } from '../support/app.ts';
import { openTill } from '../support/checkout.ts';
import { cleanUp } from '../support/files.ts';
import { visitorOf } from '../support/visitor.ts';

afterEach(closeApps);
afterEach(cleanUp);

async function open(settings: object = { autoReturn: true }, changes: object = {}) {
  const till = await openTill(changes);
  await till.app.withStore(({ database, catalog }) =>
    database.write((tx) => catalog.changeStore(tx, 1, settings)),
  );
  const see = (headers = {}) => visitorOf(till.app).get(till.path, headers);
  const leaves = async (headers = {}) => {
    const { headers: sent, text } = await see(headers);
    return [sent.get('Refresh'), text.includes('data-leave')];
  };
  return { ...till, see, leaves };
}

const thanks = '5; url=https://shop.example/thanks/1007';

describe('a page that was just paid', () => {
  test('leads to the return URL of its order, if the store says so', async () => {
    const { pay, mine, leaves, see, app } = await open();
    expect(await leaves()).toEqual(['20', false]);
    await pay(25_000);
    expect(await leaves()).toEqual([thanks, true]);
    expect((await see()).text).toContain('You go back to the shop in 5 seconds.');
    await app.world.advance(minuteMs);
    expect(await leaves()).toEqual(['20', false]);
    await mine(2);
    expect(await leaves()).toEqual([thanks, true]);
    await app.world.advance(minuteMs - 1);
    expect(await leaves()).toEqual([thanks, true]);
    await app.world.advance(1);
    expect(await leaves()).toEqual([null, false]);
  });

  test('stays in a frame, and where the store did not say so or has no URL', async () => {
    const framed = await open();
    await framed.pay(25_000);
    expect(await framed.leaves({ 'Sec-Fetch-Dest': 'iframe' })).toEqual(['20', false]);
    expect(await framed.leaves({ 'Sec-Fetch-Dest': 'document' })).toEqual([thanks, true]);
    const silent = await open({ autoReturn: false });
    await silent.pay(25_000);
    expect(await silent.leaves()).toEqual(['20', false]);
    const nowhere = await open({ autoReturn: true }, { return_url: undefined });
    await nowhere.pay(25_000);
    expect(await nowhere.leaves()).toEqual(['20', false]);
  });

  test('has a URL of other letters as a header can have it', async () => {
    const { pay, leaves } = await open(undefined, { return_url: 'https://shop.example/größe' });
    await pay(25_000);
    expect(await leaves()).toEqual(['5; url=https://shop.example/gr%C3%B6%C3%9Fe', true]);
  });
});

test('the receipt names the merchant, and no page before it does', async () => {
  const receiptAddress = 'Café Möwe, Hafenstr. 1, 20457 Hamburg';
  const { app, address, pay, mine, see } = await open({ receiptAddress });
  expect((await see()).text).not.toContain(receiptAddress);
  const txid = await pay(25_000);
  await mine(2);
  const page = (await see()).text;
  expect(page).toContain('<h2>Receipt</h2>');
  for (const part of [receiptAddress, '1007', '2 posters', '€12.50', '25,000 sat']) {
    expect(page).toContain(part);
  }
  const receipt = (await visitorOf(app).get(`/api/tx?txid=${txid}&addr=${address}`)).text;
  expect(receipt).toContain('<h2>Receipt</h2>');
  expect(receipt).toContain(`<dt>Shop</dt><dd><bdi>${receiptAddress}</bdi></dd>`);
});
