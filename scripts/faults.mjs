// `npm run test:faults`: what is tried against paygate and takes too long for each `npm test`. With
// `--all` the loops run to their full length, which takes an hour or so; without it each prints how much
// it left out. Other arguments go to vitest: `npm run test:faults -- power`.

const given = process.argv.splice(2);
if (given.includes('--all')) process.env.PAYGATE_FAULTS_ALL = '1';
const others = given.filter((each) => each !== '--all');
process.argv.push('run', '--config', 'test/faults/vitest.config.ts', ...others);
// @ts-expect-error: the program of vitest has no types
await import('../node_modules/vitest/vitest.mjs');
