import { FileHelper, z } from '@start9labs/start-sdk';
import { sdk } from '../sdk';

/** `public` uses the built-in list of public servers. */
export const servers = ['electrs', 'fulcrum', 'public'] as const;

/** What the owner has chosen. It is no part of paygate's own data. */
export const storeFile = FileHelper.json(
  { base: sdk.volumes.startos, subpath: '/store.json' },
  z.object({ server: z.enum(servers).optional().catch(undefined) }),
);
