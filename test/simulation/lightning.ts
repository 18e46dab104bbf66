// Lightning nodes of the shops, and the invoices that customers saw. A node is outside of paygate
// and its file, as the chain is: it survives power losses and restores.

import type { OrderJson } from '../../src/domain/order/order-json.ts';
import type { KnownNode } from '../../src/domain/store/lightning-node.ts';
import { PaygateError } from '../../src/lib/errors.ts';
import { checkNode } from '../../src/lightning/open-node.ts';
import {
  type Fault,
  type PlayedInvoice,
  type PlayedNode,
  startLnd,
} from '../support/lightning-nodes.ts';
import { createRandom, type Random } from './random.ts';
import type { Shop } from './recount.ts';
import { finish, noteVersion, type Run } from './run.ts';

export interface SimulatedNode {
  readonly played: PlayedNode;
  readonly known: KnownNode;
  /** How it answers for some steps. */
  fault: Fault | undefined;
  isAway: boolean;
}

/** Choices about Lightning have a source of their own, so that all others stay as they are. */
export const lightningRandom = ({ seed }: Pick<Run, 'seed'>, step: number): Random =>
  createRandom(seed ^ 0x4c4e4400, step);

/** Gives half of the shops a node. */
export async function giveNode(run: Run, shop: Shop): Promise<void> {
  const { world, nodes } = run;
  const random = lightningRandom(run, -1 - nodes.size);
  if (random.chance(0.5)) return;
  // A node on the machine of paygate has its clock.
  const now = random.chance(0.5) ? () => world.now() : () => world.trueNow();
  const played = await startLnd({ now, signer: nodes.size + 1 });
  // Some are built without what cancels.
  const canCancel = random.chance(0.5);
  const { url, credential } = played;
  try {
    const asked = { kind: 'lnd', url, credential } as const;
    const checking = checkNode(world, asked, { network: 'regtest' });
    const { node: known, cursor } = await finish(run, checking);
    const node: SimulatedNode = { played, known, fault: undefined, isAway: false };
    played.fault = (request) => {
      const isRefused = request.path.endsWith('/cancel') && !canCancel;
      return node.fault?.(request) ?? (isRefused ? { status: 404, body: 'Not Found' } : undefined);
    };
    nodes.set(url, node);
    shop.node = url;
    await setNode(run, shop, known, cursor);
  } catch (error) {
    await played.stop();
    // The clock of the machine is wrong.
    if (!(error instanceof PaygateError)) throw error;
  }
}

/** Like `store lightning`. */
export const setNode = (run: Run, { id }: Shop, node?: KnownNode, cursor = ''): Promise<void> =>
  run.app.withStore(({ lightningInvoices, database }) =>
    database.write((tx) => lightningInvoices.setNode(tx, run.world.now(), id, node, cursor)),
  );

/** The operator's repairs: each shop has its node again. */
export async function setNodes(run: Run): Promise<void> {
  for (const shop of run.shops) {
    const node = nodeOf(run, shop);
    if (node !== undefined) await setNode(run, shop, node.known);
  }
}

export const nodeOf = ({ nodes }: Run, { node }: Shop): SimulatedNode | undefined =>
  nodes.get(node ?? '');

export function invoiceAt({ nodes }: Run, wanted: string) {
  for (const node of nodes.values()) {
    const invoice = node.played.invoices.find((each) => each.invoice === wanted);
    if (invoice !== undefined) return { node, invoice };
  }
  return undefined;
}

/** A customer looks at an order. @returns the invoice that they can pay now */
export async function look(
  run: Run,
  { id }: { readonly id: string },
): Promise<PlayedInvoice | undefined> {
  const { status, body } = await finish(run, run.app.ask(`/api/v3/orders/${id}`));
  if (status !== 200) throw new Error(`no order ${id}: ${status} ${JSON.stringify(body)}`);
  noteVersion(run, id, body.version);
  const wrong = wrongShown(run, body);
  if (wrong !== undefined) throw new Error(`${wrong}: ${JSON.stringify(body)}`);
  return shownOf(run, body);
}

const shownOf = (run: Run, { lightning }: OrderJson): PlayedInvoice | undefined =>
  lightning === null ? undefined : invoiceAt(run, lightning.invoice)?.invoice;

/** Notes an invoice that an order shows. @returns why no customer may see it */
export function wrongShown(run: Run, order: OrderJson): string | undefined {
  const { id, lightning } = order;
  if (lightning === null) return undefined;
  const invoice = shownOf(run, order);
  if (invoice === undefined) return 'its invoice is of no node';
  const { paymentHash, valueSat, text } = invoice;
  const owner = run.shownInvoices.get(paymentHash) ?? id;
  run.shownInvoices.set(paymentHash, owner);
  if (owner !== id || !text.endsWith(` ${id}`)) return `its invoice is of the order ${owner}`;
  if (valueSat !== lightning.amount_sat || valueSat !== order.missing_sat) {
    return `its invoice is for ${valueSat} sat`;
  }
  return lightning.expires_at * 1000 + 1000 > run.world.now() ? undefined : 'its invoice is over';
}
