// `paygate health`: prints the health of a running paygate, for people and for a container's health
// check, which has no other HTTP client.

import { Command } from 'commander';
import { options } from '../config.ts';
import { plainText } from '../domain/format.ts';
import { listenAddressesOf } from '../domain/public-endpoint.ts';
import { PaygateError } from '../lib/errors.ts';
import { print } from './command.ts';
import { fetchHealth, noAnswerText } from './local-health.ts';
import { configOfService } from './systemd-service.ts';

interface HealthOptions {
  readonly listen?: string;
  readonly strict?: boolean;
  readonly json?: boolean;
}

export function healthCommand(): Command {
  return new Command('health')
    .description('print the health of a running paygate; exits with 1 if none answers')
    .option(`${options.listen.flag} <host:port>`, 'address of the running paygate')
    .option('--strict', 'exit with 1 also while something is wrong, for cron and scripts')
    .option('--json', 'print JSON')
    .action(async (given: HealthOptions) => {
      const config = await configOfService(given.listen);
      const report = await fetchHealth(listenAddressesOf(config));
      if (report === undefined) {
        throw new PaygateError('unavailable', noAnswerText(config.listen));
      }
      print(given, report, () =>
        [report.status, ...report.warnings].map((each) => plainText(each)).join('\n'),
      );
      if (given.strict && report.status !== 'ok') process.exitCode = 1;
    });
}
