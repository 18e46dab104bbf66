// The sender of test deliveries at the command line.

import { type Config, readConfig } from '../config.ts';
import { createSender, type Sender } from '../delivery/sender.ts';
import { type ListenAddress, listenAddressesOf } from '../domain/delivery/public-endpoint.ts';
import { version } from '../lib/version.ts';
import type { SocksProxy } from '../world/world.ts';
import { world } from './command.ts';

export function cliSender(given: SocksProxy | undefined): Sender {
  // A server with the same environment listens there.
  const config = readConfig({}, process.env);
  return createSender(world, {
    version: version.split('.').slice(0, 2).join('.'),
    listeners: () => allListeners(config),
    proxy: given ?? config.proxy,
  });
}

/** Every address at which a server with these options listens. */
export const allListeners = (config: Config): ListenAddress[] =>
  [...listenAddressesOf(config), config.metricsListen ?? []].flat();
