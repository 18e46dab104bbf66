// What the tests of packages share: their files, services of Docker Compose, and pictures.

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { optionNames, options, passwordVariable } from '../../src/config.ts';

export const program = '/usr/local/bin/paygate';
/** Placeholders of the repository, which a publisher replaces. */
export const imageName = 'registry.example/paygate';
export const site = 'https://paygate.example';

export const read = (path: string): string => readFileSync(path, 'utf8');
export const readYaml = (path: string) => parse(read(path));

export interface Service {
  /** Undefined for a service that the platform has itself. */
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment: Record<string, string>;
  readonly volumes: readonly (string | { readonly source: string; readonly target: string })[];
  readonly healthcheck: { readonly test: readonly string[] };
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly mem_limit: string;
  readonly logging: unknown;
}

/** The value of each instruction of the Dockerfile, in order. */
const dockerfile = read('packaging/Dockerfile')
  .split('\n')
  .flatMap((row) => {
    const [, word = '', value = ''] = /^([A-Z]+) (.*)$/.exec(row) ?? [];
    return word === '' ? [] : [{ word, value }];
  });
export const instructions = (word: string): string[] =>
  dockerfile.flatMap((each) => (each.word === word ? [each.value] : []));

export const imageEnv = Object.fromEntries(instructions('ENV').map((text) => text.split('=')));
const knownNames = new Set([passwordVariable, ...optionNames.map((name) => options[name].env)]);

/** The environment of a service, with the variables of its platform filled in. */
export const filled = (
  service: Pick<Service, 'environment'>,
  values: Record<string, string> = {},
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(service.environment).map(([name, text]) => [
      name,
      text.replaceAll(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_, key: string) => values[key] ?? ''),
    ]),
  );

export const unknownSettings = (env: Record<string, string>): string[] =>
  Object.keys(env).filter((name) => !knownNames.has(name));

/** Folders of the container that outlive it. */
export const volumeTargets = ({ volumes }: Pick<Service, 'volumes'>): string[] =>
  volumes.map((each) => (typeof each === 'string' ? (each.split(':').at(-1) ?? '') : each.target));

/** https://www.w3.org/TR/png-3/#11IHDR */
export function pngSize(path: string): [width: number, height: number] {
  const bytes = readFileSync(path);
  if (bytes.toString('latin1', 1, 4) !== 'PNG') throw new Error(`${path} is no PNG`);
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}
