// The bill of materials (CycloneDX) of the executables: npm's own, cut down to what is inside them.
// https://cyclonedx.org/docs/1.5/json/

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The packages that the Node inside comes from, one for each processor. */
const nodes = /^node-linux-/;

/**
 * Every component has its hash, as every entry of the lock file. The text is the same on every machine and
 * at any time: npm's serial number, time and folder are left out.
 * @param {readonly { name: string, version: string }[]} inside what `paygate licenses --json` lists
 * @returns {Promise<string>} JSON
 */
export async function billOfMaterials(inside) {
  const options = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const { stdout } = await run('npm', ['sbom', '--package-lock-only', ...options], {
    maxBuffer: 16 * 1024 * 1024,
  });
  const { serialNumber, ...bill } = JSON.parse(stdout);
  delete bill.metadata.timestamp;
  bill.metadata.component.name = 'paygate';
  const wanted = new Set(inside.map(({ name, version }) => `${name}@${version}`));
  bill.components = bill.components.filter(
    (/** @type {{ name: string, version: string }} */ { name, version }) =>
      nodes.test(name) || wanted.has(`${name}@${version}`),
  );
  const refs = new Set([
    bill.metadata.component['bom-ref'],
    ...bill.components.map((/** @type {any} */ each) => each['bom-ref']),
  ]);
  bill.dependencies = bill.dependencies
    .filter((/** @type {{ ref: string }} */ { ref }) => refs.has(ref))
    .map((/** @type {{ ref: string, dependsOn?: string[] }} */ { ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((each) => refs.has(each)),
    }));
  for (const component of bill.components) {
    // npm says so of what only development asks for; all that is left here is inside.
    component.scope = 'required';
    component.properties = component.properties?.filter(
      (/** @type {{ name: string }} */ { name }) => name !== 'cdx:npm:package:development',
    );
  }
  return `${JSON.stringify(bill, null, 2)}\n`;
}
