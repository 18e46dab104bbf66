// Alarms as banners: severity, fact, advice, start, and a link to the page to act on.

import type { StateWord } from '../../domain/order/state-words.ts';
import type { DatedFinding } from '../../status/finding-history.ts';
import { type FindingCode, type Severity, severityOf } from '../../status/finding-severity.ts';
import { Pill, Time } from '../../web/values.tsx';
import { base, type PageRequest } from '../page.ts';
import { Form } from './form-parts.tsx';

interface Advice {
  readonly text: string;
  /** Below `/dashboard`. */
  readonly path: string;
  readonly link: string;
}

const servers = { path: '/servers', link: 'Servers' };
const backups = { path: '/settings/backups', link: 'Backups' };
const addresses = { path: '/addresses', link: 'Addresses' };
const stores = { path: '/stores', link: 'Stores' };
const settings = { path: '/settings', link: 'Settings' };
const wait =
  'Nothing, if it ends within minutes. Otherwise see the error of each server under Servers.';

const advices: Readonly<Record<FindingCode, Advice>> = {
  'restored-database': {
    text: 'Set the gap limit of your own wallet as shown, or it will not show every payment; then add what is missing. Never run both copies.',
    ...addresses,
  },
  'disk-low': {
    text: 'Free space on the disk of the database: no address is issued until then. You can delete backups that you also store on another machine.',
    ...backups,
  },
  'disk-refuses': {
    text: 'Make the disk of the database writable, free space, or replace it. paygate then continues by itself and finds payments of the meantime in the chain.',
    ...backups,
  },
  'no-server': {
    text: 'See the error of each server, or add other servers with --electrum. paygate finds missed payments once a server responds.',
    ...servers,
  },
  'catching-up': { text: wait, ...servers },
  'reduced-trust': {
    text: 'Add another server with --electrum, preferably your own: two servers check each other.',
    ...servers,
  },
  'server-doubt': { text: wait, ...servers },
  'server-banned': {
    text: 'Nothing: paygate uses the other servers. If it is your own and you repaired it, lift the ban.',
    ...servers,
  },
  'changed-certificate': {
    text: 'Accept the new certificate only if you know why it changed, for example after a new setup of your own server. Otherwise leave it refused.',
    ...servers,
  },
  'promotion-held': {
    text: 'Check with your own node or an explorer which chain is right. Then remove a wrong server from --electrum, or follow the branch.',
    ...servers,
  },
  'addresses-stuck': {
    text: 'Add another server with --electrum, preferably your own with higher limits.',
    ...servers,
  },
  'reversed-payment': {
    text: 'Hold back the goods of those orders, or ask those customers to pay again.',
    path: '/payments?state=reversed',
    link: 'Reversed payments',
  },
  'unclaimed-payment': {
    text: 'Search for their orders by address, and mark them as paid by hand.',
    path: '/payments?store=none',
    link: 'Payments without a store',
  },
  'fallen-payment': {
    text: 'Hold back the goods of those orders until the payments are final again: while they are unconfirmed, they can be replaced.',
    path: '/payments?state=unconfirmed',
    link: 'Unconfirmed payments',
  },
  'wallet-scan': {
    text: 'Nothing: the scan starts once a server is connected, and takes minutes.',
    ...servers,
  },
  'exhausted-callbacks': {
    text: 'Repair the shop’s Callback URL, send a test callback to verify it, then resend the failed deliveries.',
    path: '/callbacks?state=exhausted',
    link: 'Failed deliveries',
  },
  'foreign-use': {
    text: 'Another program uses this key: give each program its own account, or customers may pay to the same address. If no other program uses it, a server sends false data: use other servers, then run `paygate store recheck-used ID`.',
    ...stores,
  },
  'file-displaced': {
    text: 'Follow the instructions above, and find out who did that. Until then no address is issued and everything else continues; a crash would cost a minute.',
    ...backups,
  },
  'database-damaged': {
    text: 'Follow the instructions above, on a disk that you trust: this disk loses data. paygate finds later payments in the chain again.',
    ...backups,
  },
  'snapshot-failed': {
    text: 'Make sure that the folder of the backups is writable and has space.',
    ...backups,
  },
  'wallet-gap': {
    text: 'In the settings of your own wallet, set the gap limit to the number that is shown. Then start paygate with that number as --wallet-gap.',
    ...addresses,
  },
  'gap-reached': {
    text: 'Raise the gap limit of your own wallet, then start serve with the same --wallet-gap and a higher --refuse-gap. A payment to a newer address ends this too.',
    ...addresses,
  },
  'links-stopped': {
    text: 'Raise the gap limit in the settings of your own wallet, then start serve with the same --wallet-gap. Or switch the link off that strangers use. A block with a payment to a newer address ends this, too.',
    path: '/links',
    link: 'Links',
  },
  'no-price': {
    text: 'Rates shows what each source answers. Nothing, if it ends within minutes. Otherwise name another source with --price-source; orders in satoshis need none.',
    path: '/settings/rates',
    link: 'Rates',
  },
  'unlisted-proxy': {
    text: 'If it is your proxy, start serve as shown. Settings lists all sessions and their addresses.',
    ...settings,
  },
  'shop-unreachable': {
    text: 'Make sure that the shop’s server runs. paygate sends waiting callbacks once it responds.',
    path: '/callbacks?state=owed',
    link: 'Waiting deliveries',
  },
  'shop-refuses': {
    text: 'Read the shop’s responses and repair it. Verify it with a test callback on the page of its store, then resend waiting deliveries.',
    path: '/callbacks?state=owed',
    link: 'Waiting deliveries',
  },
  'unknown-callback-url': {
    text: 'Its customers get no address. Set the store’s Callback URL to the one that the shop shows, including its secret. This alarm ends once a store has that URL, or after three days without such a request.',
    ...stores,
  },
  'shop-doubtful': {
    text: 'Read the shop’s responses and repair it. Verify it with a test callback on the page of its store, then resend these deliveries.',
    path: '/callbacks?state=flagged',
    link: 'Deliveries with a doubtful response',
  },
  'clock-wrong': {
    text: 'Set the clock, and synchronise it by NTP. Until then callbacks are sent without a signature, no server certificate is pinned or accepted, no order expires, and nothing is deleted by its age.',
    ...servers,
  },
  'notifications-failed': {
    text: 'Check the mail server and the recipients, then send a test. This alarm ends once the recipient receives a notification.',
    path: '/settings/notifications',
    link: 'Notifications',
  },
  'lightning-down': {
    text: 'Start the node. Until then, customers pay its orders on chain. What was paid before is recorded when it is back.',
    ...stores,
  },
  'lightning-refused': {
    text: 'The order does not count it. Compare the invoice with your node, and update the node.',
    ...stores,
  },
  'own-certificate': {
    text: 'Make sure that the files are renewed, or that the certificate authority reaches this machine on port 80.',
    ...settings,
  },
};

/** The same alarms of webhooks. */
const webhookAdvices: Readonly<Partial<Record<FindingCode, Advice>>> = {
  'exhausted-callbacks': {
    text: 'Repair the shop’s webhook, send a test event to verify it, then resend the failed events.',
    path: '/events?state=exhausted',
    link: 'Failed events',
  },
  'shop-refuses': {
    text: 'Read the shop’s responses and repair it. Verify it with a test event on the page of its store, then resend waiting events.',
    path: '/events?state=owed',
    link: 'Waiting events',
  },
};

interface AlarmsProps {
  readonly request: PageRequest;
  readonly alarms: readonly DatedFinding[];
}

export const Alarms = ({ request, alarms }: AlarmsProps) =>
  alarms.length === 0 ? null : (
    <section aria-label="Alarms">
      {alarms.map((alarm) => (
        <Banner request={request} alarm={alarm} />
      ))}
    </section>
  );

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** Options do not break between their dashes. */
const withOptions = (text: string) =>
  text
    .split(/(--[a-z-]+(?: \d+)?)/)
    .map((part, place) => (place % 2 === 1 ? <code class="option">{part}</code> : part));

const severityWords: Readonly<Record<Severity, StateWord>> = {
  error: { text: 'Error', tone: 'bad' },
  warning: { text: 'Warning', tone: 'waiting' },
};

const Banner = ({ request, alarm }: { request: PageRequest; alarm: DatedFinding }) => {
  const { code, fact, since, storeId, advice, isWebhook } = alarm;
  const { text, path, link } = (isWebhook && webhookAdvices[code]) || advices[code];
  const to = base + path + (storeId === undefined ? '' : `&store=${storeId}`);
  const severity = severityOf(code);
  const isDismissed = code === 'restored-database';
  return (
    <div class={`alarm ${severity}`} data-alarm={code}>
      <p>
        <Pill word={severityWords[severity]} /> <strong>{withOptions(fact)}</strong>
      </p>
      <p>{withOptions(advice === undefined ? text : sentence(advice))}</p>
      <p class="under">
        <a class={isDismissed ? undefined : 'button'} href={to}>
          {link}
        </a>
        <small class="quiet">
          Since <Time at={since} />
        </small>
      </p>
      {isDismissed ? (
        <Form request={request} action="dismiss-restored" button="I have done this" />
      ) : null}
    </div>
  );
};
