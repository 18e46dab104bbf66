// The first password of the dashboard, which the environment of the first start gives. It never
// replaces a password.

import { PaygateError, reasonOf } from '../../lib/errors.ts';
import { commandClient } from '../../store/access/audit.ts';
import type { Records } from '../../store/open-records.ts';
import type { World } from '../../world/world.ts';
import { createPasswords } from './password.ts';

export interface FirstPassword {
  readonly setting: string;
  readonly password: string;
}

/** Names and hosts of the stores, which an attacker tries first. */
export const namesOfStores = ({ catalog }: Pick<Records, 'catalog'>): string[] =>
  catalog
    .stores()
    .flatMap(({ name, callbackUrl }) => [name, URL.parse(callbackUrl)?.hostname ?? '']);

/**
 * Sets the password if none is set yet.
 * @param read called only then; undefined without a first password
 * @param publicUrl its host is a name that the password must not be made of
 * @throws PaygateError invalid, naming the setting, if the password is weak
 */
export async function setFirstPassword(
  records: Records,
  world: World,
  read: () => FirstPassword | undefined,
  publicUrl: string | undefined,
): Promise<void> {
  const { admin, audit, database } = records;
  const first = admin.operator() === undefined ? read() : undefined;
  if (first === undefined) return;
  const { setting, password } = first;
  const passwords = createPasswords((length) => world.randomBytes(length));
  const names = [...namesOfStores(records), URL.parse(publicUrl ?? '')?.hostname ?? ''];
  const hash = await passwords.hash(password, names).catch((error: unknown) => {
    throw new PaygateError('invalid', `${setting}: ${reasonOf(error)}`);
  });
  const now = world.now();
  await database.write((tx) => {
    admin.setPassword(tx, now, hash);
    audit.noteChange(tx, now, commandClient, 'password.set', { by: 'first start' });
  });
  world.log.info('the first password of the dashboard is set', { setting });
}
