// One-time links to the dashboard: who opens one sets the password. They are printed where only who runs
// paygate reads, and are in no page.

import { minuteMs } from '../lib/time-units.ts';
import type { Store } from '../store/open-store.ts';
import { linkMs } from '../store/records/admin.ts';
import type { World } from '../world/world.ts';
import { base } from './page.ts';

const tokenBytes = 32;
/** How long one is good for. */
export const signInLinkMinutes = linkMs / minuteMs;

/**
 * Makes a link; the one before is not valid any more.
 * @param origin under which the dashboard is reached
 */
export async function createSignInLink(
  { admin, database }: Pick<Store, 'admin' | 'database'>,
  { now, randomBytes }: Pick<World, 'now' | 'randomBytes'>,
  origin: string,
): Promise<string> {
  const token = Buffer.from(randomBytes(tokenBytes)).toString('base64url');
  await database.write((tx) => admin.addLink(tx, now(), token));
  return `${origin}${base}/enter?token=${token}`;
}
