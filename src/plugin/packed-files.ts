// Searches archives and compressed files inside a plugin's archive for the name of the service. The
// unpacked size is limited, because a hostile archive may contain many bombs.

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { limits, readArchive } from './archive.ts';
import { refuseArchive } from './entry-names.ts';

/** Limit for everything that is unpacked for this search. */
export const unpackedLimit = limits.unpackedBytes;
const maxNesting = 3;
const zipStart = Buffer.from('PK\x03\x04', 'latin1');
const gzipStart = Buffer.from([0x1f, 0x8b]);

/**
 * @param budget how many bytes may still be unpacked; less afterwards
 * @throws PaygateError invalid where more would have to be unpacked
 */
export async function isNamedInside(
  name: string,
  content: Buffer,
  domain: RegExp,
  budget: { bytes: number },
  depth = 0,
): Promise<boolean> {
  for (const each of await unpack(name, content, budget)) {
    spend(budget, each.content.length);
    if (domain.test(each.content.toString('latin1'))) return true;
    if (depth + 1 >= maxNesting) continue;
    if (await isNamedInside(each.name, each.content, domain, budget, depth + 1)) return true;
  }
  return false;
}

/** @throws PaygateError invalid if the budget is exhausted */
function spend(budget: { bytes: number }, bytes: number): void {
  budget.bytes -= bytes;
  if (budget.bytes >= 0) return;
  refuseArchive(`what is packed inside of it is larger than ${unpackedLimit / 1024 / 1024} MiB`);
}

interface PackedFile {
  readonly name: string;
  readonly content: Buffer;
}

/** Unpacks one level; returns nothing for what is not packed, damaged, or of an unknown format. */
async function unpack(
  name: string,
  content: Buffer,
  budget: { bytes: number },
): Promise<readonly PackedFile[]> {
  const options = { maxOutputLength: Math.max(1, budget.bytes) };
  try {
    if (content.subarray(0, 4).equals(zipStart)) return await readArchive(content);
    if (content.subarray(0, 2).equals(gzipStart)) {
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
