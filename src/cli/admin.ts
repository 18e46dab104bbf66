// `paygate admin link`: prints a one-time link to the dashboard, which sets a password.

import { Command } from 'commander';
import { options, readConfig } from '../config.ts';
import { makeLink } from '../dashboard/link.ts';
import { linkMs } from '../store/admin.ts';
import { type FileOptions, fileCommand, print, withStore, world } from './command.ts';

interface LinkOptions extends FileOptions {
  readonly listen?: string;
  readonly publicUrl?: string;
}

export const linkMinutes = linkMs / 60_000;

export function adminCommand(): Command {
  const link = fileCommand('link', 'print a link that sets the password of the dashboard, once')
    .option(`${options.listen.flag} <host:port>`, 'where the running paygate answers')
    .option(`${options.publicUrl.flag} <url>`, options.publicUrl.help)
    .action((given: LinkOptions) =>
      withStore(given, async (store) => {
        const { listen, publicUrl } = readConfig(
          {
            ...(given.listen !== undefined && { listen: [given.listen] }),
            ...(given.publicUrl !== undefined && { publicUrl: [given.publicUrl] }),
          },
          process.env,
        );
        const url = await makeLink(
          store,
          world,
          publicUrl ?? `http://${hostOf(listen.host)}:${listen.port}`,
        );
        print(given, { url, minutes: linkMinutes }, () => {
          return `${url}\nIt is good for ${linkMinutes} minutes, and once. Who opens it sets the password.`;
        });
      }),
    );
  return new Command('admin').description('the dashboard').addCommand(link);
}

/** As a URL writes it. */
export const hostOf = (host: string): string => (host.includes(':') ? `[${host}]` : host);
