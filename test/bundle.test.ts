// What paygate is bundled of: how much a command reads, and what of the libraries stays out.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { bundleInParts, type Part, writeParts } from '../scripts/bundling.mjs';
import { bundleEnv } from './support/bundle.ts';
import { cleanUp, tempFolder } from './support/files.ts';

afterEach(cleanUp);

let parts: readonly Part[];
let outputs: Awaited<ReturnType<typeof bundleInParts>>['metafile']['outputs'];

beforeAll(async () => {
  const bundled = await bundleInParts('src/main.ts', 'paygate');
  ({ parts } = bundled);
  ({ outputs } = bundled.metafile);
});

/** Letters of the parts that a source file brings along at once. */
function lettersFor(...sources: readonly string[]): number {
  const all = Object.entries(outputs);
  const entries = sources.map((source) => {
    const [path] = all.find(([, { entryPoint }]) => entryPoint === source) ?? [];
    if (path === undefined) throw new Error(`no part begins with ${source}`);
    return path;
  });
  const reached = new Set<string>();
  for (const open = entries; open.length > 0; ) {
    const path = open.pop() ?? '';
    if (reached.has(path)) continue;
    reached.add(path);
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && outputs[next]) open.push(next);
    }
  }
  return parts
    .filter(({ path }) => reached.has(path))
    .reduce((sum, { text }) => sum + text.length, 0);
}

const main = 'src/main.ts';
const program = 'src/cli/program.ts';

describe('the bundle', () => {
  it('has at most 7 MB', () => {
    expect(parts.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(7e6);
  });

  it.each([
    ['the launcher alone', [main], 25_000],
    ['`health`', [main, 'src/cli/service/health-report.ts'], 50_000],
    ['`serve`', [main, program, 'src/cli/service/serve-command.ts'], 5e6],
  ])('reads for %s no more than that', (_, sources, letters) => {
    expect(lettersFor(...sources)).toBeLessThan(letters);
  });

  it('has parts that load, each by itself', () => {
    const folder = tempFolder();
    writeParts(folder, 'paygate', parts);
    const paths = parts
      .map(({ path }) => join(folder, path))
      .filter((path) => path.includes('-parts/'));
    const program = `for (const path of process.argv.slice(1)) require(path)`;
    const env = { ...process.env, ...bundleEnv(paths[0] ?? '') };
    const printed = execFileSync(process.execPath, ['-e', program, ...paths], {
      env,
      encoding: 'utf8',
    });
    expect([paths.length > 20, printed]).toEqual([true, '']);
  });

  it('is ASCII, which V8 holds with one byte a letter', () => {
    expect(parts.filter(({ text }) => /[^\0-\x7f]/.test(text))).toEqual([]);
  });

  it.each([
    /undici\/lib\/(web|mock|cache|handler|interceptor|milo|api\/(?!api-request|readable))/,
    /undici\/lib\/dispatcher\/(?!client\.js|client-h1|dispatcher)/,
    /zod\/v4\/locales\/(?!en\.js)/,
    /node_modules\/(node-forge|mime-db|@opentelemetry)\//,
  ])('leaves out %s', (unused) => {
    const inputs = Object.values(outputs).flatMap((output) =>
      Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) =>
        bytesInOutput > 0 ? [path] : [],
      ),
    );
    expect(inputs.filter((path) => unused.test(path))).toEqual([]);
  });

  it.each(['nodemailer', '@simplewebauthn/server', 'acme-client', 'axios'])(
    'loads %s when it is used',
    (library) => {
      const holding = Object.entries(outputs).filter(([, { inputs }]) =>
        Object.keys(inputs).some((path) => path.startsWith(`node_modules/${library}/`)),
      );
      expect(holding.length).toBeGreaterThan(0);
      const letters = lettersFor(main, program, 'src/cli/service/serve-command.ts');
      const entries = holding.flatMap(([, { entryPoint }]) => entryPoint ?? []);
      expect(
        lettersFor(main, program, 'src/cli/service/serve-command.ts', ...entries),
      ).toBeGreaterThan(letters);
    },
  );
});
