// The container of paygate: its program, its files, and its settings that never change.

import type { T } from '@start9labs/start-sdk';
import { sdk } from './sdk';

export const program = '/usr/local/bin/paygate';
export const port = 8080;
export const hostId = 'main';
export const database = '/data/paygate.db';
const image = { imageId: 'main' } as const;

const mounts = () =>
  sdk.Mounts.of().mountVolume({
    volumeId: 'main',
    subpath: null,
    mountpoint: '/data',
    readonly: false,
  });

export const container = (effects: T.Effects) =>
  sdk.SubContainer.of(effects, image, mounts(), 'paygate');

/**
 * Runs a command beside the service, on the same files.
 * @returns its output
 * @throws an error if it fails
 */
export async function run(effects: T.Effects, ...command: string[]): Promise<string> {
  return sdk.SubContainer.withTemp(effects, image, mounts(), 'paygate-command', async (sub) => {
    // The volume belongs to root. The container is unprivileged, so this is no root of the machine.
    const { stdout } = await sub.execFail([program, ...command], { user: 'root' });
    return String(stdout).trim();
  });
}
