// The doctor's check of Lightning nodes: each makes an invoice for a trial, and must deny to spend.

import { reasonOf } from '../lib/errors.ts';
import { type NodeOptions, openNode } from '../lightning/open-node.ts';
import type { Records } from '../store/open-records.ts';
import type { World } from '../world/world.ts';
import { type Check, fail, ok } from './doctor-check.ts';

/** One for each store that has a node. */
export const lightningChecks = (
  world: World,
  records: Pick<Records, 'catalog' | 'state' | 'network'> | undefined,
  options: Omit<NodeOptions, 'network'>,
): Check[] =>
  (records?.catalog.stores() ?? []).flatMap(({ id }): Check[] => {
    const node = records?.state.lightningNode(id).read();
    if (records === undefined || node === undefined) return [];
    const { network } = records;
    const place = `Lightning node ${node.url} of store ${id}`;
    return [
      {
        name: 'lightning',
        async run() {
          try {
            await openNode(world, node, { ...options, network }).check();
            return ok(`the ${place} makes invoices, and its credential cannot spend`);
          } catch (error) {
            return fail(`the ${place}: ${reasonOf(error)}`);
          }
        },
      },
    ];
  });
