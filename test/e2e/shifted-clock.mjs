// Loaded by NODE_OPTIONS into a paygate whose clock a test moves (clock.ts). `Date.now` is behind
// the system's clock by the number of milliseconds in the file that SHIFTED_CLOCK_FILE names.

import { readFileSync } from 'node:fs';

const file = process.env.SHIFTED_CLOCK_FILE ?? '';
const systemNow = Date.now;

Date.now = () => systemNow() - Number(readFileSync(file, 'utf8'));
