// The doctor's HTTP requests: to the paygate on this machine, to the public URL, and to the host of
// each Callback URL and webhook URL. It sends no delivery and no query of such a URL. Each result
// names its request.

import type { TLSSocket } from 'node:tls';
import type { ProbeResult, Sender } from '../delivery/sender.ts';
import { type ListenAddress, localAddressOf } from '../domain/delivery/public-endpoint.ts';
import { plainText } from '../domain/text/format.ts';
import { dayMs } from '../lib/time-units.ts';
import type { Records } from '../store/open-records.ts';
import type { StoreRow } from '../store/wallets/catalog.ts';
import type { World } from '../world/world.ts';
import { type Check, type CheckResult, fail, ok, skip, warn } from './doctor-check.ts';

export interface WebChecksInput {
  readonly world: Pick<World, 'connect' | 'now'>;
  /** For requests to paygate itself. */
  readonly sender: Pick<Sender, 'probe'>;
  /** For requests to shops, with the target rules of callbacks. */
  readonly shopSender: Pick<Sender, 'probe'>;
  readonly listen: ListenAddress;
  /** Whether it serves HTTPS there, with a certificate for another name. */
  readonly https: boolean;
  readonly publicUrl: string | undefined;
  readonly network: string | undefined;
  readonly records: Pick<Records, 'catalog'> | undefined;
}

const expirySoonMs = 14 * dayMs;
/** The operator chose these URLs on the command line, so any target is allowed. */
const allowAny = { allowPrivateCallback: true, allowHttpCallback: true };

export function webChecks(input: WebChecksInput): Check[] {
  const stores = input.records?.catalog.stores() ?? [];
  return [
    { name: 'serve', run: (signal) => serveCheck(input, signal) },
    { name: 'public URL', run: (signal) => publicCheck(input, signal) },
    ...stores.flatMap((store) => shopChecks(input, 'callback', store, store.callbackUrl)),
    ...stores.flatMap((store) => shopChecks(input, 'webhook', store, store.webhookUrl ?? '')),
  ];
}

/** None for a store without such a URL: its money comes by links. */
const shopChecks = (
  input: WebChecksInput,
  name: string,
  store: StoreRow,
  url: string,
): readonly Check[] =>
  url === '' ? [] : [{ name, run: (signal) => shopCheck(input, store, url, signal) }];

async function serveCheck(input: WebChecksInput, signal: AbortSignal): Promise<CheckResult> {
  const { sender, listen, https } = input;
  if (https) return skip('it serves HTTPS, which the public URL and `paygate health` check');
  const url = `http://${localAddressOf(listen)}`;
  const asked = { ...allowAny, url, method: 'GET', path: '/readyz' } as const;
  const { httpStatus, reason, body } = await sender.probe(asked, signal);
  if (httpStatus === null) return skip(`no paygate runs at ${url} (${reason})`);
  const { ready, reasons } = Object(parsed(body)) as { ready?: unknown; reasons?: unknown };
  if (ready === true) return ok(`${url}/readyz is ready`);
  const reasonsText = Array.isArray(reasons)
    ? reasons.map(String).join('; ')
    : `the answer is ${httpStatus}`;
  return fail(`${url}/readyz: ${plainText(reasonsText, 500)}`);
}

/** Requests the public URL by its name. A firewall would show only from another network. */
async function publicCheck(input: WebChecksInput, signal: AbortSignal): Promise<CheckResult> {
  const { publicUrl, sender, network } = input;
  if (publicUrl === undefined)
    return skip('no public URL is set; customers and shops need one (--public-url, --domain)');
  const url = `${publicUrl}/healthz`;
  const asked = { ...allowAny, url, method: 'GET', path: '/healthz' } as const;
  const answer = await sender.probe(asked, signal);
  const fault = wrongServerFault(answer, network);
  if (fault !== undefined) return fail(`GET ${url}: ${fault}`);
  const text = `GET ${url} reached paygate at ${answer.address}`;
  if (publicUrl.startsWith('http:'))
    return warn(
      `${text}, without TLS: API keys can be read on the way; use --domain or a proxy with HTTPS`,
    );
  const expiry = await expiryOf(input, publicUrl, signal);
  return { state: expiry.state, text: `${text}, ${expiry.text}` };
}

/** Why the answer is not from our paygate; undefined if it is. */
function wrongServerFault(answer: ProbeResult, network: string | undefined): string | undefined {
  if (answer.httpStatus === null) return answer.reason ?? 'no answer';
  const report = Object(parsed(answer.body)) as Record<string, unknown>;
  if (answer.httpStatus !== 200 || typeof report.network !== 'string') {
    return `another program than paygate answers with ${answer.httpStatus}`;
  }
  return network === undefined || report.network === network
    ? undefined
    : 'a paygate of another network answers';
}

async function expiryOf(
  { world }: WebChecksInput,
  url: string,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const target = { host, port: Number(port || 443), tls: true };
  const { socket } = await world.connect(target, signal);
  const { valid_to: until } = (socket as TLSSocket).getPeerCertificate();
  socket.destroy();
  const leftMs = Date.parse(until) - world.now();
  const text = `its certificate ends in ${Math.floor(leftMs / dayMs)} days`;
  return leftMs < expirySoonMs ? warn(text) : ok(text);
}

async function shopCheck(
  { shopSender }: WebChecksInput,
  { id, allowPrivateCallback, allowHttpCallback, callbackCa }: StoreRow,
  url: string,
  signal: AbortSignal,
): Promise<CheckResult> {
  const allowed = { allowPrivateCallback, allowHttpCallback, ca: callbackCa ?? undefined };
  const asked = { ...allowed, url, method: 'HEAD', path: '/' } as const;
  const { httpStatus, reason, address } = await shopSender.probe(asked, signal);
  const what = `store ${id}: HEAD ${new URL(url).origin}/`;
  return httpStatus === null
    ? fail(`${what}: ${reason}`)
    : ok(`${what} was answered with ${httpStatus} by ${address}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
