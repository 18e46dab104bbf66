// Where a one-time link leads: it sets a password, the first one or another, and signs in with it.

import { PaygateError } from '../../lib/errors.ts';
import { note } from '../audit-entry.ts';
import { beginSession, clientOf, giveCookie } from '../dashboard-session.ts';
import { Form, Narrow, Problem, Switch } from '../layout.tsx';
import { base, type Outcome, type Page, type Visit } from '../page.ts';
import { leastPasswordLength } from '../password.ts';
import { LinkCommand } from './sign-in-page.tsx';
import { isUnfinished, welcomePath } from './welcome-page.tsx';

export const enterPage: Page = {
  path: '/enter',
  open: true,
  show: (visit) => (isStanding(visit) ? newPassword(visit) : overdue()),
  actions: { enter },
};

const linkOf = ({ context }: Visit): string => context.req.query('token') ?? '';

const isStanding = (visit: Visit): boolean =>
  visit.parts.store.admin.hasLink(visit.now, linkOf(visit));

const overdue = () => (
  <Narrow title="This link is no longer valid">
    <p>
      It can be used once, within 15 minutes. On the machine of paygate, this prints another one:
    </p>
    <LinkCommand />
    <p>
      <a href={base}>To the dashboard</a>
    </p>
  </Narrow>
);

function newPassword(visit: Visit) {
  const operator = visit.parts.store.admin.operator();
  return (
    <Narrow title="Set a password">
      <Problem visit={visit} />
      <Form visit={visit} does="enter" button="Set it and go on">
        <input type="text" name="username" value="admin" autocomplete="username" hidden />
        <NewPasswordFields />
        {operator?.totpSecret ? (
          <Switch
            visit={visit}
            does="enter"
            name="no-totp"
            label="Also switch the authenticator app off"
            on={false}
          />
        ) : null}
      </Form>
    </Narrow>
  );
}

export const NewPasswordFields = () => (
  <>
    <label>
      New password
      <input
        type="password"
        name="password-new"
        autocomplete="new-password"
        minlength={leastPasswordLength}
        required
      />
      <small>At least {leastPasswordLength} characters. Four or five words do well.</small>
    </label>
    <label>
      The same again
      <input type="password" name="password-again" autocomplete="new-password" required />
    </label>
  </>
);

/** The new password of a form. @throws PaygateError invalid */
export function newPasswordIn({ form }: Visit): string {
  const password = form.get('password-new') ?? '';
  if (password === (form.get('password-again') ?? '')) return password;
  throw new PaygateError('invalid', 'The two passwords are not the same.');
}

/** Of a new password. @throws PaygateError invalid, limited */
export function hashOf({ parts }: Visit, password: string): Promise<string> {
  const names = parts.store.catalog.stores().map(({ name }) => name);
  return parts.passwords.hash(password, names);
}

async function enter(visit: Visit): Promise<Outcome> {
  const { admin, database } = visit.parts.store;
  // A hash costs much: not for everybody.
  if (!isStanding(visit)) throw new PaygateError('forbidden', 'This link is no longer valid.');
  const hash = await hashOf(visit, newPasswordIn(visit));
  const token = await database.write((tx) => {
    if (!admin.useLink(tx, visit.now, linkOf(visit))) {
      throw new PaygateError('forbidden', 'This link is no longer valid.');
    }
    admin.setPassword(tx, visit.now, hash);
    if (visit.form.has('no-totp')) admin.setTotp(tx, null);
    note(visit, tx, 'password.set', { by: 'link' });
    return beginSession(tx, { ...visit, session: undefined });
  });
  visit.parts.world.log.info('signed in', { client: clientOf(visit), by: 'link' });
  giveCookie(visit, token);
  return { to: isUnfinished(visit) ? welcomePath : base };
}
