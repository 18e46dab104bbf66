// What a page knows of the request that it answers, and what a page is. No HTTP but through the context.

import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { Sender } from '../delivery/sender.ts';
import type { CallbackSender } from '../domain/callback-url-policy.ts';
import type { Proxies } from '../domain/client-address.ts';
import type { Prices } from '../price/prices.ts';
import type { FindingHistory } from '../status/finding-history.ts';
import type { HealthReport } from '../status/health.ts';
import type { Store } from '../store/open-store.ts';
import type { Session } from '../store/records/admin.ts';
import type { ChangeFeed } from '../web/change-feed.ts';
import type { Limits } from '../web/request-limits.ts';
import type { World } from '../world/world.ts';
import type { DailySums } from './daily-sums.ts';
import type { Passwords } from './password.ts';
import type { Transport } from './transport.ts';

/** What the composition root gives to the dashboard. */
export interface DashboardOptions {
  readonly world: Pick<World, 'now' | 'monotonic' | 'after' | 'randomBytes' | 'log'>;
  readonly store: Store;
  readonly health: () => HealthReport;
  readonly findingHistory: Pick<FindingHistory, 'findings'>;
  readonly feed: ChangeFeed;
  /** Undefined where they are switched off. */
  readonly prices: Pick<Prices, 'price' | 'status'> | undefined;
  readonly sender: Sender;
  readonly proxies: Proxies;
  readonly publicUrl: string | undefined;
  /** The gap limit that merchants' own wallets are set to. */
  readonly walletGap: number;
  /** Beside our own. */
  readonly extraPages: readonly ExtraPage[];
  /** What shows that the clock of the machine is wrong; undefined while nothing does. */
  readonly clockFault: () => string | undefined;
  /** What is known of the machine that sends callbacks. */
  readonly callbackSender: () => CallbackSender;
  /** After a commit that changed stores or wallets. */
  readonly onCatalogChange: () => void;
  /** After a commit that forgot what was learnt of a server. */
  readonly onServerChange: () => void;
  /** After a commit that made callbacks due. */
  readonly onCallbacksDue: () => void;
}

export interface DashboardParts extends DashboardOptions {
  readonly passwords: Passwords;
  readonly limits: Limits<'password' | 'code'>;
  readonly dailySums: DailySums;
}

export interface PageRequest {
  readonly parts: DashboardParts;
  readonly context: Context;
  readonly transport: Transport;
  /** Path and query, as forms come back to. */
  readonly url: string;
  readonly now: number;
  /** A cookie's text: the session's, on an open page the visitor's. */
  readonly token: string;
  readonly session: Session | undefined;
  /** What was sent; empty when a page is only looked at. */
  readonly form: URLSearchParams;
  /** Why what was sent is not done. */
  readonly problem?: string;
}

export type Markup = HtmlEscapedString | Promise<HtmlEscapedString>;

/** `to`: the page to look at next; `show`: something that is shown this once; `send`: a file. */
export type ActionResult =
  | { readonly to: string }
  | { readonly show: Markup }
  | { readonly send: Response };

export type FormAction = (request: PageRequest) => Promise<ActionResult>;

export interface Page {
  /** Below `/dashboard`. */
  readonly path: string;
  /** Anybody may see it. */
  readonly open?: true;
  /** Scripts alone ask for it: no sign that somebody is there. */
  readonly unattended?: true;
  readonly show: (request: PageRequest) => Markup | Response | Promise<Response>;
  /** What its forms do, by the name in their field `do`. */
  readonly actions?: Readonly<Record<string, FormAction>>;
}

/** A page that whoever builds the app gives to the dashboard. */
export interface ExtraPage extends Page {
  /** In the navigation, after our own sections; in no navigation without it. */
  readonly name?: string;
  /** @param onChange it looks different now @returns ends it */
  readonly listen?: (onChange: () => void) => () => void;
}

export const base = '/dashboard';

/** What each form must bring; only who holds the cookie can know it. */
export const formTokenOf = ({ token }: Pick<PageRequest, 'token'>): string =>
  createHash('sha256').update(`form ${token}`).digest('base64url');

/** A number in the page's own address. */
export function idIn({ context }: PageRequest): number {
  const text = context.req.param('id') ?? '';
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
}

/** A field of the form, without white space around it. */
export const field = ({ form }: Pick<PageRequest, 'form'>, name: string): string =>
  (form.get(name) ?? '').trim();
