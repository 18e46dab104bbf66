// The configuration of `npm run test:slow`: tests that play days, start the program many times or load a
// page in each of its states, and that take most of a quarter of an hour together.

import { mergeConfig } from 'vitest/config';
import base from '../vitest.config.ts';

const config = mergeConfig(base, {});
config.test.include = ['test/**/*.slow.test.ts'];
config.test.exclude = [];

export default config;
