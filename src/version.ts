// The version of this paygate, as its package says.

import manifest from '../package.json' with { type: 'json' };

/**
 * A day before this version was made, epoch milliseconds: no clock that is right shows an earlier one. Set by
 * hand at a release, so that the same sources make the same bytes.
 */
export const madeAfter: number = Date.UTC(2026, 10, 1);

export const version: string = manifest.version;
