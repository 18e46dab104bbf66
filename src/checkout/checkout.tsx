// The pages for customers: orders below /o, links below /l. Tills are below /till, with a cookie of
// their own. Everybody who has an order's id sees that order and may ask for a new quote. A GET
// changes nothing, and no id is logged.

import { type Context, Hono } from 'hono';
import { containsPrivateMaterial } from '../bitcoin/private-material.ts';
import type { Rate } from '../domain/access/rate-limit.ts';
import { isId } from '../domain/order/order-id.ts';
import { orderJson } from '../domain/order/order-json.ts';
import { maxQuotes } from '../domain/order/quote.ts';
import { type ErrorCode, PaygateError } from '../lib/errors.ts';
import type { OrderRow } from '../store/orders/order-view.ts';
import { refundAddress } from '../store/orders/refunds.ts';
import { EventStreams } from '../web/event-stream.ts';
import { pageScript, serveAssets } from '../web/hashed-asset.ts';
import { reloadUnlessFollowed } from '../web/html-page.ts';
import type { LimitedLookup } from '../web/limits/lookup-limit.ts';
import { createLimits } from '../web/limits/request-limits.ts';
import {
  clientAddressOf,
  clientNetworkOf,
  isSentFrom,
  ownOriginsOf,
} from '../web/limits/request-origin.ts';
import type { LimitVisit } from '../web/limits/visit-limit.ts';
import type { World } from '../world/world.ts';
import { beginPage, sendErrorPage, unframedHeaders } from './checkout-frame.tsx';
import { type ClaimOptions, createClaims } from './claim.tsx';
import { CustomerPage, frameScript, leaveSeconds } from './customer-page.tsx';
import { createLinkRoutes, type LinkRouteOptions } from './link-routes.tsx';
import { type Reading, readingOf } from './reading.ts';
import { receiptPage } from './receipt-page.tsx';
import { type ShownOrder, shownOrder } from './shown-order.ts';
import { tillScript } from './till/till-pages.tsx';
import { createTillRoutes, type TillRouteOptions } from './till/till-routes.tsx';
import type { Words } from './words/words.ts';

export interface CheckoutOptions
  extends Omit<TillRouteOptions, 'takeRequest' | 'takeSale' | 'requote'>,
    Pick<ClaimOptions, 'reader'> {
  readonly world: LinkRouteOptions['world'] & Pick<World, 'monotonic' | 'after'>;
  readonly limitVisit: LimitVisit;
}

export interface Checkout {
  readonly app: Hono;
  receiptPage(context: Context, limitLookup: LimitedLookup): Response | Promise<Response>;
  /** Ends all event streams. */
  stop(): void;
}

interface RequestedPage {
  readonly row: OrderRow;
  readonly reading: Reading;
}

/** Requests of one client: a page with its stream and one refresh is three. */
const pageRate: Rate = { perMinute: 60, burst: 60 };
/** Orders that one client makes by links. */
const linkOrderRate: Rate = { perMinute: 5, burst: 5 };
/** Questions of one client about a transaction, to the servers. */
const questionRate: Rate = { perMinute: 1, burst: 3 };
/** Sales of one till. */
const saleRate: Rate = { perMinute: 30, burst: 30 };
/** Fewer than the connections of a listener, so that others can connect as well. */
const maxStreams = 300;
const maxStreamsOfClient = 20;

export function createCheckout(options: CheckoutOptions): Checkout {
  const { records, world, proxies } = options;
  const { orderView } = records;
  const rates = {
    page: pageRate,
    linkOrder: linkOrderRate,
    sale: saleRate,
    question: questionRate,
  };
  const limits = createLimits(rates, () => world.monotonic());
  const streams = createStreams(world);
  records.events.on('orderChanged', (orderId) => streams.announce(orderId));

  const takeRequest: LinkRouteOptions['takeRequest'] = (rate, context) =>
    limits.take(rate, clientNetworkOf(context, proxies));

  /** @throws PaygateError limited, not_found */
  function requested(context: Context): RequestedPage {
    const id = context.req.param('id') ?? '';
    const row = isId('ord', id) ? orderView.byPublicId(id) : undefined;
    // Before any refusal, whose page has the language and the frames of the order as well.
    const reading = row && beginPage(context, records.catalog.store(row.storeId), row);
    takeRequest('page', context);
    if (row && reading) return { row, reading };
    throw new PaygateError('not_found', 'Unknown order');
  }

  const shown = (row: OrderRow) => shownOrder(orderView.record(row), world.now());

  /** How long the page of an order stays as it is. */
  function nextChangeMs(row: OrderRow): number | undefined {
    try {
      const { validUntil } = shown(row);
      return validUntil === null ? undefined : validUntil - world.now();
    } catch {
      return undefined;
    }
  }

  const orders = new Hono();
  orders.route('/', serveAssets([pageScript, tillScript, frameScript], options.limitVisit));
  orders.use(unframedHeaders);
  orders.get('/:id', (context) => {
    const { row, reading } = requested(context);
    return sendPage(context, shown(row), reading);
  });
  orders.get('/:id/live', (context) => {
    const { row } = requested(context);
    return streams.open(context, {
      topic: row.id,
      client: clientAddressOf(context, proxies),
      nextChangeMs: () => nextChangeMs(row),
    });
  });
  const takeQuestion = (context: Context): void =>
    limits.take('question', clientNetworkOf(context, proxies));
  addForms(orders, options, { requested, shown, takeQuestion });
  orders.onError((error, context) => sendError(options, context, error));
  const tills = createTillRoutes({
    ...options,
    takeRequest,
    takeSale: (tillId) => limits.take('sale', String(tillId)),
    requote: (row) => requote(options, row),
  });
  return {
    app: new Hono()
      .route('/o', orders)
      .route('/l', createLinkRoutes({ ...options, takeRequest }))
      .route('/till', tills),
    receiptPage(context, limitLookup) {
      const limited: LimitedLookup = (...lookup) => {
        takeRequest('page', context);
        return limitLookup(...lookup);
      };
      return receiptPage(records, limited, context);
    },
    stop: () => streams.stop(),
  };
}

/** The page of an order. It is loaded again while it may change, or leads to the shop. */
function sendPage(
  context: Context,
  asked: ShownOrder,
  reading: Reading,
): Response | Promise<Response> {
  const { status } = asked.order;
  // In a frame, the shop would open inside of itself.
  const isFramed = context.req.header('Sec-Fetch-Dest') === 'iframe';
  const seen = isFramed ? { ...asked, leavesTo: null } : asked;
  if (seen.leavesTo !== null) context.header('Refresh', `${leaveSeconds}; url=${seen.leavesTo}`);
  else if (status === 'open' || status === 'processing') reloadUnlessFollowed(context);
  return context.html(<CustomerPage shown={seen} reading={reading} />);
}

interface PageParts {
  /** @throws PaygateError limited, not_found */
  readonly requested: (context: Context) => RequestedPage;
  readonly shown: (row: OrderRow) => ShownOrder;
  /** Counts a question of a client to the servers. @throws PaygateError limited */
  readonly takeQuestion: (context: Context) => void;
}

/** What a customer sends from the page of an order. */
function addForms(
  orders: Hono,
  options: CheckoutOptions,
  { requested, shown, takeQuestion }: PageParts,
): void {
  const { proxies, publicUrl } = options;
  const answerClaim = createClaims(options);

  /** @throws PaygateError limited, not_found, forbidden */
  function sentTo(context: Context): RequestedPage {
    const page = requested(context);
    if (isSentFrom(context, ownOriginsOf(context, proxies, publicUrl))) return page;
    throw new PaygateError('forbidden', 'The form is not of our own page');
  }

  orders.post('/:id', async (context) => {
    const { row, reading } = sentTo(context);
    const form = new URLSearchParams(await context.req.text());
    const txid = form.get('txid');
    if (txid !== null) {
      const claimAnswer = await answerClaim(row, txid, reading, () => takeQuestion(context));
      return context.html(
        <CustomerPage shown={shown(row)} reading={reading} claimAnswer={claimAnswer} />,
      );
    }
    const refundError = await takeRefundAddress(options, row, form.get('refund') ?? '');
    if (refundError === undefined) {
      return context.redirect(`${row.publicId}${reading.langQuery}`, 303);
    }
    const page = { shown: shown(row), reading, refundError: refundError(reading.words) };
    return context.html(<CustomerPage {...page} />, 400);
  });
  orders.post('/:id/quote', async (context) => {
    const { row, reading } = sentTo(context);
    await requote(options, row);
    return context.redirect(`../${row.publicId}${reading.langQuery}`, 303);
  });
}

const createStreams = (world: CheckoutOptions['world']): EventStreams =>
  new EventStreams({
    world,
    maxStreams,
    maxOfClient: maxStreamsOfClient,
    refusal: () =>
      new PaygateError('limited', 'Too many pages are open.', { retryAfterSeconds: 30 }),
  });

/**
 * Promises the price of now to an order that needs a quote, and leaves any other as it is.
 * @throws PaygateError unavailable without a fresh price, conflict after too many quotes
 */
async function requote(options: CheckoutOptions, row: OrderRow): Promise<void> {
  const { records, world, prices, checkIssuing, ensureInvoice } = options;
  const { orderView, orders, database } = records;
  const isDue = (): boolean => shownOrder(orderView.record(row), world.now()).stage === 'lapsed';
  if (row.currency === null || !isDue()) return;
  if (orderView.record(row).quotes.length >= maxQuotes) {
    throw new PaygateError('conflict', 'The order has had as many quotes as its page makes');
  }
  const rateCents = (await prices?.rateCents(row.currency)) ?? null;
  if (rateCents === null) throw new PaygateError('unavailable', 'There is no price');
  checkIssuing();
  await database.write((tx) => {
    // A second click may have been first.
    if (isDue()) orders.quote(tx, world.now(), row.id, rateCents);
  }, 'awaited');
  await ensureInvoice(row);
}

/**
 * Stores the address that the customer of an order typed, if they are asked for one.
 * @returns what is wrong with it
 */
async function takeRefundAddress(
  options: CheckoutOptions,
  row: OrderRow,
  text: string,
): Promise<((words: Words) => string) | undefined> {
  if (containsPrivateMaterial(text)) return ({ link }) => link.privateKey;
  try {
    const address = refundAddress(options.records, text);
    options.checkIssuing();
    await noteRefundAddress(options, row, address);
    return undefined;
  } catch (error) {
    const code = error instanceof PaygateError ? error.code : undefined;
    if (code === 'invalid') return ({ refund }) => refund.wrong;
    if (code === 'conflict') return ({ refund }) => refund.own;
    if (code === 'unavailable') return ({ errors }) => errors.unexpected.text;
    throw error;
  }
}

/** The merchant has to send it, and is notified. */
const noteRefundAddress = (
  { records, world }: CheckoutOptions,
  row: OrderRow,
  address: string,
): Promise<void> =>
  records.database.write((tx) => {
    const refund = records.refunds.address(tx, row.id, address);
    if (refund === undefined) return;
    const now = world.now();
    const { orderView } = records;
    const record = orderView.record(row);
    const { details, linkTitle } = record;
    const order = orderJson(details, orderView.standing(record, now), orderView.baseUrl);
    const { id, amountSat } = refund;
    records.notifications.refundAddressed(tx, now, id, { order, linkTitle, amountSat });
  }, 'awaited');

type ErrorText = Exclude<keyof Words['errors'], 'back' | 'backToOrder'>;

const errorTexts: Partial<Record<ErrorCode, ErrorText>> = {
  not_found: 'unknownOrder',
  limited: 'limited',
  forbidden: 'foreignForm',
  unavailable: 'noPrice',
  conflict: 'gap',
};

function sendError(
  { world }: CheckoutOptions,
  context: Context,
  error: Error,
): Response | Promise<Response> {
  const known = error instanceof PaygateError ? errorTexts[error.code] : undefined;
  const reading = context.get('reading') ?? readingOf(context);
  const { errors } = reading.words;
  const isForm = context.req.method === 'POST';
  const hasOrder = isForm && known !== 'unknownOrder';
  const url = `../${context.req.param('id')}${reading.langQuery}`;
  return sendErrorPage(context, reading, error, {
    log: world.log,
    path: '/o/{id}',
    message: "an order's page failed",
    text: known && errors[known],
    hasLanguages: !isForm,
    link: hasOrder ? { url, text: errors.backToOrder } : undefined,
  });
}
