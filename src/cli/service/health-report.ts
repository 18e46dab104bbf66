// What `paygate health` does. Service managers run it twice a minute, so it loads nothing that a
// closed port does not need.

import { readListening } from '../../domain/delivery/endpoint-options.ts';
import { listenAddressesOf } from '../../domain/delivery/public-endpoint.ts';
import { plainText } from '../../domain/text/format.ts';
import { PaygateError } from '../../lib/errors.ts';
import { serviceEnvironment } from '../install/systemd-service.ts';
import { fetchHealth, noAnswerText } from './local-health.ts';

export interface HealthOptions {
  readonly listen?: string;
  readonly strict?: boolean;
  readonly json?: boolean;
}

/**
 * Prints the health of a running paygate.
 * @throws PaygateError invalid for an address that is none; unavailable if none answers
 */
export async function printHealth({ listen, strict, json }: HealthOptions): Promise<void> {
  const listening = readListening(listen, await serviceEnvironment());
  const report = await fetchHealth(listenAddressesOf(listening));
  if (report === undefined) throw new PaygateError('unavailable', noAnswerText(listening.listen));
  const lines = [report.status, ...report.warnings].map((each) => plainText(each));
  process.stdout.write(`${json ? JSON.stringify(report, null, 2) : lines.join('\n')}\n`);
  if (strict && report.status !== 'ok') process.exitCode = 1;
}
