// The routes of the Chain page: each form does one thing to the chain or to its server, and leads back.

import { type Context, Hono } from 'hono';
import type { SimulatedChain } from '../chain.ts';
import { chainPage } from './chain-page.ts';
import { type Form, mine, pay, reorganise, replace, stopMs } from './levers.ts';
import type { Outage } from './outage.ts';
import { page } from './page.ts';

const refreshSeconds = 5;
/** Pages that a form may lead back to. */
const ownPage = /^\/orders\/[0-9a-f]{16}$/;

export function createChainDesk(chain: SimulatedChain, outage: Outage): Hono {
  const desk = new Hono();
  desk.get('/chain', (context) => {
    const address = context.req.query('address') ?? '';
    const amountSat = context.req.query('amount') ?? '';
    const body = chainPage({ chain, outageEndsAt: outage.endsAt, address, amountSat });
    return page(context, { title: 'Chain', body, refreshSeconds });
  });
  const lever = (path: string, pull: (form: Form) => void): void => {
    desk.post(path, async (context) => {
      const form = await context.req.parseBody();
      pull(form);
      return lead(context, form);
    });
  };
  lever('/chain/pay', (form) => pay(chain, form));
  lever('/chain/mine', (form) => mine(chain, form));
  lever('/chain/replace', (form) => replace(chain, form));
  lever('/chain/reorganise', (form) => reorganise(chain, form));
  lever('/chain/server', (form) => {
    const lengthMs = stopMs(form);
    if (lengthMs === 0) outage.end();
    else outage.begin(lengthMs);
  });
  return desk;
}

/** Back to the page that the form stands on; the Chain page keeps what was typed. */
function lead(context: Context, { back, address, amount }: Form): Response {
  if (typeof back === 'string' && ownPage.test(back)) return context.redirect(back, 303);
  if (typeof address !== 'string' || typeof amount !== 'string') {
    return context.redirect('/chain', 303);
  }
  return context.redirect(`/chain?${new URLSearchParams({ address, amount })}`, 303);
}
