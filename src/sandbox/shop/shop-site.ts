// The demo shop as a site: the request guard, the shop's pages, the event stream, the stylesheet
// and script, and an error page.

import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { httpStatusOf } from '../../web/error-body.ts';
import { EventStreams } from '../../web/event-stream.ts';
import type { Fetch } from '../../web/http-server.ts';
import type { World } from '../../world/world.ts';
import type { SimulatedChain } from '../chain/simulated-chain.ts';
import { mine, pay } from './chain-controls.ts';
import { lookForGone } from './gone-payments.ts';
import type { PaygateClient } from './paygate-client.ts';
import { addDoor } from './request-guard.ts';
import { callbackPath, createShop, type Play } from './shop.ts';
import { Orders } from './shop-orders.ts';
import { page } from './shop-page.ts';
import { rates, ratesPath } from './simulated-rates.ts';
import { browserFiles } from './static-files.ts';

export interface SiteOptions {
  readonly world: Pick<World, 'now' | 'randomBytes' | 'after' | 'schedule' | 'log'>;
  readonly chain: SimulatedChain;
  /** The Chain page of the dashboard. */
  readonly chainUrl: () => string;
  /** @throws PaygateError unavailable while paygate is starting */
  readonly paygate: () => PaygateClient;
  /** `whsec_…` */
  readonly webhookSecret: string;
}

export interface Site {
  readonly fetch: Fetch;
  /** Ends the streams and what runs by the clock. */
  end(): void;
}

/** Pages that may be open at the same time. */
const maxStreams = 64;
const everyTwoSeconds = '*/2 * * * * *';

export function createSite({ world, chain, ...options }: SiteOptions): Site {
  const { paygate } = options;
  const orders = new Orders();
  const changes = new EventStreams({
    world,
    maxStreams,
    refusal: () => new PaygateError('unavailable', `${maxStreams} pages are open: close some`),
  });
  const onChange = (): void => changes.announce();
  const play: Play = {
    pay: (fields) => pay(chain, fields),
    mine: (fields) => mine(chain, fields),
  };
  const app = new Hono();
  addDoor(app);
  app.route('/', createShop({ ...options, world, orders, play, onChange }));
  app.get('/events', (context) => changes.open(context));
  addFiles(app);
  app.notFound((context) => failure(context, new PaygateError('not_found', 'No such page')));
  app.onError((error, context) => {
    if (!(error instanceof PaygateError)) {
      world.log.error('a page of the sandbox failed', { reason: reasonOf(error) });
    }
    return failure(context, error);
  });
  const look = lookForGone({ orders, paygate, onChange, log: world.log });
  const cancel = world.schedule(everyTwoSeconds, look);
  return {
    fetch: (request, env) => app.fetch(request, env),
    end() {
      cancel();
      changes.stop();
    },
  };
}

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
  if (context.req.path === callbackPath) return context.text(words);
  const back = html`<p><a href="/">To the shop</a></p>`;
  const body = html`<h1>That did not work</h1><p>${words}.</p>${back}`;
  return page(context, { title: 'That did not work', body });
}
