// The first half of the 160 short seeds. A second file exists so that two cores share the work.

import { testSeeds } from './short-seeds.ts';

testSeeds(1, 80);
