// What every request to a shop must be, looked at as it comes: signed by what the shop has, telling of a transaction
// that there is, and of what that pays. The signature is made anew as docs/callbacks.md says, by no code of paygate.

import { createHmac } from 'node:crypto';
import { addressToScript } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import type { Shop } from './recount.ts';
import { isClockWrong, type Run } from './run.ts';

/** @returns what is wrong with it, in words */
export function faultsOfRequest(
  run: Run,
  url: string,
  headers: ReceivedRequest['headers'],
): string[] {
  const [path = '', query = ''] = url.split('?');
  const shop = run.shops.find(({ name }) => path === `/${name}`);
  if (shop === undefined) return [`sent to no shop: ${url}`];
  const faults = [
    ...(isGenuine(run, shop, query, headers) ? [] : ['not signed by its secret']),
    ...(isValueRight(run, new URLSearchParams(query)) ? [] : ['of another value']),
  ];
  return faults.map((fault) => `${fault}: ${url}`);
}

function isGenuine(
  run: Run,
  { secret }: Shop,
  query: string,
  headers: ReceivedRequest['headers'],
): boolean {
  const given = headers['webhook-signature'];
  if (given === undefined) return isClockWrong(run);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${query}`;
  const mac = createHmac('sha256', key).update(signed).digest('base64');
  return given.split(' ').includes(`v1,${mac}`);
}

function isValueRight({ known }: Run, query: URLSearchParams): boolean {
  const script = addressToScript(query.get('addr') ?? '', networks.regtest);
  const outputs = known.get(query.get('txid') ?? '')?.outputs ?? [];
  const paid = outputs.filter((output) => Buffer.compare(output.script, script) === 0);
  const valueSat = paid.reduce((sum, each) => sum + each.valueSat, 0);
  return valueSat > 0 && query.get('value') === String(valueSat);
}
