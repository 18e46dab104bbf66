// The second half of the 200 short seeds.

import { testSeeds } from './short-seeds.ts';

testSeeds(101, 100);
