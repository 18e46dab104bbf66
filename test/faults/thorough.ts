// The size of the fault tests: small by default, full with `npm run test:faults -- --all`.

const all = process.env.PAYGATE_FAULTS_ALL !== undefined;

/** @returns `few`, or `many` with `--all`; prints how much is left out. @param what e.g. `kills` */
export function howMany(what: string, few: number, many: number): number {
  if (all) return many;
  process.stdout.write(`${what}: ${few}; ${many - few} more with --all\n`);
  return few;
}

/** For `skipIf`: prints the reason why a test cannot run here, if there is one. */
export function cannotRun(reason: string | undefined): boolean {
  if (reason !== undefined) process.stdout.write(`left out: ${reason}\n`);
  return reason !== undefined;
}
