// `paygate plugin FILE.zip --url URL -o OUT.zip`: a copy of a shop plugin that talks to this paygate.

import { open, readFile, rm, stat } from 'node:fs/promises';
import { Command } from 'commander';
import { plainText } from '../domain/shown.ts';
import { PaygateError } from '../errors.ts';
import { limits } from '../plugin/archive.ts';
import { type PluginReport, rewritePlugin } from '../plugin/plugin.ts';
import { parseTarget } from '../plugin/rewrite.ts';
import { print } from './command.ts';

interface RewriteOptions {
  readonly url: string;
  readonly output: string;
  readonly json?: boolean;
}

const about = `
It changes the hosts of the API and of the live socket, in code, templates and settings, and prints each
line that it changed and what it left: links for people, documents, other coins. What stands under
LOOK AT THIS it did not understand, and a person has to. Nothing is written, and the exit code is 2, when
nothing matched or the archive is unsafe.`;

export function rewriteCommand(): Command {
  return new Command('rewrite')
    .description('write a copy of a shop plugin that talks to this paygate')
    .argument('<file>', 'zip archive of a plugin of the Blockonomics family')
    .requiredOption('--url <url>', 'where the shop reaches this paygate, without a path')
    .requiredOption('-o, --output <file>', 'the archive to write; must not exist yet')
    .option('--json', 'answer as JSON')
    .addHelpText('after', about)
    .action(rewrite);
}

async function rewrite(file: string, given: RewriteOptions): Promise<void> {
  const target = parseTarget(given.url);
  const { archive, report } = await rewritePlugin(await readInput(file), target);
  await writeOutput(given.output, archive);
  print(given, { file, output: given.output, url: target.origin, ...report }, () =>
    describe(given.output, report),
  );
}

async function readInput(file: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size > limits.archiveBytes) throw new PaygateError('invalid', `${file} is too large`);
    return await readFile(file);
  } catch (error) {
    throw fileError(file, error);
  }
}

/** Never over a file that is there: it could be the original. Half of one does not stay, for a shop to install. */
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
  const why = code === 'EEXIST' ? 'exists already' : code === 'ENOENT' ? 'is not there' : code;
  return new PaygateError('invalid', `${file}: ${why}`);
}

function describe(output: string, { changed, left, untouched }: PluginReport): string {
  const place = ({ file, line }: { file: string; line: number }) => `  ${file}:${line}  `;
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [`${title}:\n${lines.join('\n')}`];
  const leftLines = (look: boolean) =>
    left
      .filter((each) => each.look === look)
      .map((each) => `${place(each)}${shown(each.text)}  (${each.why})`);
  return [
    ...section(
      'Changed',
      changed.map((each) => `${place(each)}${shown(each.before)} → ${shown(each.after)}`),
    ),
    ...section('Left as it is', leftLines(false)),
    ...section(
      'Documents that name the service, left as they are',
      untouched.map((file) => `  ${file}`),
    ),
    ...section('LOOK AT THIS, the plugin may not work before', leftLines(true)),
    `${changed.length} places changed, written to ${output}.`,
  ].join('\n\n');
}

/** The plugin's text comes from strangers; a terminal would act on some of it. */
const shown = (text: string): string => plainText(text, 120);
