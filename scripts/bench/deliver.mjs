// `node deliver.mjs DATABASE`: the dispatcher of paygate and nothing else, a process of its own. It prints
// "ready" and the memory it holds, begins when it is told anything, and prints the most that it held when
// its input ends, both in KiB.

import { once } from 'node:events';
import { CallbackDispatcher } from '../../src/delivery/dispatcher.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { openStore } from '../../src/store/open-store.ts';
import { createNodeWorld } from '../../src/world/node-world.ts';

const [path = ''] = process.argv.slice(2);
const world = createNodeWorld({ logLevel: 'error' });
const { database, outbox } = await openStore({
  path,
  create: false,
  network: undefined,
  newInstance: () => '',
});
const sender = createSender(world, { version: '0.1', listeners: () => [] });
const dispatcher = new CallbackDispatcher({ world, database, outbox, sender });
process.stdin.once('end', () => {
  const { maxRSS } = process.resourceUsage();
  console.log(`held ${maxRSS}`);
  process.exit(0);
});
console.log(`ready ${process.resourceUsage().maxRSS}`);
await once(process.stdin, 'data');
await dispatcher.start();
