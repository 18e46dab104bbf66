// Searches archives and compressed files inside a plugin's archive for the name of the service. The
// unpacked size is limited, because a hostile archive may contain many bombs.

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { limits, readArchive, refuseArchive } from './archive.ts';

const maxNesting = 3;

/** How many bytes may still be unpacked for this search. */
export interface UnpackBudget {
  bytes: number;
}

export const fullBudget = (): UnpackBudget => ({ bytes: limits.unpackedBytes });

/** @throws PaygateError invalid where more would have to be unpacked than the budget allows */
export async function isNamedInside(
  name: string,
  content: Buffer,
  domain: RegExp,
  budget: UnpackBudget,
  depth = 1,
): Promise<boolean> {
  for (const inner of await unpack(name, content, budget)) {
    spend(budget, inner.content.length);
    if (domain.test(inner.content.toString('latin1'))) return true;
    if (depth >= maxNesting) continue;
    if (await isNamedInside(inner.name, inner.content, domain, budget, depth + 1)) return true;
  }
  return false;
}

function spend(budget: UnpackBudget, bytes: number): void {
  budget.bytes -= bytes;
  if (budget.bytes >= 0) return;
  const mebi = limits.unpackedBytes / 1024 / 1024;
  refuseArchive(`what is packed inside of it is larger than ${mebi} MiB`);
}

/** Unpacks one level; returns nothing for what is not packed, damaged, or of an unknown format. */
async function unpack(
  name: string,
  content: Buffer,
  budget: UnpackBudget,
): Promise<readonly { readonly name: string; readonly content: Buffer }[]> {
  const options = { maxOutputLength: Math.max(1, budget.bytes) };
  const start = content.toString('latin1', 0, 4);
  try {
    if (start === 'PK\x03\x04') return await readArchive(content);
    if (start.startsWith('\x1f\x8b')) {
      return [{ name: '', content: gunzipSync(content, options) }];
    }
    if (!/\.br$/i.test(name)) return [];
    return [{ name: '', content: brotliDecompressSync(content, options) }];
  } catch {
    // It may have been unpacked almost completely before it failed.
    spend(budget, Math.max(limits.ratioFromBytes, content.length * limits.ratio));
    return [];
  }
}
