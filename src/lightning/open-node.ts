// Opens a node of either kind.

import type { NetworkName } from '../bitcoin/network.ts';
import type { KnownNode, NodeSettings } from '../domain/store/lightning-node.ts';
import type { SocksProxy, World } from '../world/world.ts';
import { Lnd } from './lnd.ts';
import type { LightningNode } from './node.ts';
import { NodeConnection } from './node-connection.ts';
import { Phoenixd } from './phoenixd.ts';

export interface NodeOptions {
  /** Its invoices must be of this network. */
  readonly network: NetworkName;
  /** The way to a node that is not on this machine or in a private network. */
  readonly proxy?: SocksProxy | undefined;
}

/**
 * Connects to nothing yet.
 * @param node as it is stored, or as it was entered for a check
 */
export function openNode(
  world: World,
  node: NodeSettings | KnownNode,
  { network, proxy }: NodeOptions,
): LightningNode {
  const isLnd = node.kind === 'lnd';
  const password = Buffer.from(`:${node.credential}`).toString('base64');
  const headers: Record<string, string> = isLnd
    ? { 'grpc-metadata-macaroon': node.credential, 'content-type': 'application/json' }
    : {
        authorization: `Basic ${password}`,
        'content-type': 'application/x-www-form-urlencoded',
      };
  const connection = new NodeConnection(world, node, headers, proxy);
  const parts = { world, node, network, connection };
  return isLnd ? new Lnd(parts) : new Phoenixd(parts);
}

/**
 * Asks a node that was entered whether it makes invoices and cannot spend.
 * @returns what is stored, and the first cursor
 * @throws PaygateError see `LightningNode`
 */
export async function checkNode(
  world: World,
  asked: NodeSettings,
  options: NodeOptions,
): Promise<{ readonly node: KnownNode; readonly cursor: string }> {
  const { cursor, ...identity } = await openNode(world, asked, options).check();
  return { node: { ...asked, ...identity }, cursor };
}

export type CheckedNode = Awaited<ReturnType<typeof checkNode>>;
