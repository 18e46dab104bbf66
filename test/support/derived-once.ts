// A worker derives each child key once. The apps and stores of tests have the same few wallets. To
// derive their first addresses anew costs a third of an app's start.

import { LRUCache } from 'lru-cache';
import { ExtendedKey } from '../../src/bitcoin/extended-key.ts';

const maxChildren = 10_000;

// Vitest runs this for each file of a worker, whose files share the modules.
if (ExtendedKey.prototype.child.name !== 'childOnce') {
  const derive = ExtendedKey.prototype.child;
  const known = new LRUCache<string, ExtendedKey>({ max: maxChildren });
  ExtendedKey.prototype.child = function childOnce(index) {
    const bytes = Buffer.concat([this.publicKey, this.chainCode]);
    const name = `${bytes.toString('latin1')}${index}`;
    const child = known.get(name) ?? derive.call(this, index);
    if (child !== undefined) known.set(name, child);
    return child;
  };
}
