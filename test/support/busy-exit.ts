// A process that exits while V8 compiles hundreds of functions in the background, with the small
// heap of a start.

import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { exit } from '../../src/cli/service/run-until-stopped.ts';

setFlagsFromString('--optimize-for-size');
const busy = Array.from(
  { length: 400 },
  (_, at) =>
    runInThisContext(`(a) => {
      let sum = ${at};
      for (let turn = 0; turn < 50; turn++) {
        sum = (sum * 31 + a + turn) | 0;
        if (sum % 7 === ${at % 7}) sum += turn.toString(${2 + (at % 30)}).length;
      }
      return { sum, a, both: [sum, a] };
    }`) as (a: number) => object,
);
let kept: object[] = [];
for (let round = 0; round < Number(process.argv[2]); round += 1) {
  for (const each of busy) kept.push(each(Math.random()));
  if (kept.length > 20_000) kept = [];
}
exit(Number(process.argv[3]));
