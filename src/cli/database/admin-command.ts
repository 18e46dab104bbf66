// `paygate admin link`: prints a one-time link to the dashboard, which sets a person's password.
// `paygate admin time-zone`: shows or sets the zone of the merchant's days.

import { Command } from 'commander';
import { type Config, options, readConfig } from '../../config.ts';
import { createSignInLink, signInLinkMinutes } from '../../dashboard/guard/sign-in-link.ts';
import {
  baseUrlOf,
  hostAndPort,
  listenAddressesOf,
} from '../../domain/delivery/public-endpoint.ts';
import { parseZone } from '../../domain/text/time-zone.ts';
import { PaygateError } from '../../lib/errors.ts';
import { fingerprintOf } from '../../status/health.ts';
import { ownerId } from '../../store/access/admin.ts';
import type { Records } from '../../store/open-records.ts';
import {
  type FileOptions,
  fileCommand,
  print,
  recordChange,
  withStore,
  world,
} from '../command.ts';
import { fetchHealth, noAnswerText } from '../service/local-health.ts';
import { flagValues } from '../service/serve-options.ts';
import { withOptionName } from '../stores/setting-options.ts';

interface LinkOptions extends FileOptions {
  readonly viewer?: string;
  readonly listen?: string;
  readonly publicUrl?: string;
  readonly domain?: string;
}

/**
 * Checks that a running paygate serves this database. None needs to run: the link may be for later.
 * With a public URL and no `--listen` nothing is asked, because that port may be another's.
 * @throws PaygateError unavailable
 */
async function refuseOtherDatabase(records: Records, config: Config): Promise<void> {
  const { listen, publicUrl } = config;
  const isDefaultAddress = hostAndPort(listen) === options.listen.default;
  if (publicUrl !== undefined && isDefaultAddress) return;
  const running = await fetchHealth(listenAddressesOf(config));
  if (running !== undefined) {
    if (running.database === fingerprintOf(records)) return;
    throw new PaygateError(
      'unavailable',
      `the paygate at ${hostAndPort(listen)} serves another database than ${records.database.path}; ` +
        'name its database with --db, or with --listen the address that serves this one',
    );
  }
  process.stderr.write(
    `${noAnswerText(listen)}; the link works as soon as one does, until it expires\n`,
  );
}

/** @throws PaygateError not_found */
function viewerNamed({ admin }: Records, name: string): number {
  const person = admin.personNamed(name);
  if (person !== undefined && person.id !== ownerId) return person.id;
  throw new PaygateError(
    'not_found',
    `no viewer has the name ${JSON.stringify(name)}; Settings, People in the dashboard lists them`,
  );
}

export function adminCommand(): Command {
  const link = fileCommand('link', 'print a one-time link that sets the dashboard password')
    .option('--viewer <name>', 'for this viewer; without it, for the owner')
    .option(`${options.listen.flag} <host:port>`, 'address of the running paygate')
    .option(`${options.publicUrl.flag} <url>`, options.publicUrl.help)
    .option(`${options.domain.flag} <name>`, 'host name that paygate serves HTTPS for')
    .action((given: LinkOptions) =>
      withStore(given, async (records) => {
        const { listen, publicUrl, domain, viewer } = given;
        const personId = viewer === undefined ? ownerId : viewerNamed(records, viewer);
        const config = readConfig(flagValues({ listen, publicUrl, domain }), process.env);
        await refuseOtherDatabase(records, config);
        const url = await createSignInLink(
          records,
          world,
          baseUrlOf(config, config.listen.port),
          personId,
        );
        await records.database.write((tx) => recordChange(records, tx, 'admin.link', { viewer }));
        const minutes = signInLinkMinutes(personId);
        print(given, { url, minutes }, () => {
          return `${url}\nIt works once, within ${minutes} minutes. The person who opens it sets the password.`;
        });
      }),
    );
  return new Command('admin')
    .description('print a link to the dashboard, set its time zone')
    .addCommand(link)
    .addCommand(zoneCommand());
}

const zoneCommand = (): Command =>
  fileCommand('time-zone', 'show or set the zone in which a day begins: sums, lists, files, mails')
    .argument('[zone]', 'such as Europe/Berlin', withOptionName(parseZone))
    .action((zone: string | undefined, given: FileOptions) =>
      withStore(given, async (records) => {
        const { state, database } = records;
        if (zone !== undefined) {
          await database.write((tx) => {
            state.timeZone.write(tx, zone);
            recordChange(records, tx, 'zone.set', { zone });
          });
        }
        print(given, { time_zone: state.zone() }, state.zone);
      }),
    );
