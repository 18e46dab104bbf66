// The index of the settings, and what a bug report needs. It never shows where the database lies.

import { version } from '../../../lib/version.ts';
import { fingerprintOf } from '../../../status/health.ts';
import { Time } from '../../../web/values.tsx';
import { base, type Page, type PageRequest } from '../../page.ts';
import { Facts, Layout } from '../../parts/layout.tsx';

const sections = [
  ['account', 'Account', 'password, passkeys, authenticator app, sessions'],
  ['people', 'People', 'who signs in: viewers see orders and payments, and change nothing'],
  ['time-zone', 'Time zone', 'when a day begins: sums, lists, files, mails'],
  ['rates', 'Rates', 'the last price of each source'],
  ['backups', 'Backups', 'copies of the database: make one, download one'],
  ['notifications', 'Notifications', 'mails and webhook requests about orders and alarms'],
  ['audit', 'Audit log', 'every change, by whom, and when'],
] as const;

export const settingsPage: Page = {
  path: '/settings',
  show: (request) => settingsMarkup(request),
};

const settingsMarkup = (request: PageRequest) => (
  <Layout request={request} title="Settings">
    <ul class="plain">
      {sections.map(([path, name, content]) => (
        <li>
          <p>
            <a href={`${base}/settings/${path}`}>{name}</a>
            <br />
            <small>{content}</small>
          </p>
        </li>
      ))}
    </ul>
    <About request={request} />
    <p>
      <a href={`${base}/sign-out`}>Sign out</a>
    </p>
  </Layout>
);

const About = ({ request: { parts } }: { readonly request: PageRequest }) => (
  <section aria-labelledby="about">
    <h2 id="about">About</h2>
    <Facts
      rows={[
        ['Version', `paygate ${version}`],
        ['Network', parts.records.network],
        ['Database', <code>{fingerprintOf(parts.records)}</code>],
        ['Running since', <Time at={parts.startedAt} />],
      ]}
    />
    <p>
      <a href="/docs">API docs</a>, <a href="/docs/quickstart">quickstart</a>
    </p>
    <p>
      MIT license. <code>paygate licenses</code> lists the parts of the executable with theirs.
    </p>
  </section>
);
