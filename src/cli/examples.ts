// Examples at the end of each command's help. A group of commands shows those of its subcommands.

import type { Command } from 'commander';
import { pathOf } from './usage-error.ts';

/** Command lines behind `paygate`. */
export const exampleLines: readonly string[] = [
  'serve',
  'serve --domain pay.example.com --acme-email you@example.com',
  'serve --electrum ssl://electrum.example:50002 --proxy socks5://127.0.0.1:9050',
  'sandbox',
  'health --strict || echo "look at paygate"',
  'store add --name "My shop" --xpub zpub… --callback-url https://shop.example/callback',
  'store add --name Test --xpub - --webhook-url https://shop.example/hook < wallet.json',
  'store list',
  'store set 1 --currency EUR --tolerance 0.5',
  'store wallet 1 --xpub zpub…',
  'store lightning 1',
  'store recheck-used 1',
  'store show 1',
  'store rotate-secret 1',
  'store remove-webhook 1 2f0c…',
  'store remove 1',
  'store restore 1',
  'key show',
  'key rotate --overlap 24h',
  'key add --store 1 --scope read',
  'key list',
  'key revoke 2',
  'address check --xpub zpub… --count 20',
  'address list --store 1 --state unpaid',
  'links add --title Poster --amount 25.00 --currency EUR',
  'orders list --status open --store 1',
  'orders show ord_…',
  'orders cancel ord_…',
  'orders accept ord_…',
  'orders forget --older-than 365d',
  'notify mail --server smtp.example.com --user me@example.com --from me@example.com --password-file -',
  'notify set --to me@example.com --kinds order.late,order.reversed,findings',
  'notify set --store 1 --to shop@example.com',
  'notify test',
  'payments list --seen-after 24h --json',
  'payments show 1',
  'payments export --from 2026-10-01 --to 2026-10-31 -o october.csv',
  'payments export --format koinly --store 1 > koinly.csv',
  'callbacks list --state exhausted',
  'callbacks show 1',
  'callbacks resend 1',
  'callbacks resend-failed --store 1',
  'callbacks test --store 1',
  'callbacks test --addr bc1q… --value 25000 --status 2',
  'events list --type order.paid --newer-than 24h',
  'events show evt_…',
  'events resend evt_…',
  'events resend-failed --store 1',
  'events test --store 1',
  'servers list',
  'servers accept ssl://electrum.example:50002 3a5f…',
  'servers forget ssl://electrum.example:50002',
  'servers follow ssl://electrum.example:50002',
  'plugin blockonomics.zip --url https://pay.example.com -o blockonomics-pay.zip',
  'plugin allow --minutes 15',
  'audit list --limit 20',
  'admin link --domain pay.example.com',
  'admin time-zone Europe/Berlin',
  'backup',
  'backup /mnt/usb/shop.db',
  'check /mnt/usb/shop.db',
  'doctor --json',
  'restore backups/latest.db',
  'restore --moved',
  'install --domain pay.example.com --acme-email you@example.com --dry-run',
  'update ./paygate-0.2.0-linux-x64.tar.gz',
  'licenses --json',
  'completion bash',
];

export function addExamples(program: Command): void {
  for (const command of program.commands) {
    const path = pathOf(command);
    const lines = exampleLines.filter((line) => `${line} `.startsWith(`${path} `));
    if (lines.length > 0) {
      command.addHelpText('after', `\nExamples:\n${lines.map(indented).join('\n')}`);
    }
    addExamples(command);
  }
}

const indented = (line: string): string => `  paygate ${line}`;
