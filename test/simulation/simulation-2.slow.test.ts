// The second half of the 160 short seeds.

import { testSeeds } from './short-seeds.ts';

testSeeds(81, 80);
