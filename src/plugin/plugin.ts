// A shop plugin's archive, rewritten to talk to this paygate, with an account of what was changed and
// what was left. It touches no file: an archive comes in and an archive goes out.

import { PaygateError } from '../errors.ts';
import { type Entry, readArchive, writeArchive } from './archive.ts';
import { type Change, type Left, rewriteText, type Target } from './rewrite.ts';

export interface PluginReport {
  readonly changed: readonly (Change & { readonly file: string })[];
  readonly left: readonly (Left & { readonly file: string })[];
  /** Files of kinds that no program runs (documents, translations) and that name the service. */
  readonly untouched: readonly string[];
}

/** Code, templates and settings: what a shop reads when it runs. */
const read =
  /\.(php\d?|phtml|inc|tpl|twig|[cm]?[jt]s|[jt]sx|vue|xml|json|html?|ini|ya?ml|neon|graphqls?)$/i;
const domain = Buffer.from('blockonomics.co');

/** @throws PaygateError invalid for an unsafe archive, and for one in which nothing is to change */
export async function rewritePlugin(
  archive: Buffer,
  target: Target,
): Promise<{ readonly archive: Buffer; readonly report: PluginReport }> {
  const entries = await readArchive(archive);
  const changed: PluginReport['changed'][number][] = [];
  const left: PluginReport['left'][number][] = [];
  const untouched: string[] = [];
  const rewritten = entries.map((entry): Entry => {
    const { name: file, content } = entry;
    if (!read.test(file)) {
      if (content.includes(domain)) untouched.push(file);
      return entry;
    }
    const result = rewriteText(content.toString('latin1'), file, target);
    changed.push(...result.changes.map((change) => ({ file, ...change })));
    left.push(...result.left.map((each) => ({ file, ...each })));
    return { ...entry, content: Buffer.from(result.text, 'latin1') };
  });
  if (changed.length === 0) {
    throw new PaygateError(
      'invalid',
      'nothing in this archive talks to that service: it is not such a plugin, or was rewritten already',
    );
  }
  return { archive: await writeArchive(rewritten), report: { changed, left, untouched } };
}
