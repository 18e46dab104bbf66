// What is wrong at this moment. Each finding has a code that never changes. `/healthz` shows the
// text to people and to their monitoring; the dashboard adds since when, and what to do. This file
// detects nothing by itself and stores nothing (finding-history.ts).

import type { ChannelStatus } from '../delivery/dispatchers.ts';
import { doubtAdvice, formatDoubt } from '../domain/delivery/callback-answer.ts';
import { offlineText, requestAdvice } from '../domain/payment/server-record.ts';
import { formatUnknownCallbackUrl, stillUnknown } from '../domain/store/unknown-callback-url.ts';
import { formatCount, formatTime, verbOf } from '../domain/text/format.ts';
import type { ServerStatus } from '../electrum/pool.ts';
import { dayMs, minuteMs } from '../lib/time-units.ts';
import type { MissingPrice } from '../price/price-watch.ts';
import { maxCounted } from '../store/delivery/delivery-counts.ts';
import { hasReceivers } from '../store/delivery/receivers.ts';
import type { Records } from '../store/open-records.ts';
import type { Watcher, WatcherStatus } from '../watcher/watcher.ts';
import type { FindingCode } from './finding-severity.ts';

export interface Finding {
  readonly code: FindingCode;
  /** The server, wallet or store that it concerns, for codes that may occur several times. */
  readonly subject?: string;
  /** The store whose deliveries it concerns. */
  readonly storeId?: number;
  /** The deliveries are events for a webhook, not callbacks. */
  readonly isWebhook?: true;
  /** Its start, if the database has it, in epoch milliseconds. */
  readonly since?: number | undefined;
  readonly fact: string;
  /** What to do, for readers outside of the dashboard; it is appended to the fact. */
  readonly hint?: string;
  /** What to do, when the code alone does not say it; it is appended to the hint. */
  readonly advice?: string;
}

/** Findings of another module, as texts if the code has no subjects. */
export interface FindingSource {
  readonly code: FindingCode;
  readonly warnings: () => readonly (
    | string
    | Pick<Finding, 'subject' | 'since' | 'fact' | 'hint' | 'storeId'>
  )[];
}

export interface FindingParts {
  readonly records: Records;
  readonly watcher: Watcher;
  readonly hasRoom: () => boolean;
  /** Why the disk refuses writes; undefined while it takes them. */
  readonly refused: () => string | undefined;
  readonly sources: readonly FindingSource[];
  readonly channels: readonly ChannelStatus[];
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** How long a reversed payment is reported. */
export const reversedShownMs = 7 * dayMs;
/** How long the finding of a copy lasts, unless a person dismisses it before. */
const copyShownMs = 30 * dayMs;
/** How long a payment that belongs to no store is reported. */
const unclaimedShownMs = 30 * dayMs;

/** A shop that fails for less time, or fewer attempts, may only be restarting. */
const minRefusedMs = 15 * minuteMs;
const minRefusedAttempts = 5;

/** A number of callbacks as text; counting stops at the maximum. */
export const countText = (count: number): string =>
  count < maxCounted ? String(count) : `${maxCounted} or more`;

export const textOf = ({ fact, hint = '', advice }: Finding): string =>
  fact + hint + (advice === undefined ? '' : `; ${advice}`);

/** The findings of this moment, in the order in which they are shown. */
export function currentFindings(parts: FindingParts, status: WatcherStatus): Finding[] {
  const { records, hasRoom, now } = parts;
  const refused = parts.refused();
  const copy = records.state.copied.read();
  return [
    ...(copy.text === '' || now() - copy.at > copyShownMs
      ? []
      : [{ code: 'restored-database' as const, since: copy.at, fact: copy.text }]),
    ...(hasRoom()
      ? []
      : [
          {
            code: 'disk-low' as const,
            fact: 'the disk is almost full',
            hint: ': no address is issued until there is room',
          },
        ]),
    ...(refused === undefined ? [] : [{ ...refusal, fact: refused }]),
    // While writes fail, a failed request is no fault of a server.
    ...serverFindings(
      refused === undefined ? status : { ...status, failures: [], refusedSubscriptions: undefined },
    ),
    ...scanFindings(records, status),
    ...paymentFindings(parts),
    ...parts.channels.flatMap(exhaustedFindings),
    ...parts.channels.flatMap((channel) => refusalFindings(channel, now())),
    ...unknownUrlFindings(parts),
    ...doubtFindings(parts.records),
    ...foreignFindings(records, status),
    ...parts.sources.flatMap(({ code, warnings }) =>
      warnings().map((found) => ({
        code,
        ...(typeof found === 'string' ? { fact: found } : found),
      })),
    ),
  ];
}

const refusal = {
  code: 'disk-refuses',
  hint: ': no address is issued, and nothing new is recorded or sent, until it takes writes again',
} as const;

function serverFindings(status: WatcherStatus): Finding[] {
  const { servers, server, caughtUp, catchUpFault, holdReasons } = status;
  const found: Finding[] = [];
  if (server === undefined) {
    found.push({ code: 'no-server', fact: disconnected(servers, catchUpFault), hint: otherServer });
  } else {
    if (!caughtUp) {
      const fact = 'catching up with the Electrum server';
      const hint =
        catchUpFault === undefined
          ? ''
          : `; the last attempt failed: ${catchUpFault}${otherServer}`;
      found.push({ code: 'catching-up', fact, hint });
    }
    found.push(...trustFindings(servers, server));
  }
  found.push(...servers.flatMap(findingsOf));
  for (const { server, text } of holdReasons) {
    const fact = `no payment is promoted to 2, ${server}: ${text}`;
    // The text names a depth that grows with each block, but the finding stays the same.
    found.push({ code: 'promotion-held', subject: server, fact, hint: holdAdvice });
  }
  return [...found, ...stuckFindings(status)];
}

/** Requests that a server refuses or does not answer. */
function stuckFindings({ failures, refusedSubscriptions }: WatcherStatus): Finding[] {
  const found = failures.map(({ server, request, scripts, unshown, reason }): Finding => {
    const named =
      unshown === 0
        ? ''
        : ` (${unshown} of them have a transaction that no server shows or proves)`;
    return {
      code: 'addresses-stuck',
      subject: `${server} ${request}`,
      fact:
        `${server}: ${formatCount(scripts, 'address', 'addresses')} could not be processed${named}; each is retried at least every ten ` +
        `minutes: ${reason}`,
      advice: requestAdvice(request),
    };
  });
  if (refusedSubscriptions === undefined) return found;
  const { server, scripts, reason } = refusedSubscriptions;
  const addresses = formatCount(scripts, 'address', 'addresses');
  const fact = `${server}: ${addresses} could not be subscribed and ${verbOf(scripts, 'is', 'are')} queried once a minute: ${reason}`;
  const subject = `${server} subscriptions`;
  return [...found, { code: 'addresses-stuck', subject, fact, advice: requestAdvice(undefined) }];
}

/** A transaction that a history names, but no server shows or proves: it gets no callback. */
export function unshownIn({ failures }: Pick<WatcherStatus, 'failures'>): string | undefined {
  const found = failures.find(({ unshown }) => unshown > 0);
  return found && `${found.server}: ${found.reason}`;
}

const otherServer = '; repair it, or name another server with --electrum';

function scanFindings({ catalog }: Records, { walletFault: scanFault }: WatcherStatus): Finding[] {
  const scanning = catalog.wallets().filter(({ scannedAt }) => scannedAt === null).length;
  if (scanning === 0) return [];
  const fact = `no address is issued yet for ${formatCount(scanning, 'wallet')}: a scan of the chain comes first`;
  const hint = scanFault === undefined ? '' : `; the last attempt failed: ${scanFault}`;
  return [{ code: 'wallet-scan', fact, hint }];
}

/** What `no-price` says of each currency. */
export const priceWarnings = (missing: readonly MissingPrice[]) =>
  missing.map(({ currency, reason }) => ({
    subject: currency,
    fact: `there is no price in ${currency}, so orders in ${currency} are refused: ${reason}`,
    hint: '; start serve with another source (--price-source), or ask for satoshis',
  }));

const holdAdvice =
  '; see which chain is right (your own node, an explorer) and take a server that is wrong off --electrum; ' +
  '`paygate servers follow` accepts a deep branch';

/** Whether a second server checks the server in use. */
function trustFindings(servers: readonly ServerStatus[], server: string): Finding[] {
  const code = 'reduced-trust';
  const sound = servers.filter(({ state, doubt }) => state === 'live' && doubt === undefined);
  const doubt = servers.find(({ label }) => label === server)?.doubt;
  if (doubt !== undefined) {
    const fact = `trust is reduced: ${server} is in use because no better server is connected, but ${doubt}`;
    return [{ code, fact }];
  }
  if (servers.length < 2 || sound.length > 1) return [];
  const others = servers.filter(({ label }) => label !== server);
  const hint = others.some(({ lastError }) => lastError) ? `; ${faults(others)}` : '';
  const fact = 'only one Electrum server is in use: no second server detects what it omits';
  return [{ code, fact, hint }];
}

function findingsOf({ label, doubt, ban, refused, lastError }: ServerStatus): Finding[] {
  const found: Finding[] = [];
  if (doubt !== undefined) {
    found.push({ code: 'server-doubt', subject: label, fact: `${label} is in doubt: ${doubt}` });
  }
  if (ban !== undefined) {
    const until = new Date(ban.until).toISOString();
    const fact = `${label} lied and is banned until ${until}: ${ban.reason}`;
    found.push({ code: 'server-banned', subject: label, fact });
  }
  if (refused !== undefined) {
    const fact = `${label} is refused: ${lastError}`;
    const hint =
      refused.shown === undefined
        ? '; if that is right, name the new one in --electrum'
        : `; if that is right, accept it with \`paygate servers accept ${label} ${refused.shown}\``;
    found.push({ code: 'changed-certificate', subject: label, fact, hint });
  }
  return found;
}

function paymentFindings({ records, now }: FindingParts): Finding[] {
  const { paymentCounts } = records;
  const reversed = paymentCounts.reversals(now() - reversedShownMs);
  /** @param text fact and hint, with a shop that received a status or without one */
  const some = (
    code: FindingCode,
    { count, firstAt: since }: typeof reversed,
    text: (hasShop: boolean) => readonly [fact: string, hint: string],
  ): Finding[] => {
    if (count === 0) return [];
    const [fact, hint] = text(hasReceivers(records));
    return [{ code, since, fact: `${formatCount(count, 'payment')} ${fact}`, hint }];
  };
  const after = (hasShop: boolean) => `after ${hasShop ? 'the shop received ' : ''}status 1 or 2`;
  return [
    ...some('reversed-payment', reversed, (hasShop) => [
      `${verbOf(reversed.count, 'was', 'were')} reversed in the last 7 days ${after(hasShop)}`,
      '; hold back the goods of those orders, or ask those customers to pay again',
    ]),
    ...some('fallen-payment', paymentCounts.fallen(), (hasShop) => [
      `fell out of the chain ${after(hasShop)}: the chain was reorganised`,
      `; ${hasShop ? 'the shop received 0: ' : ''}deliver nothing for them until they have status 2 again`,
    ]),
    ...some('unclaimed-payment', paymentCounts.unclaimed(now() - unclaimedShownMs), (hasShop) => [
      'of the last 30 days came to addresses that several stores may have issued before this ' +
        `database was restored: no ${hasShop ? 'shop receives a callback for them' : 'store counts them'}`,
      `; find their orders by the address${hasShop ? ' in each shop' : ''}, or ask the customers`,
    ]),
  ];
}

/** Marks a finding of a channel. Both channels may have the same code and store. */
const marksOf = ({ noun }: ChannelStatus, subject?: string) =>
  noun === 'callback'
    ? { ...(subject !== undefined && { subject }) }
    : { subject: ['webhook', subject ?? []].flat().join(' '), isWebhook: true as const };

/** The commands of a channel. */
const commandOf = ({ noun }: ChannelStatus): string =>
  noun === 'callback' ? 'callbacks' : 'events';

function exhaustedFindings(channel: ChannelStatus): Finding[] {
  const { noun, queue } = channel;
  const { exhausted } = queue.counts();
  if (exhausted === 0) return [];
  const fact = `${countText(exhausted)} ${verbOf(exhausted, `${noun} failed and is`, `${noun}s failed and are`)} no longer retried`;
  const since = queue.exhaustedSince();
  const hint =
    `; repair the shop, verify it with a test ${noun}, then resend them: ` +
    `\`paygate ${commandOf(channel)} resend-failed --store ID\``;
  return [{ code: 'exhausted-callbacks', ...marksOf(channel), since, fact, hint }];
}

/** Reachable shops that refuse deliveries: plugin removed, login wall, expired certificate. */
const refusalFindings = (channel: ChannelStatus, now: number): Finding[] =>
  channel.queue
    .failingShops()
    .filter(({ since, attempts, url }) => {
      const isLong = attempts >= minRefusedAttempts && now - since >= minRefusedMs;
      // An unreachable host has its own finding, `shop-unreachable`.
      return isLong && !channel.dispatcher.isDown(url);
    })
    .map(({ storeId, webhookId, name, since, attempts, reason }) => ({
      code: 'shop-refuses',
      ...marksOf(channel, ['store', storeId, webhookId ?? []].flat().join(' ')),
      storeId,
      since,
      fact:
        `store ${storeId} ${JSON.stringify(name)}: its ${webhookId === null ? 'shop' : `webhook ${webhookId}`} has received none of the last ${attempts} ${channel.noun} attempts ` +
        `since ${formatTime(since)} (${reason})`,
      hint:
        `; repair the shop, verify it with a test ${channel.noun}, then resend what waits: ` +
        `\`paygate ${commandOf(channel)} resend-failed --store ${storeId}\``,
    }));

/** Shops whose customers get no address, because no store has their Callback URL. */
const unknownUrlFindings = ({ records: { catalog, state }, now }: FindingParts): Finding[] => {
  const recorded = state.unmatched.read();
  const unknown = recorded.length === 0 ? [] : stillUnknown(recorded, catalog.choices(), now());
  return unknown.map(({ wish, storeId, since, count }) => ({
    code: 'unknown-callback-url',
    subject: formatUnknownCallbackUrl(wish),
    since,
    fact:
      `an address was requested ${formatCount(count, 'time')} with a Callback URL that ` +
      `${storeId === null ? 'no store has' : `store ${storeId}, whose key it was, does not have`}: ${formatUnknownCallbackUrl(wish)}`,
    hint:
      `, since ${formatTime(since)}; the shop received none. ` +
      "Set the store's Callback URL to the one that the shop shows, secret included: " +
      `\`paygate store set ${storeId ?? 'ID'} --callback-url URL\``,
  }));
};

/** Shops that answer 200 although they did not accept the callback. */
const doubtFindings = ({ outbox }: Records): Finding[] =>
  outbox.doubtfulAnswers().map(({ storeId, name, since, answers, says }) => ({
    code: 'shop-doubtful',
    subject: `store ${storeId}`,
    storeId,
    since,
    fact:
      `store ${storeId} ${JSON.stringify(name)}: its shop answered 200, but the answer ${formatDoubt(says)} ` +
      `(${formatCount(answers, 'doubtful answer')}); such orders may stay unpaid`,
    hint: `, since ${formatTime(since)}; ${doubtAdvice(says)}, then resend them: \`paygate callbacks resend-failed --store ${storeId} --doubtful\``,
  }));

/** Another program issues addresses of the same key, or a server claims so. */
const foreignFindings = ({ addressView }: Records, { soleReporters }: WatcherStatus): Finding[] =>
  addressView.foreignUses().map(({ walletId, count, claimed }) => {
    const server = soleReporters.get(walletId) ?? 'one server';
    const unconfirmed =
      claimed === 0
        ? ''
        : ` (${claimed} of them are reported by ${server} alone; no second server and no block confirms them)`;
    return {
      code: 'foreign-use',
      subject: `wallet ${walletId}`,
      fact: `wallet ${walletId}: ${formatCount(count + claimed, 'payment')} came to addresses that paygate had not issued yet${unconfirmed}`,
      hint:
        '. Another program uses this key: give each its own account, or customers may pay to the same ' +
        `address. If no other program does, ${claimed === 0 ? 'servers lied' : `${server} lies`}: name other servers in ` +
        '--electrum, then check these addresses again with `paygate store recheck-used ID`',
    };
  });

function disconnected(servers: readonly ServerStatus[], catchUpFault: string | undefined): string {
  if (servers.every(({ isUnresolved }) => isUnresolved)) {
    return offlineText(servers.length);
  }
  const fault = servers.some(({ lastError }) => lastError) ? faults(servers) : catchUpFault;
  return `no Electrum server is connected: ${fault ?? 'none has answered yet'}`;
}

/** Why servers are not connected; names the first three. */
function faults(servers: readonly ServerStatus[]): string {
  const faults = servers.flatMap(({ label, lastError }) =>
    lastError ? [`${label}: ${lastError}`] : [],
  );
  return faults.slice(0, 3).join('; ');
}
