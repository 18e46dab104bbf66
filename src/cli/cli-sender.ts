// The sender of test deliveries at the command line.

import { readConfig } from '../config.ts';
import { createSender, type Sender } from '../delivery/sender.ts';
import { version } from '../lib/version.ts';
import type { SocksProxy } from '../world/world.ts';
import { world } from './command.ts';

export function cliSender(given: SocksProxy | undefined): Sender {
  // A server with the same environment listens there.
  const { listen, proxy } = readConfig({}, process.env);
  return createSender(world, {
    version: version.split('.').slice(0, 2).join('.'),
    listeners: () => [listen],
    proxy: given ?? proxy,
  });
}
