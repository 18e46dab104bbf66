// The WooCommerce plugin as an archive that WordPress installs. The same files make the same bytes on
// every machine: sorted names, one time, one mode. Its tests stay out.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import yazl from 'yazl';
import { sha256 } from './executable/binaries.mjs';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../integrations/woocommerce');
const plugin = 'paygate-for-woocommerce';
/** The first moment of the format. Its parts are local time, as in the archive. */
const mtime = new Date(1980, 0, 1);

/** The version in the header of the plugin. */
export function woocommerceVersion() {
  const header = readFileSync(join(folder, `${plugin}.php`), 'utf8');
  const [, version] = /^ \* Version: (\S+)$/m.exec(header) ?? [];
  if (version === undefined) throw new Error(`${plugin}.php has no version`);
  return version;
}

/** @returns {Promise<Buffer>} */
export async function woocommerceZip() {
  const zip = new yazl.ZipFile();
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((name) => !/^(tests\/|TEST-PLAN\.md$)/.test(name))
    .sort();
  for (const name of names) {
    const options = { mtime, mode: 0o100644, forceDosTimestamp: true };
    zip.addBuffer(readFileSync(join(folder, name)), `${plugin}/${name}`, options);
  }
  zip.end();
  return buffer(zip.outputStream);
}

/**
 * Writes `paygate-for-woocommerce-VERSION.zip` into a folder.
 * @param {string} into
 * @returns {Promise<{ name: string, sha256: string }>}
 */
export async function writeWoocommerceZip(into) {
  const name = `${plugin}-${woocommerceVersion()}.zip`;
  const bytes = await woocommerceZip();
  mkdirSync(into, { recursive: true });
  writeFileSync(join(into, name), bytes);
  return { name, sha256: sha256(bytes) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { name, sha256 } = await writeWoocommerceZip(process.argv[2] ?? 'dist');
  console.log(`${sha256}  ${name}`);
}
