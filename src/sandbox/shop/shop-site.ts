// The demo shop as a site: the request guard, the shop's pages, the event stream, the stylesheet
// and script, and an error page.

import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { minuteMs, secondMs } from '../../lib/time-units.ts';
import { httpStatusOf } from '../../web/error-body.ts';
import { EventStreams } from '../../web/event-stream.ts';
import type { Fetch } from '../../web/http-server.ts';
import type { SimulatedChain } from '../chain/simulated-chain.ts';
import type { SandboxWorld } from '../sandbox-clock.ts';
import { mine, pay, reorganise, replaceNewest } from './chain-controls.ts';
import { simulatedPaymentSat } from './order-page.ts';
import type { PaygateClient } from './paygate-client.ts';
import { addDoor } from './request-guard.ts';
import { callbackPath, createShop, type ShopOptions, webhookPath } from './shop.ts';
import { Orders } from './shop-orders.ts';
import { page } from './shop-page.ts';
import { rates, ratesPath } from './simulated-rates.ts';
import { browserFiles } from './static-files.ts';

export interface SiteOptions {
  readonly world: Pick<SandboxWorld, 'machineNow' | 'randomBytes' | 'after' | 'schedule' | 'log'>;
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
  const { style, script } = browserFiles;
  app.get('/style.css', (context) => context.body(style, 200, { 'Content-Type': 'text/css' }));
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
