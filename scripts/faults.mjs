#!/usr/bin/env node
// `npm run test:faults`: what is tried against paygate that takes too long for each `npm test`. With `--all`
// the loops run to their full length, which takes an hour or so; without it each says how much it left out.
// Other arguments go to vitest: `npm run test:faults -- power`.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const vitest = 'node_modules/vitest/vitest.mjs';
const given = process.argv.slice(2);
const args = [
  'run',
  '--config',
  'test/faults/vitest.config.ts',
  ...given.filter((each) => each !== '--all'),
];
const env = given.includes('--all') ? { ...process.env, PAYGATE_FAULTS_ALL: '1' } : process.env;
const { status } = spawnSync(process.execPath, [vitest, ...args], {
  cwd: root,
  env,
  stdio: 'inherit',
});
process.exit(status ?? 1);
