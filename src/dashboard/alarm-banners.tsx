// Alarms as banners: what happened, since when, what to do, and the page where that is done.

import type { DatedFinding } from '../status/finding-history.ts';
import type { FindingCode } from '../status/findings.ts';
import { Form, Time } from './layout.tsx';
import { base, type PageRequest } from './page.ts';

interface Advice {
  readonly text: string;
  /** Below `/dashboard`. */
  readonly path: string;
  /** What the link says. */
  readonly link: string;
}

const servers = { path: '/servers', link: 'Servers' };
const wait = 'Nothing, if it passes within minutes; else see under Servers what each of them says.';

const advices: Readonly<Record<FindingCode, Advice>> = {
  'restored-database': {
    text: 'Set the gap limit of your own wallet as said, or it will not show every payment; add what is missing. Never run both copies.',
    path: '/addresses',
    link: 'Addresses',
  },
  'disk-low': {
    text: 'Free some room on the disk of the database: no address is issued until then. Backups that you keep elsewhere may go.',
    path: '/settings/backups',
    link: 'Backups',
  },
  'disk-refuses': {
    text: 'Make the disk of the database writable again, free some room or replace it. paygate goes on by itself; what came meanwhile is found in the chain.',
    path: '/settings/backups',
    link: 'Backups',
  },
  'no-server': {
    text: 'See what each server says. Payments are caught up with once one answers; name others with --electrum.',
    ...servers,
  },
  'catching-up': { text: wait, ...servers },
  'reduced-trust': {
    text: 'Name another server with --electrum, best one of your own: two keep an eye on each other.',
    ...servers,
  },
  'server-doubt': { text: wait, ...servers },
  'server-banned': {
    text: 'Nothing: the others are used. If it is your own and was repaired, lift the ban.',
    ...servers,
  },
  'changed-certificate': {
    text: 'If you know why, such as a server of your own that was set up anew, accept the new certificate. If not, leave it refused.',
    ...servers,
  },
  'promotion-held': {
    text: 'See which chain is right by your own node or an explorer. Take a server that is wrong off --electrum, or follow the branch.',
    ...servers,
  },
  'addresses-stuck': {
    text: 'Name another server with --electrum, best one of your own with higher limits.',
    ...servers,
  },
  'reversed-payment': {
    text: 'Hold back the goods of those orders, or ask those customers to pay again.',
    path: '/payments?state=reversed',
    link: 'Payments that were taken back',
  },
  'unclaimed-payment': {
    text: 'Look for their orders by the address, in each shop, and mark them as paid by hand.',
    path: '/payments?store=none',
    link: 'Payments of no store',
  },
  'fallen-payment': {
    text: 'Hold back the goods of those orders until the payments are final again: until a block takes them, they can be replaced. The shop was told 0.',
    path: '/payments?state=unconfirmed',
    link: 'Payments in no block',
  },
  'wallet-scan': {
    text: 'Nothing: it begins once a server is connected, and takes minutes.',
    ...servers,
  },
  'exhausted-callbacks': {
    text: 'Repair the shop’s Callback URL, see it answer a test callback, then send them again.',
    path: '/callbacks?state=exhausted',
    link: 'Callbacks that were given up',
  },
  'foreign-use': {
    text: 'Another program uses this key: give each its own account, or customers may pay to the same address. If no other program does, a server lies: name other servers, then run `paygate store recheck-used ID`.',
    path: '/stores',
    link: 'Stores',
  },
  'file-displaced': {
    text: 'Do as said, and find out who did that. Until then everything goes on but new addresses; a crash would cost a minute.',
    path: '/settings/backups',
    link: 'Backups',
  },
  'database-damaged': {
    text: 'Do as said, on a disk that you trust: this one loses what it holds. What came since is found in the chain again.',
    path: '/settings/backups',
    link: 'Backups',
  },
  'snapshot-failed': {
    text: 'See that the folder of the backups can be written to and has room.',
    path: '/settings/backups',
    link: 'Backups',
  },
  'wallet-gap': {
    text: 'Set your own wallet’s gap limit as said, and start serve with the --wallet-gap that it has then.',
    path: '/addresses',
    link: 'Addresses',
  },
  'unlisted-proxy': {
    text: 'If it is your proxy, start serve as said; who is signed in, and from where, stands under Settings.',
    path: '/settings',
    link: 'Settings',
  },
  'shop-unreachable': {
    text: 'See that the shop’s server runs. What waits is sent by itself once it answers.',
    path: '/callbacks?state=owed',
    link: 'Callbacks that wait',
  },
  'shop-refuses': {
    text: 'See what the shop answers, repair it, see it take a test callback on the page of its store, then send again what waits.',
    path: '/callbacks?state=owed',
    link: 'Callbacks that wait',
  },
  'unknown-callback-url': {
    text: 'Its customers get no address. Set the store’s Callback URL to the one that the shop shows, secret included. This ends once a store has it, or when three days pass without such a request.',
    path: '/stores',
    link: 'Stores',
  },
  'shop-doubtful': {
    text: 'See what the shop answers, repair it, see it take a test callback on the page of its store, then send these again.',
    path: '/callbacks?state=flagged',
    link: 'Callbacks whose answer is doubtful',
  },
  'clock-wrong': {
    text: 'Set the clock, and keep it right by NTP. Until then callbacks go out without a signature, and no certificate of a server is learnt or accepted.',
    ...servers,
  },
  'own-certificate': {
    text: 'See that the files are renewed, or that the authority reaches this machine on port 80.',
    path: '/settings',
    link: 'Settings',
  },
};

interface AlarmsProps {
  readonly request: PageRequest;
  readonly alarms: readonly DatedFinding[];
}

export const Alarms = ({ request, alarms }: AlarmsProps) =>
  alarms.length === 0 ? (
    <p class="note">All is well.</p>
  ) : (
    <section aria-label="Alarms">
      {alarms.map((alarm) => (
        <Banner request={request} alarm={alarm} />
      ))}
    </section>
  );

interface BannerProps {
  readonly request: PageRequest;
  readonly alarm: DatedFinding;
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const Banner = ({ request, alarm: { code, fact, since, storeId, advice } }: BannerProps) => {
  const { text, path, link } = advices[code];
  const to = base + path + (storeId === undefined ? '' : `&store=${storeId}`);
  return (
    <div class="alarm" data-alarm={code}>
      <p>
        <strong>{fact}</strong>
      </p>
      <p>
        Since <Time at={since} />. {advice === undefined ? text : sentence(advice)}{' '}
        <a href={to}>{link}</a>
      </p>
      {code === 'restored-database' ? (
        <Form request={request} action="dismiss-restored" button="I have done this" />
      ) : null}
    </div>
  );
};
