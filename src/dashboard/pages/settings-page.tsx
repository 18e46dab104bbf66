// The index of the settings, and the version.

import { version } from '../../lib/version.ts';
import { Layout } from '../layout.tsx';
import { base, type Page, type PageRequest } from '../page.ts';

/** The pages below this one, each with what it has. */
const sections = [
  ['account', 'Account', 'password, passkeys, authenticator app, sessions'],
  ['rates', 'Rates', 'the last price of each source'],
  ['backups', 'Backups', 'copies of the database to download'],
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
    <section aria-labelledby="about">
      <h2 id="about">About</h2>
      <p>
        paygate {version} on {request.parts.store.network}.
      </p>
    </section>
    <p>
      <a href={`${base}/sign-out`}>Sign out</a>
    </p>
  </Layout>
);
