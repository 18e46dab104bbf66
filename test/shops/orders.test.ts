// An order in each family of shops, with right settings and with a wrong one. One program plays
// both, so that a wrong setting is seen to end in another state.

import { afterEach, expect, test } from 'vitest';
import { closeApps } from '../support/app.ts';
import { cleanUp } from '../support/files.ts';
import { openCart, prestaShop, whmcs } from './carts.ts';
import type { Family } from './family.ts';
import { fossBilling, magento, medusa } from './others.ts';
import { families, type Mistake, type Outcome, type Play, playOrders } from './scenario.ts';
import { giveWp, wooCommerce382, wooCommerce391 } from './woocommerce.ts';

afterEach(closeApps);
afterEach(cleanUp);

const forAll: readonly Mistake[] = [
  'the secret is an old one',
  'the secret changes',
  'the URL is an old one',
];
const plays: readonly Play[] = [
  ...[...families, magento, fossBilling, medusa].flatMap((family) => [
    { family },
    ...forAll.map((mistake) => ({ family, mistake })),
  ]),
  { family: wooCommerce391, mistake: 'rbf=1 is sent' },
  { family: giveWp, mistake: 'rbf=1 is sent' },
  { family: openCart, mistake: 'rbf=1 is sent' },
  { family: medusa, mistake: 'rbf=1 is sent' },
  { family: wooCommerce382, mistake: 'stock is held for an hour' },
];

/** All orders of this file are played together, in the first test that runs. */
let played: Promise<Outcome[]> | undefined;

async function play(family: Family, mistake?: Mistake): Promise<Outcome | undefined> {
  played ??= playOrders(plays);
  const at = plays.findIndex((each) => each.family === family && each.mistake === mistake);
  return (await played)[at];
}

/** The alarms about a Callback URL that no store has, about answers, and about failed attempts. */
const unknownUrl = expect.stringContaining('Callback URL that store');
const answers = (words: string) => expect.stringContaining(`the answer says "${words}"`);
const receivedNone = expect.stringContaining('its shop has received none');

test('WooCommerce 3.9.1 holds a paid order at once, and processes it at status 2', async () => {
  expect(await play(wooCommerce391)).toEqual({
    checkout: 'pay',
    states: ['on-hold', 'on-hold', 'on-hold', 'processing'],
    reload: 'thanks',
    alarms: [],
  });
});

test('WooCommerce 3.9.1 cancels a paid order if rbf=1 is sent, and its page asks for money again', async () => {
  expect(await play(wooCommerce391, 'rbf=1 is sent')).toEqual({
    checkout: 'pay',
    states: ['pending', 'cancelled', 'cancelled', 'processing'],
    reload: 'pay',
    alarms: [],
  });
});

test('WooCommerce 3.9.1 with a wrong secret or URL: an alarm names the store', async () => {
  expect(await play(wooCommerce391, 'the secret is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(wooCommerce391, 'the URL is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(wooCommerce391, 'the secret changes')).toEqual({
    checkout: 'pay',
    states: ['pending', 'cancelled', 'cancelled', 'cancelled'],
    reload: 'pay',
    alarms: [answers('Error: secret does not match')],
  });
});

test('WooCommerce 3.8.2 leaves an order pending until status 2, and needs a day of Hold stock', async () => {
  expect(await play(wooCommerce382)).toEqual({
    checkout: 'pay',
    states: ['pending', 'pending', 'pending', 'processing'],
    reload: 'thanks',
    alarms: [],
  });
  expect(await play(wooCommerce382, 'stock is held for an hour')).toEqual({
    checkout: 'pay',
    states: ['pending', 'cancelled', 'cancelled', 'processing'],
    reload: 'thanks',
    alarms: [],
  });
});

test('WooCommerce 3.8.2 with a wrong secret or URL: an alarm names the store', async () => {
  expect(await play(wooCommerce382, 'the secret is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(wooCommerce382, 'the URL is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(wooCommerce382, 'the secret changes')).toEqual({
    checkout: 'pay',
    states: ['pending', 'pending', 'pending', 'pending'],
    reload: 'pay',
    alarms: [answers('Error: secret does not match')],
  });
});

test('GiveWP publishes a donation at status 2; its page asks for money again if rbf=1 is sent', async () => {
  expect(await play(giveWp)).toEqual({
    checkout: 'pay',
    states: ['pending', 'pending', 'pending', 'publish'],
    reload: 'thanks',
    alarms: [],
  });
  expect(await play(giveWp, 'rbf=1 is sent')).toEqual({
    checkout: 'pay',
    states: ['pending', 'pending', 'pending', 'publish'],
    reload: 'pay',
    alarms: [],
  });
});

test('GiveWP with a wrong secret or URL: an alarm names the store', async () => {
  expect(await play(giveWp, 'the secret is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(giveWp, 'the secret changes')).toEqual({
    checkout: 'pay',
    states: ['pending', 'pending', 'pending', 'pending'],
    reload: 'pay',
    alarms: [answers('Error: secret does not match')],
  });
  // It names its store by the secret alone, which the old URL has.
  expect(await play(giveWp, 'the URL is an old one')).toEqual({
    checkout: 'pay',
    states: ['pending', 'pending', 'pending', 'pending'],
    reload: 'pay',
    alarms: [receivedNone],
  });
});

test('OpenCart completes an order at status 2, with and without rbf=1', async () => {
  const paid = {
    checkout: 'pay',
    states: ['Pending', 'Pending', 'Pending', 'Complete'],
    reload: 'pay',
    alarms: [],
  };
  expect(await play(openCart)).toEqual(paid);
  expect(await play(openCart, 'rbf=1 is sent')).toEqual(paid);
});

test('OpenCart with a wrong secret or URL: an alarm names the store', async () => {
  expect(await play(openCart, 'the secret is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(openCart, 'the secret changes')).toEqual({
    checkout: 'pay',
    states: ['Pending', 'Pending', 'Pending', 'Pending'],
    reload: 'pay',
    alarms: [answers('Invalid secret')],
  });
  expect(await play(openCart, 'the URL is an old one')).toEqual({
    checkout: 'pay',
    states: ['Pending', 'Pending', 'Pending', 'Pending'],
    reload: 'pay',
    alarms: [receivedNone],
  });
});

test('WHMCS credits an invoice at status 2', async () => {
  expect(await play(whmcs)).toEqual({
    checkout: 'pay',
    states: ['Unpaid', 'Unpaid', 'Unpaid', 'Paid'],
    reload: 'wait',
    alarms: [],
  });
});

test('WHMCS with a wrong secret or URL: an alarm names the store', async () => {
  expect(await play(whmcs, 'the secret is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(whmcs, 'the URL is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(whmcs, 'the secret changes')).toEqual({
    checkout: 'pay',
    states: ['Unpaid', 'Unpaid', 'Unpaid', 'Unpaid'],
    reload: 'pay',
    alarms: [answers('Secret verification failure')],
  });
});

const awaiting = 'Awaiting Bitcoin Payment';

test('PrestaShop accepts a payment at status 2', async () => {
  expect(await play(prestaShop)).toEqual({
    checkout: 'pay',
    states: [awaiting, awaiting, awaiting, 'Payment accepted'],
    reload: 'thanks',
    alarms: [],
  });
});

test('PrestaShop with a wrong secret or URL: an alarm names the store', async () => {
  expect(await play(prestaShop, 'the secret is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(prestaShop, 'the secret changes')).toEqual({
    checkout: 'pay',
    states: [awaiting, awaiting, awaiting, awaiting],
    reload: 'pay',
    alarms: [answers('Secret not matching')],
  });
  expect(await play(prestaShop, 'the URL is an old one')).toEqual({
    checkout: 'pay',
    states: [awaiting, awaiting, awaiting, awaiting],
    reload: 'pay',
    alarms: [receivedNone],
  });
});

test('Magento processes an order at status 2; of a wrong secret it says AUTH ERROR', async () => {
  expect(await play(magento)).toEqual({
    checkout: 'pay',
    states: [...Array(3).fill('pending_bitcoin_confirmation'), 'processing'],
    reload: 'pay',
    alarms: [],
  });
  expect(await play(magento, 'the secret is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(magento, 'the secret changes')).toEqual({
    checkout: 'pay',
    states: ['pending', 'pending', 'pending', 'pending'],
    reload: 'pay',
    alarms: [answers('AUTH ERROR')],
  });
  expect(await play(magento, 'the URL is an old one')).toEqual({
    checkout: 'pay',
    states: ['pending', 'pending', 'pending', 'pending'],
    reload: 'pay',
    alarms: [receivedNone],
  });
});

test('FOSSBilling pays an invoice at status 2; its refusals are in JSON', async () => {
  expect(await play(fossBilling)).toEqual({
    checkout: 'pay',
    states: ['unpaid', 'unpaid', 'unpaid', 'paid'],
    reload: 'pay',
    alarms: [],
  });
  expect(await play(fossBilling, 'the secret is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(fossBilling, 'the URL is an old one')).toEqual({
    checkout: 1003,
    alarms: [unknownUrl],
  });
  expect(await play(fossBilling, 'the secret changes')).toEqual({
    checkout: 'pay',
    states: ['unpaid', 'unpaid', 'unpaid', 'unpaid'],
    reload: 'pay',
    alarms: [answers('secret mismatch')],
  });
});

test('Medusa places an order at once, and captures it at status 2; with rbf=1 it waits for a block', async () => {
  expect(await play(medusa)).toEqual({
    checkout: 'pay',
    states: ['placed', 'placed', 'placed', 'captured'],
    reload: 'thanks',
    alarms: [],
  });
  expect(await play(medusa, 'rbf=1 is sent')).toEqual({
    checkout: 'pay',
    states: ['cart', 'cart', 'placed', 'captured'],
    reload: 'pay',
    alarms: [],
  });
});

test('Medusa with a wrong secret is paid and never says so; a wrong URL raises an alarm', async () => {
  const unheard = { checkout: 'pay', states: ['cart', 'cart', 'cart', 'cart'], reload: 'pay' };
  expect(await play(medusa, 'the secret is an old one')).toEqual({ ...unheard, alarms: [] });
  expect(await play(medusa, 'the secret changes')).toEqual({ ...unheard, alarms: [] });
  expect(await play(medusa, 'the URL is an old one')).toEqual({
    ...unheard,
    alarms: [receivedNone],
  });
});
