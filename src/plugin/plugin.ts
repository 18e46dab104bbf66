// Rewrites the archive of a shop plugin for this paygate, and reports what changed and what was
// left. It touches no file: an archive comes in, an archive goes out.

import { PaygateError } from '../lib/errors.ts';
import { type ArchiveEntry, readArchive, writeArchive } from './archive.ts';
import { missingAtTop, type RecognisedPlugin, recognise } from './families.ts';
import { fullBudget, isNamedInside, type UnpackBudget } from './packed-files.ts';
import {
  type LeftMention,
  type MentionChange,
  type PluginTarget,
  receiptPartsOf,
  rewriteText,
} from './rewrite.ts';
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
  readonly names: readonly string[];
  readonly report: PluginReport;
}

/**
 * Documents, and translations: these hold the plugin's texts as they were, by which gettext finds
 * them. A text that was rewritten is shown untranslated, so with the right link.
 */
const documents =
  /\.(?:md|markdown|txt|rst|adoc|asciidoc|textile|rtf|pdf|docx?|odt|po|pot|mo|eml)$|(?:^|\/)(?:readme|change_?logs?|changes|history|licen[cs]e|copying|authors|contributors|contributing|notice|credits|security|code_of_conduct)(?:[-_](?:[a-z]{2}(?:[-_][a-z]{2})?|mit|apache|gpl))?(?:\.html?)?$/i;
/** Files that are not text: compiled programs, archives, pictures, source maps. */
const packed =
  /\.(?:phar|wasm|map|zip|jar|war|aar|gz|tgz|tar|bz2|xz|7z|rar|br|zst|exe|dll|so|dylib|class|py[co]|node|s?db|sqlite3?|png|jpe?g|gif|webp|avif|ico|woff2?|ttf|otf|eot)$/i;
const domain = /blockonomics\.co(?![a-z0-9-]|\.[a-z0-9])/i;

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
  const sources = entries.filter(isSource);
  const receipts = receiptPartsOf(sources.map(textOf));
  const budget = fullBudget();
  const texts = new Map<string, string>();
  for (const entry of entries) {
    const { name: file } = entry;
    if (isSource(entry)) {
      const result = rewriteText(textOf(entry), file, target, receipts);
      changed.push(...result.changes.map((change) => ({ file, ...change })));
      left.push(...result.left.map((each) => ({ file, ...each })));
      texts.set(file, result.text);
    } else if (!documents.test(file)) left.push(...(await packedMentions(entry, budget)));
    else if (domain.test(textOf(entry))) untouched.push(file);
  }
  const plugin = recognise(sources.map(({ name, content }) => ({ name, head: headOf(content) })));
  if (changed.length > 0 || left.some(({ look }) => look) || plugin.family !== null) {
    for (const [file, text] of texts) {
      const result = switchUpdatesOff(text, file);
      if (result?.change === undefined) continue;
      changed.push({ file, ...result.change });
      texts.set(file, result.text);
    }
  }
  const report = { changed, left, untouched };
  refuseEmpty(report);
  const names = entries.map(({ name }) => name);
  const missing = missingAtTop(plugin, names);
  if (missing !== undefined)
    left.push({ file: missing, text: 'missing', why: reasons.top, look: true });
  const written = entries.map((entry) => {
    const text = texts.get(entry.name);
    return text === undefined ? entry : { ...entry, content: Buffer.from(text, 'latin1') };
  });
  return { archive: await writeArchive(written), plugin, names, report };
}

const textOf = ({ content }: ArchiveEntry): string => content.toString('latin1');
/** As much of a file as can state its version. */
const headOf = (content: Buffer): string => content.toString('latin1', 0, 65_536);
const isSource = ({ name, content }: ArchiveEntry): boolean =>
  !documents.test(name) && !packed.test(name) && !content.includes(0);

/** The mention in a file that cannot be rewritten. */
async function packedMentions(
  { name: file, content }: ArchiveEntry,
  budget: UnpackBudget,
): Promise<PluginReport['left'][number][]> {
  const text = 'blockonomics.co';
  if (domain.test(content.toString('latin1')) || content.includes(Buffer.from(text, 'utf16le'))) {
    const isMap = /\.map$/i.test(file);
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
  const more = files.length > shown.length ? ' …' : '';
  throw new PaygateError(
    'invalid',
    shown.length === 0
      ? 'nothing in this archive names that service: it is another plugin, or was rewritten already'
      : `nothing in this archive is to change: it names that service in links for people and in documents only (${shown.join(', ')}${more}), or was rewritten already`,
  );
}
