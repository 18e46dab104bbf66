// The demo shop as a site: the request guard, the shop's pages, the event stream, the stylesheet
// and script, and an error page.

import pico from '@picocss/pico/css/pico.classless.min.css?raw';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { html } from 'hono/html';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { minuteMs, secondMs } from '../../lib/time-units.ts';
import script from '../../web/browser/page-refresh.client.js?raw';
import { interactivePageHeaders } from '../../web/content-policy.ts';
import { httpStatusOf } from '../../web/error-body.ts';
import { EventStreams } from '../../web/event-stream.ts';
import type { Fetch } from '../../web/http-server.ts';
import type { SimulatedChain } from '../chain/simulated-chain.ts';
import type { SandboxWorld } from '../sandbox-clock.ts';
import style from './browser/shop-style.css?raw';
import { mine, pay, reorganise, replaceNewest } from './chain-controls.ts';
import { simulatedPaymentSat } from './order-page.ts';
import type { PaygateClient } from './paygate-client.ts';
import { callbackPath, createShop, type ShopOptions, webhookPath } from './shop.ts';
import { Orders, rates, ratesPath } from './shop-orders.ts';
import { page } from './shop-page.ts';

export interface SiteOptions {
  readonly world: Pick<SandboxWorld, 'machineNow' | 'after' | 'schedule' | 'log'>;
  readonly chain: SimulatedChain;
  readonly chainUrl: () => string;
  /** @throws PaygateError unavailable while paygate is starting */
  readonly paygate: () => PaygateClient;
  /** `whsec_…` */
  readonly webhookSecret: string;
  /** Sets the clock forward to this time, epoch milliseconds. */
  readonly passTo: (time: number) => void;
}

export interface Site {
  readonly fetch: Fetch;
  end(): void;
}

/** Pages that may be open at the same time. */
const maxStreams = 64;

export function createSite(options: SiteOptions): Site {
  const { world } = options;
  const orders = new Orders();
  const changes = new EventStreams({
    world,
    maxStreams,
    refusal: () => new PaygateError('unavailable', `${maxStreams} pages are open: close some`),
  });
  const onChange = (): void => changes.announce();
  const plays = playsOf(options);
  const app = new Hono();
  addDoor(app);
  app.route('/', createShop({ ...options, orders, plays, onChange }));
  app.get('/events', (context) => changes.open(context));
  addFiles(app);
  app.notFound((context) => failure(context, new PaygateError('not_found', 'No such page')));
  app.onError((error, context) => {
    if (!(error instanceof PaygateError)) {
      world.log.error('a page of the sandbox failed', { reason: reasonOf(error) });
    }
    return failure(context, error);
  });
  return { fetch: (request, env) => app.fetch(request, env), end: () => changes.stop() };
}

/** A payment is on time for two minutes after the rate is no longer promised. */
const afterGraceMs = 2 * minuteMs + secondMs;

const playsOf = ({ chain, passTo }: SiteOptions): ShopOptions['plays'] => ({
  pay: (order, fields) =>
    pay(chain, {
      ...fields,
      address: order.paygate.address,
      amount: String(simulatedPaymentSat(order)),
    }),
  mine: (_, fields) => mine(chain, fields),
  replace: ({ paygate }, fields) => replaceNewest(chain, paygate.address, fields),
  reorganise: (_, fields) => reorganise(chain, { ...fields, fate: 'wait' }),
  expire: ({ paygate }) => passTo((paygate.expires_at ?? 0) * secondMs + afterGraceMs),
});

function addFiles(app: Hono): void {
  app.get('/style.css', (context) =>
    context.body(`${pico}\n${style}`, 200, { 'Content-Type': 'text/css' }),
  );
  app.get(ratesPath, (context) => context.json(rates));
  app.get('/live.js', (context) =>
    context.body(script, 200, { 'Content-Type': 'text/javascript' }),
  );
}

/** Anything but a PaygateError is a bug of ours, whose text is not for the page. */
function failure(context: Context, error: Error): Response | Promise<Response> {
  const known = error instanceof PaygateError ? error : undefined;
  const words = known?.message ?? 'Internal error; the log says more';
  context.status(known === undefined ? 500 : httpStatusOf(known));
  if ([callbackPath, webhookPath].includes(context.req.path)) return context.text(words);
  const back = html`<p><a href="/">To the shop</a></p>`;
  const body = html`<h1>That did not work</h1><p>${words}.</p>${back}`;
  return page(context, { title: 'That did not work', body });
}

const urlLimitBytes = 8 * 1024;
const formLimitBytes = 16 * 1024;
/** An order with 200 payments. */
const webhookLimitBytes = 128 * 1024;
const loopbackHost = /^(127(\.\d{1,3}){3}|\[::1\]|localhost)(:\d{1,5})?$/i;

/**
 * The Host must be a loopback name (against DNS rebinding), and a change must come from the shop's
 * own pages. A webhook has a signature instead.
 */
function addDoor(app: Hono): void {
  app.use(interactivePageHeaders);
  app.use((context, next) => {
    checkRequest(context);
    return next();
  });
  app.use(webhookPath, limitOf(webhookLimitBytes));
  app.on('POST', ['/orders', '/orders/*'], limitOf(formLimitBytes));
}

const limitOf = (maxSize: number) =>
  bodyLimit({
    maxSize,
    onError: () => {
      throw new PaygateError('invalid', `The body is larger than ${maxSize / 1024} KiB`);
    },
  });

/** @throws PaygateError invalid or forbidden */
function checkRequest({ req }: Context): void {
  if (req.url.length > urlLimitBytes) {
    throw new PaygateError('invalid', 'The URL is longer than 8 KiB');
  }
  const host = req.header('Host') ?? '';
  if (!loopbackHost.test(host)) {
    throw new PaygateError('forbidden', 'The shop answers under a loopback name only');
  }
  if (req.method === 'GET' || req.method === 'HEAD' || req.path === webhookPath) return;
  const site = req.header('Sec-Fetch-Site') ?? 'same-origin';
  const isOwn = req.header('Origin')?.toLowerCase() === `http://${host.toLowerCase()}`;
  if (isOwn && site === 'same-origin') return;
  throw new PaygateError('forbidden', 'Only a page of the shop itself may do this');
}
