// The Electrum server that the owner has chosen.

import type { T } from '@start9labs/start-sdk';
import { storeFile } from './fileModels/store';
import { sdk } from './sdk';

/** Both listen for plain Electrum connections of the machine there. */
const electrumPort = 50001;
const hostIds = { electrs: 'electrum', fulcrum: 'main' } as const;

/** Undefined before the choice. */
export const chosenServer = (effects: T.Effects) =>
  storeFile.read((store) => store.server).const(effects);

/** The values of `--electrum`; empty for public servers. */
export async function electrumUrls(effects: T.Effects): Promise<string> {
  const server = await chosenServer(effects);
  if (server === undefined || server === null || server === 'public') return '';
  const address = await sdk.host
    .getBridgeAddress(effects, {
      packageId: server,
      hostId: hostIds[server],
      internalPort: electrumPort,
    })
    .const();
  // No public server instead of it: that one would learn the addresses.
  if (address === null) throw new Error(`${server} is not available yet`);
  return `tcp://${address}?own`;
}
