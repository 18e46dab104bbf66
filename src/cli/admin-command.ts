// `paygate admin link`: prints a one-time link to the dashboard, which sets a password.

import { Command } from 'commander';
import { type Config, options, readConfig } from '../config.ts';
import { createSignInLink, signInLinkMinutes } from '../dashboard/sign-in-link.ts';
import { baseUrlOf, hostAndPort, listenAddressesOf } from '../domain/public-endpoint.ts';
import { PaygateError } from '../lib/errors.ts';
import { fingerprintOf } from '../status/health.ts';
import type { Store } from '../store/open-store.ts';
import { type FileOptions, fileCommand, noteChange, print, withStore, world } from './command.ts';
import { askHealth, noAnswer } from './local-health.ts';
import { asGiven } from './serve-options.ts';

interface LinkOptions extends FileOptions {
  readonly listen?: string;
  readonly publicUrl?: string;
  readonly domain?: string;
}

/**
 * The link may be for later. Where a public URL is named, and not where paygate listens behind that, it is asked
 * nowhere: the port that it has by default may be another's.
 * @throws PaygateError unavailable where a paygate answers to which this link would be unknown
 */
async function lookWhoAnswers(store: Store, config: Config): Promise<void> {
  const { listen, publicUrl } = config;
  const isUsual = hostAndPort(listen) === options.listen.default;
  if (publicUrl !== undefined && isUsual) return;
  const running = await askHealth(listenAddressesOf(config));
  if (running !== undefined) {
    if (running.database === fingerprintOf(store)) return;
    throw new PaygateError(
      'unavailable',
      `the paygate at ${hostAndPort(listen)} serves another database than ${store.database.path}: ` +
        'name its own by --db, or by --listen where this one is served',
    );
  }
  process.stderr.write(`${noAnswer(listen)}: the link is good once one does, if that is in time\n`);
}

export function adminCommand(): Command {
  const link = fileCommand('link', 'print a link that sets the password of the dashboard, once')
    .option(`${options.listen.flag} <host:port>`, 'where the running paygate answers')
    .option(`${options.publicUrl.flag} <url>`, options.publicUrl.help)
    .option(`${options.domain.flag} <name>`, 'the name that paygate serves HTTPS for')
    .action((given: LinkOptions) =>
      withStore(given, async (store) => {
        const { listen, publicUrl, domain } = given;
        const config = readConfig(asGiven({ listen, publicUrl, domain }), process.env);
        await lookWhoAnswers(store, config);
        const url = await createSignInLink(store, world, baseUrlOf(config, config.listen.port));
        await store.database.write((tx) => noteChange(store, tx, 'admin.link'));
        print(given, { url, minutes: signInLinkMinutes }, () => {
          return `${url}\nIt is good for ${signInLinkMinutes} minutes, and once. Who opens it sets the password.`;
        });
      }),
    );
  return new Command('admin').description('the dashboard').addCommand(link);
}
