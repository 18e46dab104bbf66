// Finds the address that a stranger names, if customers can have it.

import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import { networks } from '../../bitcoin/network.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { Store } from '../open-store.ts';
import type { AddressPlace } from './address-row.ts';

/** @throws PaygateError not_found for an address that was not issued */
export function issuedAddress(
  { addresses, network }: Pick<Store, 'addresses' | 'network'>,
  text: string,
): AddressPlace {
  const script = addressToScript(text, networks[network]);
  const row = addresses.byScripthash(scripthash(script));
  if (row?.origin === 'issued' || row?.origin === 'skipped') return row;
  throw new PaygateError('not_found', 'This address was not issued here');
}
