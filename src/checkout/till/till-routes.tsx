// The pages of tills, below /till. The dashboard adds a till and shows a code. The device that
// opens it gets a cookie, which makes sales of that store and can do nothing else. Sales are
// orders of the shop, so strangers' unpaid orders do not stop them.

import { base64url } from '@scure/base';
import { type Context, Hono } from 'hono';
import { parsePayerInput } from '../../domain/order/payer-input.ts';
import { type FiatPrice, minOrderSat, type SatPrice } from '../../domain/order/quote.ts';
import { typedText } from '../../domain/order/typed-amount.ts';
import { dayOf, dayStart } from '../../domain/text/time-zone.ts';
import { PaygateError } from '../../lib/errors.ts';
import type { OrderRow } from '../../store/orders/order-view.ts';
import { setCheckoutHeaders } from '../../web/content-policy.ts';
import { clientAddressOf } from '../../web/limits/request-origin.ts';
import { checkoutStyle, sendErrorPage } from '../checkout-frame.tsx';
import type { LinkRouteOptions } from '../link-routes.tsx';
import { fieldErrors } from '../payer-errors.ts';
import { shownAmount } from '../payer-form.tsx';
import { type Reading, readingOf } from '../reading.ts';
import { shownOrder } from '../shown-order.ts';
import type { Message, Words } from '../words/words.ts';
import { createTillDevices, type TillDevices, type TillRequest } from './till-device.ts';
import { PairPage, SalePage, SalesPage, TillPage } from './till-pages.tsx';

/** A sale of a till. */
export interface TillSale {
  readonly storeId: number;
  readonly tillId: number;
  readonly idempotencyKey: string;
  readonly body:
    | { readonly amount_sat: number }
    | { readonly amount: string; readonly currency: string };
}

export interface TillRouteOptions extends LinkRouteOptions {
  /** Makes an order by the rules of the API. @throws PaygateError */
  readonly takePayment: (sale: TillSale) => Promise<OrderRow>;
  /** Promises the price of now to an order whose quote has ended. @throws PaygateError */
  readonly requote: (row: OrderRow) => Promise<void>;
  /** @throws PaygateError limited */
  readonly takeSale: (tillId: number) => void;
}

const formKeyBytes = 16;

export function createTillRoutes(options: TillRouteOptions): Hono {
  const { world, records, takeRequest } = options;
  const devices = createTillDevices(options);
  const newFormKey = (): string => base64url.encode(world.randomBytes(formKeyBytes));
  const app = new Hono();
  app.use((context, next) => {
    setCheckoutHeaders(context, checkoutStyle.hash(), [], 'till');
    return next();
  });
  app.get('/manifest.webmanifest', (context) => {
    takeRequest('page', context);
    context.header('Content-Type', 'application/manifest+json');
    return context.body(manifest);
  });
  app.get('/pair/:code', (context) =>
    context.html(<PairPage {...devices.coded(context, context.req.param('code'))} />),
  );
  app.post('/pair/:code', async (context) => {
    await devices.pair(context, context.req.param('code'));
    return context.redirect('../../till', 303);
  });
  app.get('/', async (context) => {
    const asked = await devices.requested(context);
    return context.html(<TillPage {...asked} formKey={newFormKey()} />);
  });
  app.post('/', async (context) => {
    // Reading the body may take long: the till may be removed meanwhile.
    const form = new URLSearchParams(await context.req.text());
    const asked = await devices.requested(context);
    devices.checkForm(context);
    const typed = { amount: form.get('amount') ?? '', formKey: form.get('key') ?? newFormKey() };
    const made = await sell(options, asked, typed);
    if ('row' in made) {
      return context.redirect(`till/sales/${made.row.publicId}${asked.reading.langQuery}`, 303);
    }
    return context.html(<TillPage {...asked} formKey={newFormKey()} {...made} />, 400);
  });
  app.get('/sales', async (context) => {
    const asked = await devices.requested(context);
    const zone = records.state.zone();
    const today = dayStart(dayOf(world.now(), zone), zone);
    const sales = records.tills.salesSince(asked.till.id, today);
    return context.html(<SalesPage {...asked} sales={sales} />);
  });
  app.route('/sales', saleRoutes(options, devices));
  app.onError((error, context) => sendTillError(options, context, error));
  return app;
}

/** One sale: its page, a new price for it, and its cancellation. */
function saleRoutes(options: TillRouteOptions, devices: TillDevices): Hono {
  const { records, world, proxies } = options;
  const { orderView, orders, audit, database } = records;

  /** @throws PaygateError unauthorized, not_found */
  async function requested(context: Context): Promise<TillRequest & { readonly row: OrderRow }> {
    const asked = await devices.requested(context);
    const row = orderView.byPublicId(context.req.param('id') ?? '');
    if (row?.tillId === asked.till.id) return { ...asked, row };
    throw new PaygateError('not_found', 'Unknown sale');
  }

  const app = new Hono();
  app.get('/:id', async (context) => {
    const asked = await requested(context);
    const shown = shownOrder(orderView.record(asked.row), world.now());
    return context.html(<SalePage {...asked} shown={shown} />);
  });
  app.post('/:id/quote', async (context) => {
    const { row, reading } = await requested(context);
    devices.checkForm(context);
    await options.requote(row);
    return context.redirect(`../${row.publicId}${reading.langQuery}`, 303);
  });
  app.post('/:id/cancel', async (context) => {
    const { row, reading, till } = await requested(context);
    devices.checkForm(context);
    await database.write((tx) => {
      const now = world.now();
      const standing = orderView.standing(orderView.record(orderView.byId(row.id)), now);
      if (standing.status === 'canceled') return;
      if (standing.receivedSat > 0) throw new PaygateError('conflict', 'money was received');
      const client = clientAddressOf(context, proxies);
      const detail = { order: row.publicId, till: till.name };
      audit.noteChange(tx, now, client, 'order.cancel', detail, row.storeId);
      orders.cancel(tx, now, row.id);
    }, 'awaited');
    return context.redirect(`../../../till${reading.langQuery}`, 303);
  });
  return app;
}

/** Makes the sale that was typed, or says what is wrong with it. */
async function sell(
  options: TillRouteOptions,
  { till, store, reading, currency }: TillRequest,
  { amount, formKey }: { readonly amount: string; readonly formKey: string },
): Promise<{ readonly row: OrderRow } | { readonly typed: string; readonly error?: string }> {
  const any = { amount: null, minAmount: null, maxAmount: null, suggested: [] };
  const link = { ...any, note: 'no', asksEmail: false, currency } as const;
  const separator = reading.formats.decimalSeparator();
  const { input, problems } = parsePayerInput(link, { amount }, separator);
  if (problems !== undefined) return refused(amount, fieldErrors(link, problems, reading).amount);
  options.takeSale(till.id);
  const { price } = input;
  const body =
    price.kind === 'sat'
      ? { amount_sat: price.amountSat }
      : { amount: typedText(price.minor, price.currency, '.'), currency: price.currency };
  const idempotencyKey = `till ${till.id} ${formKey} ${JSON.stringify(body)}`;
  try {
    const sale = { storeId: store.id, tillId: till.id, idempotencyKey, body };
    return { row: await options.takePayment(sale) };
  } catch (error) {
    if (!(error instanceof PaygateError && error.code === 'invalid')) throw error;
    return refused(amount, boundText(price, reading));
  }
}

const refused = (typed: string, error?: string) => ({ typed, ...(error && { error }) });

/** No currency has so many minor units in the least payment, or so few in all bitcoins. */
const betweenLeastAndMost = 10 ** 12;

/** The price of now makes an amount too small or too large. */
function boundText(price: FiatPrice | SatPrice, { words: { link }, formats }: Reading): string {
  if (price.kind === 'sat' || price.minor < betweenLeastAndMost) {
    return link.tooSmall(formats.sat(minOrderSat));
  }
  return link.atMost(shownAmount(betweenLeastAndMost, price.currency, formats));
}

/** https://www.w3.org/TR/appmanifest/ */
const manifest = JSON.stringify({
  name: 'Till',
  short_name: 'Till',
  start_url: '../till',
  scope: '../till',
  display: 'standalone',
  icons: [{ src: '../favicon.svg', sizes: 'any', type: 'image/svg+xml' }],
});

const errorTexts: Readonly<Record<string, (words: Words) => Message>> = {
  unauthorized: ({ till }) => till.noTill,
  gone: ({ till }) => till.codeOver,
  not_found: ({ errors }) => errors.unknownOrder,
  conflict: ({ till }) => till.notCanceled,
  limited: ({ errors }) => errors.limited,
  forbidden: ({ errors }) => errors.foreignForm,
  unavailable: ({ errors }) => errors.noPrice,
};

function sendTillError(
  { world }: TillRouteOptions,
  context: Context,
  error: Error,
): Response | Promise<Response> {
  const reading = context.get('reading') ?? readingOf(context);
  const code = error instanceof PaygateError ? error.code : 'internal';
  const isPaired = code !== 'unauthorized' && code !== 'gone';
  return sendErrorPage(context, reading, error, {
    log: world.log,
    path: '/till',
    message: 'the page of a till failed',
    text: errorTexts[code]?.(reading.words),
    link: isPaired ? { url: '/till', text: reading.words.errors.back } : undefined,
  });
}
