// Rewrites the archive of a shop plugin for this paygate, and reports what changed and what was
// left. It touches no file: an archive comes in, an archive goes out.

import { PaygateError } from '../lib/errors.ts';
import { type ArchiveEntry, readArchive, writeArchive } from './archive.ts';
import { missingAtTop, type RecognisedPlugin, recognise } from './families.ts';
import { isDocument, isPacked } from './file-kinds.ts';
import type { PluginTarget } from './mention.ts';
import { isNamedInside, unpackedLimit } from './packed-files.ts';
import { type LeftMention, type MentionChange, receiptPartsOf, rewriteText } from './rewrite.ts';
import { switchUpdatesOff } from './update-switch.ts';

export interface PluginReport {
  readonly changed: readonly (MentionChange & { readonly file: string })[];
  /** An entry without `line` concerns the whole file. */
  readonly left: readonly (Omit<LeftMention, 'line'> & {
    readonly file: string;
    readonly line?: number;
  })[];
  /** Documents and translations that name the service. */
  readonly untouched: readonly string[];
}

export interface RewrittenPlugin {
  readonly archive: Buffer;
  readonly plugin: RecognisedPlugin;
  readonly report: PluginReport;
}

const domain = /blockonomics\.co(?![a-z0-9-]|\.[a-z0-9])/i;
/** Source maps: only debuggers read them. */
const sourceMap = /\.map$/i;

const reasons = {
  map: 'a source map, which only a debugger reads',
  packed: 'the service is named in a file that is not text: replace it, or ask who made the plugin',
  top: 'the installer of OpenCart 3 copies only this folder, that of OpenCart 4 needs install.json at the top: take a release, or pack the files in this folder',
  inside: 'an archive in the archive names the service: rewrite that one too, and put it back',
};

/** @throws PaygateError invalid for an unsafe archive, and for one in which nothing is to change */
export async function rewritePlugin(
  archive: Buffer,
  target: PluginTarget,
): Promise<RewrittenPlugin> {
  const entries = await readArchive(archive);
  const changed: PluginReport['changed'][number][] = [];
  const left: PluginReport['left'][number][] = [];
  const untouched: string[] = [];
  const receipts = receiptPartsOf(entries.filter(isRead).map(textOf));
  const budget = { bytes: unpackedLimit };
  const rewritten: ArchiveEntry[] = [];
  for (const entry of entries) {
    const { name: file } = entry;
    if (isRead(entry)) {
      const result = rewriteText(textOf(entry), file, target, receipts);
      changed.push(...result.changes.map((change) => ({ file, ...change })));
      left.push(...result.left.map((each) => ({ file, ...each })));
      rewritten.push({ ...entry, content: Buffer.from(result.text, 'latin1') });
      continue;
    }
    rewritten.push(entry);
    if (isDocument(file)) {
      if (domain.test(textOf(entry))) untouched.push(file);
    } else left.push(...(await packedMentions(entry, budget)));
  }
  const plugin = recognise(entries.filter(isRead).map(headOf));
  const isOfService = changed.length > 0 || left.some(({ look }) => look);
  const written =
    isOfService || plugin.family !== null ? withoutUpdates(rewritten, changed) : rewritten;
  const report = { changed, left, untouched };
  refuseEmpty(report);
  const names = entries.map(({ name }) => name);
  const missing = missingAtTop(plugin, names);
  if (missing !== undefined)
    left.push({ file: missing, text: 'missing', why: reasons.top, look: true });
  return { archive: await writeArchive(written), plugin, report };
}

/** The plugin's main files with the switch that keeps WordPress from updating them. */
function withoutUpdates(
  entries: readonly ArchiveEntry[],
  changed: PluginReport['changed'][number][],
): ArchiveEntry[] {
  return entries.map((entry) => {
    const result = isRead(entry) ? switchUpdatesOff(textOf(entry), entry.name) : undefined;
    if (result?.change === undefined) return entry;
    changed.push({ file: entry.name, ...result.change });
    return { ...entry, content: Buffer.from(result.text, 'latin1') };
  });
}

const textOf = ({ content }: ArchiveEntry): string => content.toString('latin1');
/** As much of a file as can state its version. */
const headBytes = 65_536;
const headOf = ({ name, content }: ArchiveEntry) => ({
  name,
  head: content.toString('latin1', 0, headBytes),
});
const isRead = ({ name, content }: ArchiveEntry): boolean =>
  !isDocument(name) && !isPacked(name) && !content.includes(0);

/** The mentions in a file that cannot be rewritten. */
async function packedMentions(
  entry: ArchiveEntry,
  budget: { bytes: number },
): Promise<PluginReport['left'][number][]> {
  const { name: file, content } = entry;
  const text = 'blockonomics.co';
  if (domain.test(textOf(entry)) || content.includes(Buffer.from(text, 'utf16le'))) {
    const isMap = sourceMap.test(file);
    return [{ file, text, why: isMap ? reasons.map : reasons.packed, look: !isMap }];
  }
  if (!(await isNamedInside(file, content, domain, budget))) return [];
  return [{ file, text, why: reasons.inside, look: true }];
}

/** @throws PaygateError invalid if nothing changed and nothing needs a change by hand */
function refuseEmpty({ changed, left, untouched }: PluginReport): void {
  if (changed.length > 0 || left.some(({ look }) => look)) return;
  const files = [...new Set([...left.map(({ file }) => file), ...untouched])];
  const shown = files.slice(0, 5).map((file) => JSON.stringify(file.slice(0, 100)));
  if (shown.length === 0) {
    throw new PaygateError(
      'invalid',
      'nothing in this archive names that service: it is another plugin, or was rewritten already',
    );
  }
  throw new PaygateError(
    'invalid',
    `nothing in this archive is to change: it names that service in links for people and in documents only (${shown.join(', ')}${files.length > shown.length ? ' …' : ''}), or was rewritten already`,
  );
}
