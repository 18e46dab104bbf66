// How this room says no: everything that comes from outside and is not what it should be ends here.

import { PaygateError } from '../lib/errors.ts';

/** @throws PaygateError invalid, always */
export function refuse(why: string): never {
  throw new PaygateError('invalid', why);
}
