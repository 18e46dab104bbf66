// The version of this paygate, as its package says, and when it was released.

import manifest from '../../package.json' with { type: 'json' };

export const version: string = manifest.version;

/** Epoch milliseconds, raised with each release: a clock that shows an earlier time is wrong. */
export const releasedAt = Date.UTC(2026, 10, 21);
