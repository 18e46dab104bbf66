// Checks every request to a shop on arrival: it has a valid signature, an existing transaction, and
// the value that this transaction pays. The signature is computed as in docs/callbacks.md, without
// paygate's code.

import { createHmac } from 'node:crypto';
import { addressToScript } from '../../src/bitcoin/address.ts';
import { networks } from '../../src/bitcoin/network.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { orderSatOf } from './invariants.ts';
import { type CallbackSettings, neededFor, type Shop } from './recount.ts';
import { mayLookWrong, noticedMs, type Run } from './run.ts';

/** How long a request in flight may arrive after a change of the shop's settings. */
export const maxInFlightMs = 30_000;

/** @returns descriptions of the faults of a request */
export function faultsOfRequest(
  run: Run,
  url: string,
  headers: ReceivedRequest['headers'],
): string[] {
  const [path = '', query = ''] = url.split('?');
  const shop = run.shops.find(({ name }) => path.split('/')[1] === name);
  if (shop === undefined) return [`sent to no shop: ${url}`];
  const settings = settingsOf(run, shop);
  const sent = new URLSearchParams(query);
  const faults = [
    ...(settings.some((each) => each.path === path) ? [] : ['sent to a previous URL']),
    ...(isStopped(run, shop) ? ['sent to a shop whose callbacks are stopped'] : []),
    ...(isGenuine(run, settings, query, headers) ? [] : ['not signed by its secret']),
    ...(isValueRight(run, sent) ? [] : ['wrong value']),
    ...(isStatusRight(run, sent) ? [] : ['never had the confirmations of its status']),
  ];
  return faults.map((fault) => `${fault}: ${url}`);
}

/** The settings that a request may have, with those before a change. */
export function settingsOf({ world }: Run, shop: Shop): CallbackSettings[] {
  const since = world.monotonic() - maxInFlightMs;
  return [shop.settings, ...shop.pastSettings.filter(({ endedAt }) => endedAt >= since)];
}

/** Whether a shop was stopped before every request that can be in flight. */
export const isStopped = ({ world }: Run, { stoppedAt }: Shop): boolean =>
  stoppedAt !== undefined && stoppedAt < world.monotonic() - maxInFlightMs;

/** Both the secret and, while it is valid, the previous secret can verify the request. */
export function isGenuine(
  run: Run,
  settings: readonly CallbackSettings[],
  content: string,
  headers: ReceivedRequest['headers'],
): boolean {
  const signatures = headers['webhook-signature'];
  if (signatures === undefined) return mayLookWrong(run);
  const timestamp = Number(headers['webhook-timestamp']);
  if (isNoticed(run) && Math.abs(timestamp * 1_000 - run.world.trueNow()) > noticedMs) return false;
  const signed = `${headers['webhook-id']}.${timestamp}.${content}`;
  const isBy = (secret: string): boolean => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const mac = createHmac('sha256', key).update(signed).digest('base64');
    return signatures.split(' ').includes(`v1,${mac}`);
  };
  return settings.some(({ secret, older }) => {
    const isOlderValid = older !== undefined && timestamp * 1_000 + maxInFlightMs < older.until;
    return isBy(secret) && (!isOlderValid || isBy(older.secret));
  });
}

/** Whether paygate has had the time and the server to notice a wrong clock. */
const isNoticed = ({ clockWrongSince, step, activeFaults, app }: Run): boolean =>
  clockWrongSince !== undefined &&
  clockWrongSince < step - 1 &&
  // The wrong clock is one of the faults.
  activeFaults.length <= 1 &&
  app.running.health().electrum.caught_up;

/** Status 1 needs a confirmation at some time; status 2 needs as many as the shop requires. */
function isStatusRight(run: Run, query: URLSearchParams): boolean {
  const status = Number(query.get('status'));
  const txid = query.get('txid') ?? '';
  const depth = run.deepest.get(txid) ?? 0;
  if (status < 1) return true;
  if (status === 1) return depth >= 1;
  const wasFinal = [...run.mayBeFinal].some((each) => each.startsWith(`${txid} `));
  const issued = run.issued.find(({ address }) => address === query.get('addr'));
  const isCoinbase = run.known.get(txid)?.coinbase ?? false;
  const valueSat = Math.max(Number(query.get('value')), orderSatOf(run, query.get('addr') ?? ''));
  const needed = issued ? neededFor(issued, valueSat, isCoinbase) : 1;
  return wasFinal || depth >= needed;
}

function isValueRight({ known }: Run, query: URLSearchParams): boolean {
  const script = addressToScript(query.get('addr') ?? '', networks.regtest);
  const outputs = known.get(query.get('txid') ?? '')?.outputs ?? [];
  const paid = outputs.filter((output) => Buffer.compare(output.script, script) === 0);
  const valueSat = paid.reduce((sum, each) => sum + each.valueSat, 0);
  return valueSat > 0 && query.get('value') === String(valueSat);
}
