// Finds the address that a stranger names, if customers can have it.

import { addressToScript, scripthash } from '../../bitcoin/address.ts';
import { type NetworkName, networks } from '../../bitcoin/network.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { AddressPlace } from './address-row.ts';
import type { Addresses } from './addresses.ts';

/** @throws PaygateError not_found for an address that was not issued */
export function issuedAddress(
  { addresses, network }: { readonly addresses: Addresses; readonly network: NetworkName },
  text: string,
): AddressPlace {
  const script = addressToScript(text, networks[network]);
  const row = addresses.byScripthash(scripthash(script));
  if (row?.origin === 'issued' || row?.origin === 'skipped') return row;
  throw new PaygateError('not_found', 'This address was not issued here');
}
