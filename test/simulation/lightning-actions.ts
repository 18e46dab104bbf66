// Actions around Lightning. Customers pay invoices: at once, late, in parts, twice. Nodes go away,
// fail, are removed and set again. paygate is killed and restored around a payment.

import { PaygateError } from '../../src/lib/errors.ts';
import type { Fault, PlayedInvoice } from '../support/lightning-nodes.ts';
import { loseWrites } from './app-actions.ts';
import { fileActions, restoreCopy } from './file-actions.ts';
import { invoiceAt, look, nodeOf, type SimulatedNode, setNode } from './lightning.ts';
import { orderActions, requoteOrder } from './order-actions.ts';
import type { SimulatedOrder } from './orders.ts';
import type { Random } from './random.ts';
import { type Action, finish, type Run, settle } from './run.ts';

interface Sale {
  readonly order: SimulatedOrder;
  readonly invoice: PlayedInvoice;
}

/** An order with an invoice that can be paid now, a new one if that is needed. */
async function someSale(run: Run, random: Random): Promise<Sale | undefined> {
  const known = random.recent([...run.shopOrders.values()]);
  const shown = known && (await saleOf(run, known));
  if (shown !== undefined) return shown;
  await orderActions.order(run, random);
  const made = [...run.shopOrders.values()].at(-1);
  return made && saleOf(run, made);
}

async function saleOf(run: Run, order: SimulatedOrder): Promise<Sale | undefined> {
  const invoice = await look(run, order);
  return invoice && { order, invoice };
}

/** A wallet pays an invoice, if its node takes that. */
function payTo(run: Run, random: Random, { invoice, state, valueSat }: PlayedInvoice): string {
  const what = `${invoice.slice(-8)}, ${valueSat} sat`;
  if (state !== 'OPEN') return `${what} are ${state}`;
  const more = random.pick([0, 0, 0, 1, valueSat]);
  invoiceAt(run, invoice)?.node.played.pay(invoice, valueSat + more);
  return more === 0 ? what : `${what} and ${more} more`;
}

/** What customers saw and did not pay. */
const unpaid = ({ nodes, shownInvoices }: Run): PlayedInvoice[] =>
  [...nodes.values()]
    .flatMap(({ played }) => played.invoices)
    .filter(({ state, paymentHash }) => state === 'OPEN' && shownInvoices.has(paymentHash));

const payInvoice: Action = async (run, random) => {
  const sale = await someSale(run, random);
  if (sale === undefined) return 'payInvoice: none';
  const paid = payTo(run, random, sale.invoice);
  if (random.chance(0.5)) await run.world.turn();
  return `payInvoice: ${sale.order.id} ${paid}`;
};

/** One that an order may not show any more, or whose order is lost. */
const payOlder: Action = (run, random) => {
  const invoices = unpaid(run);
  if (invoices.length === 0) return payInvoice(run, random);
  return `payOlder: ${payTo(run, random, random.pick(invoices))}`;
};

/** A part on chain, then the rest. Perhaps the first invoice is paid, too. */
const payRest: Action = async (run, random) => {
  const sale = await someSale(run, random);
  if (sale === undefined) return 'payRest: none';
  const { address } = sale.order;
  const valueSat = Math.max(600, Math.floor(sale.invoice.valueSat * random.pick([0.3, 0.5])));
  try {
    run.app.chain.pay([{ address, valueSat }]);
  } catch (error) {
    if (error instanceof PaygateError) return `payRest: refused, ${error.message}`;
    throw error;
  }
  await settle(run);
  return `payRest: ${sale.order.id} ${valueSat} sat on chain, ${await payBoth(run, random, sale)}`;
};

/** A quote ends, a new one has another invoice. */
const payLapsed: Action = async (run, random) => {
  const sale = await someSale(run, random);
  if (sale === undefined) return 'payLapsed: none';
  await run.world.advance(random.pick([6, 18]) * 60_000);
  if (random.chance(0.7)) await requoteOrder(run, sale.order);
  return `payLapsed: ${sale.order.id} ${await payBoth(run, random, sale)}`;
};

/** Pays the invoice of now, the one before, or both. */
async function payBoth(run: Run, random: Random, before: Sale): Promise<string> {
  const now = await look(run, before.order);
  const chosen = random.pick([[before.invoice], [now], [before.invoice, now]]);
  const invoices = new Set(chosen.filter((each) => each !== undefined));
  return [...invoices].map((each) => payTo(run, random, each)).join(' and ');
}

/** An invoice of another program is paid. */
const payForeign: Action = (run, random) => {
  const node = someNode(run, random);
  if (node === undefined) return 'payForeign: no node';
  const { played } = node;
  const { invoice } = played.makeInvoice(random.int(1, 1_000_000));
  played.pay(invoice);
  return `payForeign: ${invoice.slice(-8)}`;
};

const someNode = ({ nodes }: Run, random: Random): SimulatedNode | undefined =>
  nodes.size === 0 ? undefined : random.pick([...nodes.values()]);

/** A node refuses connections for some steps. Its channels go on. */
const nodeAway: Action = async (run, random) => {
  const node = someNode(run, random);
  if (node === undefined || node.isAway) return 'nodeAway: none';
  const lasts = random.int(1, 4);
  const paid = random.chance(0.6) ? `; ${await payInvoice(run, random)}` : '';
  await node.played.stop();
  node.isAway = true;
  run.activeFaults.push({
    untilStep: run.step + lasts,
    end: () => {
      node.isAway = false;
      void node.played.start();
    },
  });
  const late = random.chance(0.6) ? `; ${await payOlder(run, random)}` : '';
  return `nodeAway: for ${lasts} steps${paid}${late}`;
};

const late =
  ({ world }: Run, ms: number): Fault =>
  () =>
    new Promise((resolve) => void world.after(ms, () => resolve(undefined)));

const faults: Readonly<Record<string, (run: Run) => Fault>> = {
  hang: () => () => 'hang',
  reset: () => () => 'reset',
  fail: () => () => ({ status: 500, body: '{"code":2,"message":"wallet is locked"}' }),
  nonsense: () => () => ({ body: '<html>' }),
  slow: (run) => late(run, 1_500),
  slower: (run) => late(run, 3_000),
  tooSlow: (run) => late(run, 12_000),
};

const nodeFault: Action = (run, random) => {
  const node = someNode(run, random);
  if (node === undefined || node.fault !== undefined) return 'nodeFault: none';
  const kind = random.pick(Object.keys(faults));
  const lasts = random.int(1, 3);
  node.fault = faults[kind]?.(run);
  run.activeFaults.push({
    untilStep: run.step + lasts,
    end: () => {
      node.fault = undefined;
    },
  });
  return `nodeFault: ${kind} for ${lasts} steps`;
};

/** A node sends settlements again that are recorded. */
const reportAgain: Action = async (run, random) => {
  const node = someNode(run, random);
  if (node === undefined || node.isAway || node.fault !== undefined) return 'reportAgain: none';
  const { played } = node;
  let count = 0;
  node.fault = ({ path, query }) => {
    const isFirst = path.endsWith('/subscribe') && count === 0;
    if (!isFirst) return undefined;
    count += 1;
    query.set('settle_index', '1');
    return undefined;
  };
  await played.stop();
  await played.start();
  await run.world.advance(5_000);
  node.fault = undefined;
  return `reportAgain: ${count} times`;
};

/** Removes the node of a shop, or sets it again. */
const toggleNode: Action = async (run, random) => {
  const shop = random.pick(run.shops);
  const node = nodeOf(run, shop);
  if (node === undefined) return `toggleNode: ${shop.name} has none`;
  const isSet = random.chance(0.5);
  await setNode(run, shop, isSet ? node.known : undefined);
  return `toggleNode: ${shop.name} ${isSet ? 'has its own' : 'has none now'}`;
};

/** Like kill -9 after a settlement: what was written of it is lost. */
const killAtPayment: Action = async (run, random) => {
  const sale = await someSale(run, random);
  if (sale === undefined) return 'killAtPayment: none';
  const turns = random.int(0, 4);
  let paid = '';
  await loseWrites(run, async () => {
    paid = payTo(run, random, sale.invoice);
    for (let left = turns; left > 0; left -= 1) await run.world.turn();
  });
  await run.app.start();
  return `killAtPayment: ${sale.order.id} ${paid}, after ${turns} turns`;
};

const payWhileStopped: Action = async (run, random) => {
  const sale = await someSale(run, random);
  if (sale === undefined) return 'payWhileStopped: none';
  await finish(run, run.app.stop());
  const paid = payTo(run, random, sale.invoice);
  const minutes = random.pick([0, 6, 18]);
  await run.world.advance(minutes * 60_000);
  await run.app.start();
  return `payWhileStopped: ${sale.order.id} ${paid}, ${minutes} min`;
};

/** The copy has neither the payment nor perhaps the invoice. */
const loseInvoice: Action = async (run, random) => {
  const sale = await someSale(run, random);
  await fileActions.copy(run, random);
  const copy = run.copies.at(-1);
  if (sale === undefined || copy === undefined) return 'loseInvoice: none';
  const how = random.pick([payInvoice, payRest, payLapsed, payOlder]);
  const paid = await how(run, random);
  if (random.chance(0.5)) await run.world.turn();
  return `loseInvoice: ${paid}; ${await restoreCopy(run, random, copy)}`;
};

export const lightningActions = {
  ...{
    payInvoice,
    payOlder,
    payRest,
    payLapsed,
    payForeign,
    nodeAway,
    nodeFault,
    reportAgain,
    toggleNode,
  },
  ...{ killAtPayment, payWhileStopped, loseInvoice },
};

export const lightningWeights: Readonly<Record<keyof typeof lightningActions, number>> = {
  payInvoice: 8,
  payOlder: 5,
  payRest: 4,
  payLapsed: 3,
  payForeign: 2,
  nodeAway: 3,
  nodeFault: 3,
  reportAgain: 2,
  toggleNode: 1,
  killAtPayment: 2,
  payWhileStopped: 2,
  loseInvoice: 1.5,
};
