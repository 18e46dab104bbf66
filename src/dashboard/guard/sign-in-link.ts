// One-time links to the dashboard: opening one sets the password of its person. paygate prints the
// owner's only where its operator reads, and never on a page.

import { PaygateError } from '../../lib/errors.ts';
import { minuteMs } from '../../lib/time-units.ts';
import { linkMsOf, ownerId } from '../../store/access/admin.ts';
import type { Records } from '../../store/open-records.ts';
import type { World } from '../../world/world.ts';
import { base } from '../page.ts';

const tokenBytes = 32;

export const signInLinkMinutes = (personId: number = ownerId): number =>
  linkMsOf(personId) / minuteMs;

/**
 * Creates a link and ends the person's previous one.
 * @param origin the origin of the dashboard
 * @throws PaygateError not_found if the person was removed
 */
export async function createSignInLink(
  { admin, database }: Pick<Records, 'admin' | 'database'>,
  { now, randomBytes }: Pick<World, 'now' | 'randomBytes'>,
  origin: string,
  personId: number = ownerId,
): Promise<string> {
  const token = Buffer.from(randomBytes(tokenBytes)).toString('base64url');
  const account = admin.of(personId);
  await database.write((tx) => {
    // The owner's first link comes before the owner.
    if (personId !== ownerId && account.person() === undefined) {
      throw new PaygateError('not_found', 'This viewer was removed.');
    }
    account.addLink(tx, now(), token);
  });
  return `${origin}${base}/enter?token=${token}`;
}
