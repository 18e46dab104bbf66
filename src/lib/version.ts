// The version of this paygate, from `package.json`, and its release date.

import manifest from '../../package.json' with { type: 'json' };

export const version: string = manifest.version;

/** Epoch milliseconds; each release raises it. A clock that shows an earlier time is wrong. */
export const releasedAt = Date.UTC(2026, 10, 21);
