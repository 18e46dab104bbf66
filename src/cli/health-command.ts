// `paygate health`: asks a running paygate how it is. For people, and for what watches over a container,
// where there is nothing else to ask with.

import { Command } from 'commander';
import { options } from '../config.ts';
import { plainText } from '../domain/format.ts';
import { listenAddressesOf } from '../domain/public-endpoint.ts';
import { PaygateError } from '../lib/errors.ts';
import { print } from './command.ts';
import { askHealth, noAnswer } from './local-health.ts';
import { configOfService } from './systemd-service.ts';

interface HealthOptions {
  readonly listen?: string;
  readonly strict?: boolean;
  readonly json?: boolean;
}

export function healthCommand(): Command {
  return new Command('health')
    .description('ask a running paygate how it is; ends with 1 when none answers')
    .option(`${options.listen.flag} <host:port>`, 'where it answers')
    .option('--strict', 'end with 1 also while something is wrong, for cron and scripts')
    .option('--json', 'answer as JSON')
    .action(async (given: HealthOptions) => {
      const config = await configOfService(given.listen);
      const report = await askHealth(listenAddressesOf(config));
      if (report === undefined) {
        throw new PaygateError('unavailable', noAnswer(config.listen));
      }
      print(given, report, () =>
        [report.status, ...report.warnings].map((each) => plainText(each)).join('\n'),
      );
      if (given.strict && report.status !== 'ok') process.exitCode = 1;
    });
}
