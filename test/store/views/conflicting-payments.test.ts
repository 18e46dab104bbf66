// What replaced a payment, where it pays another of our addresses: whichever of the two was seen,
// or found to be gone, first.

import { afterEach, expect, it } from 'vitest';
import type { Txid } from '../../../src/bitcoin/ids.ts';
import type { IssuedAddress } from '../../../src/store/records/address-row.ts';
import type { SeenPayment } from '../../../src/store/records/observation.ts';
import { cleanUp } from '../../support/files.ts';
import { openShop, type Shop } from '../../support/ledger.ts';

afterEach(cleanUp);

const output = { valueSat: 5_000, signalsRbf: true, coinbase: false };

const see = (shop: Shop, issued: IssuedAddress, txid: Txid, block: SeenPayment['block'] = null) => {
  const raw = shop.chain.transaction(txid)?.raw ?? new Uint8Array();
  return shop.observe(issued, { seen: [{ txid, block, output, raw }], gone: [] });
};

const drop = (shop: Shop, issued: IssuedAddress, txid: Txid) =>
  shop.observe(issued, { seen: [], gone: [{ txid, replacedBy: null }] });

const replacedBy = (shop: Shop, issued: IssuedAddress) =>
  shop.payments(issued).map((payment) => payment.replacedBy);

/**
 * Two addresses, of two stores; a payment to the first one, and its replacement, which pays the
 * second.
 */
async function replaced() {
  const shop = await openShop();
  await shop.addStore({ name: 'Second' });
  const [first, second] = [await shop.issue(), await shop.issue(1, 2)];
  const old = shop.chain.pay([{ address: first.address, valueSat: 5_000 }]);
  await see(shop, first, old);
  const fresh = shop.chain.replace(old, [{ address: second.address, valueSat: 5_000 }]);
  return { shop, first, second, old, fresh };
}

it('P-111 is named once the payment is gone, if it was seen before', async () => {
  const { shop, first, second, old, fresh } = await replaced();
  await see(shop, second, fresh);
  await drop(shop, first, old);
  expect(replacedBy(shop, first)).toEqual([fresh]);
  expect(replacedBy(shop, second)).toEqual([null]);
});

it('P-111 is named once it is seen, if the payment was gone before', async () => {
  const { shop, first, second, old, fresh } = await replaced();
  await drop(shop, first, old);
  expect(replacedBy(shop, first)).toEqual([null]);
  await see(shop, second, fresh);
  expect(replacedBy(shop, first)).toEqual([fresh]);
});

it('P-111 is named of each address that the payment paid', async () => {
  const shop = await openShop();
  const [first, second, third] = [await shop.issue(), await shop.issue(), await shop.issue()];
  const to = [first, second].map(({ address }) => ({ address, valueSat: 5_000 }));
  const old = shop.chain.pay(to);
  await see(shop, first, old);
  await see(shop, second, old);
  const fresh = shop.chain.replace(old, [{ address: third.address, valueSat: 5_000 }]);
  await drop(shop, first, old);
  await see(shop, third, fresh);
  await drop(shop, second, old);
  expect([replacedBy(shop, first), replacedBy(shop, second)]).toEqual([[fresh], [fresh]]);
});

it('is exchanged when a block confirms the replaced payment', async () => {
  const { shop, first, second, old, fresh } = await replaced();
  await see(shop, second, fresh);
  await drop(shop, first, old);
  await drop(shop, second, fresh);
  await see(shop, first, old);
  expect([replacedBy(shop, first), replacedBy(shop, second)]).toEqual([[null], [old]]);
});

it('is not a payment that spends other inputs', async () => {
  const { shop, first, second, old } = await replaced();
  const another = shop.chain.pay([{ address: second.address, valueSat: 5_000 }]);
  await see(shop, second, another);
  await drop(shop, first, old);
  expect(replacedBy(shop, first)).toEqual([null]);
});
