// packaging/systemd/paygate@.service, for an agency's many shops: the unit of `paygate install`, with
// a file, a folder and an environment of its own for each name.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemdUnit } from '../src/cli/install/install-command.ts';

const template = readFileSync('packaging/systemd/paygate@.service', 'utf8');
const perName = /^(Description|EnvironmentFile|StateDirectory|WorkingDirectory)=.*$/gm;

test('the template differs from the installed unit by the name alone', () => {
  const own = template.replaceAll('paygate of %i', 'paygate').replaceAll('paygate-%i', 'paygate');
  expect(own).toBe(systemdUnit);
  expect(template.match(perName)).toEqual([
    'Description=paygate of %i, a Bitcoin payment gateway',
    'EnvironmentFile=/etc/paygate-%i.env',
    'StateDirectory=paygate-%i',
    'WorkingDirectory=/var/lib/paygate-%i',
  ]);
});

test('docs/growing.md names what the template needs, within 80 rows', () => {
  const page = readFileSync('docs/growing.md', 'utf8');
  expect(page).toContain('sudo cp packaging/systemd/paygate@.service /etc/systemd/system/');
  expect(page).toContain('/etc/paygate-moewe.env');
  expect(page).toContain('/var/lib/paygate-moewe/paygate.db');
  expect(page.split('\n').length).toBeLessThan(80);
});
