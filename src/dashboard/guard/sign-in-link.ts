// One-time links to the dashboard: opening one sets the password. paygate prints them only where
// its operator reads, and never on a page.

import { minuteMs } from '../../lib/time-units.ts';
import { linkMs } from '../../store/access/admin.ts';
import type { Records } from '../../store/open-records.ts';
import type { World } from '../../world/world.ts';
import { base } from '../page.ts';

const tokenBytes = 32;
export const signInLinkMinutes = linkMs / minuteMs;

/**
 * Creates a link and ends the previous one.
 * @param origin the origin of the dashboard
 */
export async function createSignInLink(
  { admin, database }: Pick<Records, 'admin' | 'database'>,
  { now, randomBytes }: Pick<World, 'now' | 'randomBytes'>,
  origin: string,
): Promise<string> {
  const token = Buffer.from(randomBytes(tokenBytes)).toString('base64url');
  await database.write((tx) => admin.addLink(tx, now(), token));
  return `${origin}${base}/enter?token=${token}`;
}
