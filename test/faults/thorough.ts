// How much the tests of faults try: less in each gate, all of it by `npm run test:faults -- --all`.

const all = process.env.PAYGATE_FAULTS_ALL !== undefined;

/** @returns the number to try; says what it leaves out. @param what e.g. `kills` */
export function howMany(what: string, few: number, many: number): number {
  if (all) return many;
  process.stdout.write(`${what}: ${few}; ${many - few} more with --all\n`);
  return few;
}

/** For `skipIf`: says what stands in the way, if anything does. */
export function unless(reason: string | undefined): boolean {
  if (reason !== undefined) process.stdout.write(`left out: ${reason}\n`);
  return reason !== undefined;
}
