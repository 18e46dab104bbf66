// The request that a page answers, and what a page is. It uses HTTP only through the context.

import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { Sender } from '../delivery/sender.ts';
import type { CallbackSender } from '../domain/delivery/callback-url-policy.ts';
import type { OrderBody } from '../domain/order/order-input.ts';
import type { NodeSettings } from '../domain/store/lightning-node.ts';
import { trimInvisible } from '../domain/text/pasted-text.ts';
import type { CheckedNode } from '../lightning/open-node.ts';
import type { Notifier } from '../notify/notifier.ts';
import type { Prices } from '../price/prices.ts';
import type { FindingHistory } from '../status/finding-history.ts';
import type { HealthReport } from '../status/health.ts';
import { type Account, ownerId, type Session } from '../store/access/admin.ts';
import type { RequestedBackups } from '../store/backup/requested-backup.ts';
import type { Records } from '../store/open-records.ts';
import type { OrderRow } from '../store/orders/order-view.ts';
import type { ChainReader } from '../watcher/reader.ts';
import type { ChangeFeed } from '../web/change-feed.ts';
import type { Fetch } from '../web/http-server.ts';
import type { RefusalLog } from '../web/limits/refused-requests.ts';
import type { Limits } from '../web/limits/request-limits.ts';
import type { LimitVisit } from '../web/limits/visit-limit.ts';
import type { RehearsedOrder } from '../web/rehearsed-order.ts';
import type { World } from '../world/world.ts';
import type { DailySums } from './daily-sums.ts';
import type { Challenges } from './guard/challenges.ts';
import type { Passwords } from './guard/password.ts';
import type { Transport, TransportOptions } from './guard/transport.ts';

export interface DashboardOptions extends TransportOptions {
  readonly world: Pick<World, 'now' | 'monotonic' | 'after' | 'randomBytes' | 'log'>;
  readonly records: Records;
  readonly health: () => HealthReport;
  readonly findingHistory: Pick<FindingHistory, 'findings'>;
  readonly feed: ChangeFeed;
  /** Undefined if prices are switched off. */
  readonly prices: Pick<Prices, 'price' | 'rateCents' | 'status'> | undefined;
  readonly sender: Sender;
  /** @throws PaygateError unavailable while the file may not record new orders */
  readonly checkIssuing: () => void;
  /** Makes an order by the rules of the API. @throws PaygateError */
  readonly takePayment: (taken: TakenPayment) => Promise<OrderRow>;
  readonly reader: Pick<ChainReader, 'find'>;
  readonly requestedBackups: Pick<RequestedBackups, 'make'>;
  readonly notifier: Pick<Notifier, 'test'>;
  readonly limitVisit: LimitVisit;
  /** The gap limit of the merchants' own wallets. */
  readonly walletGap: number;
  /** Answers requests like those of shops, in process. */
  readonly askApi: Fetch;
  readonly extraPages: readonly ExtraPage[];
  /** Evidence that the clock of this machine is wrong; undefined without such evidence. */
  readonly clockFault: () => string | undefined;
  /** Properties of this machine that decide which Callback URLs it can reach. */
  readonly callbackSender: () => CallbackSender;
  /** The customer's page of an order that is only rehearsed; sets the headers of that page. */
  readonly rehearse: (context: Context, rehearsed: RehearsedOrder) => Markup;
  /** Asks a Lightning node whether it cannot spend. @throws PaygateError */
  readonly checkNode: (asked: NodeSettings) => Promise<CheckedNode>;
}

/** An order that the merchant makes by hand. */
export interface TakenPayment {
  readonly storeId: number;
  /** The same one with the same body has the same order. */
  readonly idempotencyKey: string;
  readonly body: OrderBody;
}

export interface DashboardParts extends DashboardOptions {
  readonly passwords: Passwords;
  readonly challenges: Challenges;
  readonly limits: Limits<'password' | 'code' | 'passkey'>;
  readonly refusedSignIns: RefusalLog;
  readonly dailySums: DailySums;
  /** When this process began to serve, epoch milliseconds. */
  readonly startedAt: number;
}

export interface PageRequest {
  readonly parts: DashboardParts;
  readonly context: Context;
  readonly transport: Transport;
  /** Path and query; forms of the page post to it. */
  readonly url: string;
  readonly now: number;
  /** Value of the session cookie; on a public page, of the visitor cookie. */
  readonly token: string;
  readonly session: Session | undefined;
  /** The account of the session's person; the owner's without a session. */
  readonly account: Account;
  /** The fields of the form; empty unless the method is POST. */
  readonly form: URLSearchParams;
  /** Why the action of the form was refused. */
  readonly problem?: string;
  /** The refused fields of the form; empty if the problem concerns no field. */
  readonly faults?: Faults;
}

/** Why the value of a field was refused. */
export interface Fault {
  /** The field's label; empty if the text names the field. */
  readonly label: string;
  readonly text: string;
}

/** By the names of fields, in their order on the page. */
export type Faults = ReadonlyMap<string, Fault>;

export type Markup = HtmlEscapedString | Promise<HtmlEscapedString>;

/** `to`: redirect to a page; `show`: markup that is shown only once; `send`: a file. */
export type ActionResult =
  | { readonly to: string }
  | { readonly show: Markup }
  | { readonly send: Response };

export type FormAction = (request: PageRequest) => Promise<ActionResult>;

export interface Page {
  /** Below `/dashboard`. */
  readonly path: string;
  /** The page needs no session. */
  readonly open?: true;
  /** Pages of other sites lead to it, so the session cookie is missing in their request. */
  readonly linked?: true;
  /** Only scripts request it, so a request does not prolong the session. */
  readonly unattended?: true;
  /**
   * Viewers may open the page, and run these of its actions. Without it they may do neither
   * (docs/decisions/062-viewers-are-refused-by-default.md).
   */
  readonly viewers?: readonly string[];
  readonly show: (request: PageRequest) => Markup | Response | Promise<Response>;
  /** Actions of its forms by the value of their field `do`. */
  readonly actions?: Readonly<Record<string, FormAction>>;
}

/** A page that the composition root adds to the dashboard. */
export interface ExtraPage extends Page {
  /** Label in the navigation, after the own sections; a page without a name is not listed. */
  readonly name?: string;
  /** @param onChange called when the page changes @returns a function that removes the listener */
  readonly listen?: (onChange: () => void) => () => void;
}

/** Whether a person asks who only sees: not the owner. */
export const isViewer = ({ session }: Pick<PageRequest, 'session'>): boolean =>
  session !== undefined && session.personId !== ownerId;

export const base = '/dashboard';
export const accountPath = `${base}/settings/account`;
export const zonePath = `${base}/settings/time-zone`;

/** The token that each form sends; only the owner of the cookie can know it. */
export const formTokenOf = ({ token }: Pick<PageRequest, 'token'>): string =>
  createHash('sha256').update(`form ${token}`).digest('base64url');

/** The number in the path of the page; 0 if it is invalid. */
export function idIn({ context }: PageRequest): number {
  const text = context.req.param('id') ?? '';
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
}

/** The text of a form field, without invisible characters around it. */
export const field = ({ form }: Pick<PageRequest, 'form'>, name: string): string =>
  trimInvisible(form.get(name) ?? '');
