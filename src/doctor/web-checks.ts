// What the doctor asks by HTTP: the paygate that runs here, the public URL as shops reach it, and the host
// of each Callback URL. No callback is sent and no query of a store leaves: what is asked is said.

import type { TLSSocket } from 'node:tls';
import type { ProbeResult, Sender } from '../delivery/sender.ts';
import { plainText } from '../domain/format.ts';
import { type ListenAddress, localAddressOf } from '../domain/public-endpoint.ts';
import { dayMs } from '../lib/time-units.ts';
import type { Store } from '../store/open-store.ts';
import type { StoreRow } from '../store/records/catalog.ts';
import type { World } from '../world/world.ts';
import { type Check, type CheckResult, fail, ok, skip, warn } from './doctor-check.ts';

export interface WebParts {
  readonly world: Pick<World, 'connect' | 'now'>;
  /** Asks paygate itself. */
  readonly sender: Pick<Sender, 'probe'>;
  /** Asks shops, and goes nowhere where callbacks do not go. */
  readonly shopSender: Pick<Sender, 'probe'>;
  readonly listen: ListenAddress;
  /** It speaks HTTPS there, under a name that is not asked for here. */
  readonly https: boolean;
  readonly publicUrl: string | undefined;
  readonly network: string | undefined;
  readonly store: Pick<Store, 'catalog'> | undefined;
}

const expirySoonMs = 14 * dayMs;
/** The operator's own word, given on the command line. */
const anywhere = { allowPrivateCallback: true, allowHttpCallback: true };

export function webChecks(parts: WebParts): Check[] {
  const stores = parts.store?.catalog.stores() ?? [];
  return [
    { name: 'serve', run: (signal) => serveCheck(parts, signal) },
    { name: 'public URL', run: (signal) => publicCheck(parts, signal) },
    ...stores.map((store) => ({
      name: 'callback',
      run: (signal: AbortSignal) => callbackCheck(parts, store, signal),
    })),
  ];
}

async function serveCheck(parts: WebParts, signal: AbortSignal): Promise<CheckResult> {
  const { sender, listen, https } = parts;
  if (https) return skip('it speaks HTTPS: asked by the public URL, or by paygate health');
  const url = `http://${localAddressOf(listen)}`;
  const asked = { ...anywhere, url, method: 'GET', path: '/readyz' } as const;
  const { httpStatus, reason, body } = await sender.probe(asked, signal);
  if (httpStatus === null) return skip(`no paygate runs at ${url} (${reason})`);
  const { ready, reasons } = Object(parsed(body)) as { ready?: unknown; reasons?: unknown };
  if (ready === true) return ok(`${url}/readyz says ready`);
  const told = Array.isArray(reasons) ? reasons.map(String).join('; ') : `it answers ${httpStatus}`;
  return fail(`${url}/readyz: ${plainText(told, 500)}`);
}

/** By its name, as everybody comes: only from another network would a firewall be seen. */
async function publicCheck(parts: WebParts, signal: AbortSignal): Promise<CheckResult> {
  const { publicUrl, sender, network } = parts;
  if (publicUrl === undefined) return skip('none is set; shops need one (--public-url, --domain)');
  const { protocol, pathname } = new URL(publicUrl);
  const path = `${pathname.replace(/\/$/, '')}/healthz`;
  const url = `${new URL(publicUrl).origin}${path}`;
  const asked = { ...anywhere, url, method: 'GET', path } as const;
  const answer = await sender.probe(asked, signal);
  const fault = strangerFault(answer, network);
  if (fault !== undefined) return fail(`GET ${url}: ${fault}`);
  const text = `GET ${url} reached paygate at ${answer.address}`;
  if (protocol === 'http:') return warn(`${text}, without TLS: anybody on the way reads API keys`);
  const expiry = await expiryOf(parts, publicUrl, signal);
  return { state: expiry.state, text: `${text}, ${expiry.text}` };
}

/** Why it is not our paygate that answered; undefined when it is. */
function strangerFault(answer: ProbeResult, network: string | undefined): string | undefined {
  if (answer.httpStatus === null) return answer.reason ?? 'no answer';
  const report = Object(parsed(answer.body)) as Record<string, unknown>;
  if (answer.httpStatus !== 200 || typeof report.network !== 'string') {
    return `something else than paygate answers ${answer.httpStatus}`;
  }
  return network === undefined || report.network === network
    ? undefined
    : 'a paygate of another network answers';
}

async function expiryOf(
  { world }: WebParts,
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

async function callbackCheck(
  { shopSender }: WebParts,
  store: StoreRow,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { id, callbackUrl, allowPrivateCallback, allowHttpCallback } = store;
  if (callbackUrl === '') return skip(`store ${id} has no Callback URL`);
  const allowed = { allowPrivateCallback, allowHttpCallback, ca: store.callbackCa ?? undefined };
  const asked = { ...allowed, url: callbackUrl, method: 'HEAD', path: '/' } as const;
  const { httpStatus, reason, address } = await shopSender.probe(asked, signal);
  const what = `store ${id}: HEAD ${new URL(callbackUrl).origin}/`;
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
