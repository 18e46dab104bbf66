// `paygate plugin FILE.zip --url URL -o OUT.zip`: writes a copy of a shop plugin that calls this
// paygate.

import { open, readFile, rm, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Command } from 'commander';
import { formatCount, plainText } from '../../domain/text/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import { limits } from '../../plugin/archive.ts';
import { nameError } from '../../plugin/families.ts';
import { nextSteps, pageOf, titleOf } from '../../plugin/next-steps.ts';
import { type PluginReport, type RewrittenPlugin, rewritePlugin } from '../../plugin/plugin.ts';
import { parseTarget } from '../../plugin/rewrite.ts';
import { print } from '../command.ts';

interface RewriteOptions {
  readonly url: string;
  readonly output: string;
  readonly json?: boolean;
}

const about = `
It changes the hosts of the API and of the live socket, links to receipts, and links of the plugin's
wizard, which then open the Stores page. It sets the header that keeps WordPress from updating the plugin.
It prints each change, and what it left: links for people, documents, other coins.
LOOK AT THIS comes first: places that it could not rewrite, requests that paygate answers otherwise,
and scripts that a customer's browser would load from the old host. Change them by hand.
The next steps for this plugin come last.

Exit codes: 0 success; 3 the archive was written, but LOOK AT THIS has entries; 2 nothing was written:
nothing to change, an unsafe archive, or invalid usage.`;

/** The archive is written, but needs changes by hand. */
const exitUnfinished = 3;

export function rewriteCommand(): Command {
  return new Command('rewrite')
    .description('write a copy of a shop plugin that calls this paygate')
    .argument('<file>', 'zip archive of a plugin of the Blockonomics family')
    .requiredOption('--url <url>', 'URL at which the shop reaches this paygate, without a path')
    .requiredOption('-o, --output <file>', 'archive to write; must not exist yet')
    .option('--json', 'print JSON')
    .addHelpText('after', about)
    .action(rewrite);
}

async function rewrite(file: string, given: RewriteOptions): Promise<void> {
  const target = parseTarget(given.url);
  const { output } = given;
  const rewritten = await rewritePlugin(await readInput(file), target);
  const { archive, plugin, report } = rewritten;
  requireName(output, rewritten);
  await writeOutput(output, archive);
  const look = report.left.filter((each) => each.look).length;
  const next = nextSteps(plugin, output, look);
  print(given, { file, output, url: target.origin, ...plugin, look, next, ...report }, () =>
    [...describe(output, report), describeNext(rewritten, next)].join('\n\n'),
  );
  if (look > 0) process.exitCode = exitUnfinished;
}

/** @throws PaygateError invalid if the shop's installer would refuse the name */
function requireName(output: string, { plugin, names }: RewrittenPlugin): void {
  const wrong = nameError(plugin, names, basename(output));
  if (wrong !== undefined) throw new PaygateError('invalid', `${output}: ${wrong}`);
}

async function readInput(file: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size > limits.archiveBytes)
      throw new PaygateError(
        'invalid',
        `${file} is larger than ${limits.archiveBytes / 1024 / 1024} MiB`,
      );
    return await readFile(file);
  } catch (error) {
    throw fileError(file, error);
  }
}

/** Never overwrites a file, which could be the original; removes a file that is written in part. */
async function writeOutput(file: string, archive: Buffer): Promise<void> {
  try {
    const fresh = await open(file, 'wx');
    try {
      await fresh.writeFile(archive);
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    } finally {
      await fresh.close();
    }
  } catch (error) {
    throw fileError(file, error);
  }
}

function fileError(file: string, error: unknown): unknown {
  const { code } = Object(error) as { code?: unknown };
  if (typeof code !== 'string' || error instanceof PaygateError) return error;
  const why =
    code === 'EEXIST'
      ? 'exists already; name a new file'
      : code === 'ENOENT'
        ? 'does not exist'
        : code;
  return new PaygateError('invalid', `${file}: ${why}`);
}

function describe(output: string, { changed, left, untouched }: PluginReport): string[] {
  const place = ({ file, line }: { file: string; line?: number }) =>
    `  ${file}${line === undefined ? '' : `:${line}`}  `;
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [`${title}:\n${lines.join('\n')}`];
  const leftLines = (look: boolean) =>
    left
      .filter((each) => each.look === look)
      .map((each) => `${place(each)}${shown(each.text)}  (${each.why})`);
  const look = leftLines(true);
  return [
    ...section(
      `LOOK AT THIS (${look.length}): the plugin may not work until you change it by hand`,
      look,
    ),
    ...section(
      'Changed',
      changed.map(
        (each) => `${place(each)}${shown(each.before) || '(added)'} → ${shown(each.after)}`,
      ),
    ),
    ...section('Left as it is', leftLines(false)),
    ...section(
      'Documents and translations that name the service, left as they are',
      untouched.map((file) => `  ${file}`),
    ),
    `${formatCount(changed.length, 'place')} changed, written to ${output}.`,
  ];
}

/** Numbered sentences, with their commands on lines of their own. */
function describeNext({ plugin }: RewrittenPlugin, next: readonly string[]): string {
  let number = 0;
  const lines = next.map((step) =>
    /^(?:paygate|php) /.test(step) ? `       ${step}` : `  ${++number}. ${step}`,
  );
  return `Next, ${titleOf(plugin)}:\n${lines.join('\n')}\n\nEach step is explained in ${pageOf(plugin)}.`;
}

/** A plugin's text is untrusted: a terminal could act on it. */
const shown = (text: string): string => plainText(text, 120);
