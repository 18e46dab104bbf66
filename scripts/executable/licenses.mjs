// What inside the executable is other people's work, and under which terms: most of them ask that these go along with every
// copy. It becomes an asset, which `paygate licenses` prints.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} License
 * @property {string} name
 * @property {string} version
 * @property {string} license SPDX expression
 * @property {string} text as its authors wrote it; where their package lacks one, what it says of itself
 */

/**
 * @param {Iterable<string>} inputs paths of all files that were bundled
 * @param {string} nodePackage the folder of the npm package with the Node that is inside
 * @returns {License[]} paygate's own, Node's with all that is in it, then each package that was bundled, by name
 */
export function licensesOf(inputs, nodePackage) {
  const folders = new Set();
  for (const path of inputs) {
    const [folder] = /^.*\bnode_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  const packages = [...folders].map(licenseOf);
  packages.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return [licenseOf('.'), { ...licenseOf(nodePackage), name: 'Node.js' }, ...packages];
}

/** @param {string} folder of a package */
function licenseOf(folder) {
  const { name, version, license, ...about } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  if (typeof license !== 'string') throw new Error(`${folder} names no license`);
  const files = readdirSync(folder).filter((each) => /^(licen[cs]e|notice)/i.test(each));
  const texts = files.sort().map((each) => readFileSync(join(folder, each), 'utf8').trim());
  if (texts.length === 0) texts.push(saidOfItself(folder, { name, license, about }));
  return { name, version, license, text: texts.join('\n\n') };
}

/**
 * Some have their license at the end of their README alone.
 * @param {string} folder
 * @param {{ name: string, license: string, about: { author?: any, repository?: any } }} manifest
 */
function saidOfItself(folder, { name, license, about: { author, repository } }) {
  const readme = join(folder, 'README.md');
  const [part] =
    /^#* *license\b[\s\S]*/im.exec(existsSync(readme) ? readFileSync(readme, 'utf8') : '') ?? [];
  if (part) return part.trim();
  const people = author?.name ?? author ?? 'its authors';
  return `${name} is by ${people}, under ${license}: ${repository?.url ?? repository}`;
}
