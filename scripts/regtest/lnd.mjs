// Builds LND from the Go module registry, once, into the cache folder. It is the Lightning node of
// the end-to-end tests, and needs Go alone. A build takes a minute or two.

import { existsSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDir, installOnce, PATH, run } from './install.mjs';

const root = () => join(cacheDir(), 'lnd');

/** Where the program is, once it has been built. */
export const lndProgram = () => join(root(), 'lnd');

export const hasLnd = () => existsSync(lndProgram());

/** The replaced modules are those of LND's own go.mod, which count in the main module only. */
const goModule = `module paygate/regtest/lnd

go 1.22.6

require (
	github.com/lightningnetwork/lnd v0.18.3-beta.rc3
	github.com/lightningnetwork/lnd/sqldb v1.0.4
)

replace (
	github.com/gogo/protobuf => github.com/gogo/protobuf v1.3.2
	github.com/ulikunitz/xz => github.com/ulikunitz/xz v0.5.11
	google.golang.org/protobuf => github.com/lightninglabs/protobuf-go-hex-display v1.30.0-hex-display
)
`;

/** Builds LND unless it is there. */
export async function installLnd() {
  await installOnce('lnd (once, 1 to 2 min)', root(), 'lnd', async (dir) => {
    const go = await findGo();
    await mkdir(dir);
    await copyFile(join(import.meta.dirname, 'lnd.go'), join(dir, 'main.go'));
    await writeFile(join(dir, 'go.mod'), goModule);
    // Without it, there is no way to cancel an invoice.
    const tags = ['-tags', 'invoicesrpc'];
    await run(go, ['-C', dir, 'build', '-mod=mod', '-trimpath', ...tags, '-o', 'lnd', '.']);
  });
}

async function findGo() {
  const folders = [...PATH.split(':'), '/usr/local/go/bin'];
  const found = folders.map((folder) => join(folder, 'go')).find((file) => existsSync(file));
  if (found === undefined) throw new Error('LND is built with Go, see https://go.dev/dl/');
  return found;
}
