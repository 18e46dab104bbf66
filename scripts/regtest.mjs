// Installs what the tests on a real chain need and a machine lacks, once, into a cache folder outside
// the checkout (PAYGATE_REGTEST_CACHE). Usage: node scripts/regtest.mjs install-electrs | install-lnd |
// install-webhooks | install-s3. The first builds the second kind of Electrum server (10 to 20 minutes;
// needs Rust). The second builds a Lightning node (1 to 2 minutes; needs Go). The others get the Python
// library that verifies webhooks, and an S3 server. `npm run e2e` installs the rest itself.

import { installElectrs } from './regtest/electrs.mjs';
import { installObjectStorage, installWebhookLibrary, progress } from './regtest/install.mjs';
import { installLnd } from './regtest/lnd.mjs';

const commands = {
  'install-electrs': installElectrs,
  'install-lnd': installLnd,
  'install-webhooks': installWebhookLibrary,
  'install-s3': installObjectStorage,
};
const command = /** @type {keyof typeof commands} */ (process.argv[2]);
if (process.argv.length !== 3 || !Object.hasOwn(commands, command)) {
  progress(`usage: node scripts/regtest.mjs ${Object.keys(commands).join(' | ')}`);
  process.exit(2);
}
try {
  await commands[command]();
} catch (error) {
  progress(/** @type {Error} */ (error).message);
  process.exitCode = 1;
}
