// `paygate health`, as a person or a script asks it.

import { afterEach, expect, test } from 'vitest';
import { freePort } from '../../scripts/ports.mjs';
import { closeApps, openReady } from '../support/app.ts';
import { runCli } from '../support/cli.ts';

afterEach(closeApps);

const at = (port: number): string[] => ['health', '--listen', `127.0.0.1:${port}`];

test('exits with 0 for a paygate that answers, with --strict only if there is no warning', async () => {
  const well = await openReady();
  expect(await runCli([...at(well.port), '--strict'])).toMatchObject({ code: 0, stdout: 'ok\n' });
  // So many addresses without a payment are warned of.
  const ill = await openReady();
  for (let count = 0; count < 16; count += 1) await ill.newAddress();
  const plain = await runCli(at(ill.port));
  expect(plain).toMatchObject({ code: 0, stderr: '' });
  expect(plain.stdout).toMatch(/^degraded\n./);
  const strict = await runCli([...at(ill.port), '--strict']);
  expect(strict).toMatchObject({ code: 1, stdout: plain.stdout, stderr: '' });
  const json = await runCli([...at(ill.port), '--strict', '--json']);
  expect([json.code, JSON.parse(json.stdout).status]).toEqual([1, 'degraded']);
});

test('exits with 1 if no paygate answers', async () => {
  const port = await freePort();
  expect(await runCli(at(port))).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `paygate: no paygate answers at 127.0.0.1:${port}; start it, or name its address with --listen\n`,
  });
});
