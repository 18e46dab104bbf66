// The first half of the 160 short seeds; the other file is there so that two cores share the work.

import { testSeeds } from './short-seeds.ts';

testSeeds(1, 80);
