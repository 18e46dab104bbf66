import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bundleOf } from '../support/bundle.ts';

const busyExit = join(import.meta.dirname, '../support/busy-exit.ts');

// With a bare process.exit a quarter of them stand for ever. At which round depends on the machine.
it('ends also while V8 compiles in the background', async () => {
  const program = bundleOf(busyExit);
  for (let rounds = 10; rounds < 42; rounds += 1) {
    const child = spawn(process.execPath, [program, String(rounds), '7'], { stdio: 'ignore' });
    expect(await once(child, 'exit')).toEqual([7, null]);
  }
});
