// Checks every request to a shop on arrival. It has a valid signature, an existing transaction, and
// the value that this pays. The signature is computed as in docs/callbacks.md, without paygate's
// code.

import { createHmac } from 'node:crypto';
import { addressToScript } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { neededFor, type Terms } from './recount.ts';
import { isClockWrong, type Run } from './run.ts';

/** What was on its way when a shop changed its mind comes a little later. */
export const onTheWayMs = 30_000;

/** @returns what is wrong with it, in words */
export function faultsOfRequest(
  run: Run,
  url: string,
  headers: ReceivedRequest['headers'],
): string[] {
  const [path = '', query = ''] = url.split('?');
  const shop = run.shops.find(({ name }) => path.split('/')[1] === name);
  if (shop === undefined) return [`sent to no shop: ${url}`];
  const since = run.world.monotonic() - onTheWayMs;
  const before = shop.past.filter(({ endedAt }) => endedAt >= since);
  const terms = [shop.terms, ...before];
  const asked = new URLSearchParams(query);
  const faults = [
    ...(terms.some((each) => each.path === path) ? [] : ['sent to where the shop was before']),
    ...((shop.stoppedAt ?? since) < since ? ['sent to a shop that is told nothing'] : []),
    ...(isGenuine(run, terms, query, headers) ? [] : ['not signed by its secret']),
    ...(isValueRight(run, asked) ? [] : ['of another value']),
    ...(isTrue(run, asked) ? [] : ['never so deep']),
  ];
  return faults.map((fault) => `${fault}: ${url}`);
}

/** Whoever has the secret, or the one before it while that signs too, can verify it. */
function isGenuine(
  run: Run,
  terms: readonly Terms[],
  query: string,
  headers: ReceivedRequest['headers'],
): boolean {
  const given = headers['webhook-signature'];
  if (given === undefined) return isClockWrong(run);
  const timestamp = Number(headers['webhook-timestamp']);
  const signed = `${headers['webhook-id']}.${timestamp}.${query}`;
  const isBy = (secret: string): boolean => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const mac = createHmac('sha256', key).update(signed).digest('base64');
    return given.split(' ').includes(`v1,${mac}`);
  };
  return terms.some(({ secret, older }) => {
    const isOlderKept = older !== undefined && timestamp * 1_000 + onTheWayMs < older.until;
    return isBy(secret) && (!isOlderKept || isBy(older.secret));
  });
}

/** Nothing is told as confirmed that no block had, nor as final what never was as deep as the shop asks. */
function isTrue(run: Run, query: URLSearchParams): boolean {
  const status = Number(query.get('status'));
  const txid = query.get('txid') ?? '';
  const depth = run.deepest.get(txid) ?? 0;
  if (status < 1) return true;
  if (status === 1) return depth >= 1;
  const wasFinal = [...run.mayBeFinal].some((each) => each.startsWith(`${txid} `));
  const given = run.given.find(({ address }) => address === query.get('addr'));
  const isCoinbase = run.known.get(txid)?.coinbase ?? false;
  const needed = given ? neededFor(given, Number(query.get('value')), isCoinbase) : 1;
  return wasFinal || depth >= needed;
}

function isValueRight({ known }: Run, query: URLSearchParams): boolean {
  const script = addressToScript(query.get('addr') ?? '', networks.regtest);
  const outputs = known.get(query.get('txid') ?? '')?.outputs ?? [];
  const paid = outputs.filter((output) => Buffer.compare(output.script, script) === 0);
  const valueSat = paid.reduce((sum, each) => sum + each.valueSat, 0);
  return valueSat > 0 && query.get('value') === String(valueSat);
}
