// `paygate health`: prints the health of a running paygate, for people and for a container's health
// check, which has no other HTTP client.

import { Command } from 'commander';
import { options } from '../../config.ts';
import { type HealthOptions, printHealth } from './health-report.ts';

export function healthCommand(): Command {
  return new Command('health')
    .description('print the health of a running paygate; exits with 1 if none answers')
    .option(`${options.listen.flag} <host:port>`, 'address of the running paygate')
    .option('--strict', 'exit with 1 also while something is wrong, for cron and scripts')
    .option('--json', 'print JSON')
    .action((given: HealthOptions) => printHealth(given));
}
