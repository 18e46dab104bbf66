// Signing in, and out.

import { signIn, signOut, wantedPage } from '../dashboard-session.ts';
import { CodeField, Form, Narrow, Problem } from '../layout.tsx';
import { base, type Page, type Visit } from '../page.ts';

export const signInPage: Page = {
  path: '/sign-in',
  open: true,
  show: (visit) => signInMarkup(visit),
  actions: {
    'sign-in': async (visit) => {
      await signIn(visit);
      return { to: wantedPage(visit.context.req.query('next')) };
    },
  },
};

const Late = () => (
  <p role="alert" class="problem">
    What you have sent was not done: your session was over. Sign in, and you come back to the page
    that it was sent from.
  </p>
);

/** Not as they are: anybody may see this, and where the database lies is not for everybody. */
const withOptions =
  'with the --db and --listen, --domain or --public-url that serve has (without --db, in the folder of serve)';

/** What prints another link, on a page that anybody may see. */
export const LinkCommand = () => (
  <>
    <pre>
      <code>paygate admin link</code>
    </pre>
    <p>
      <small>{withOptions}</small>
    </p>
  </>
);

function signInMarkup(visit: Visit) {
  const operator = visit.parts.store.admin.operator();
  if (operator === undefined) {
    return (
      <Narrow title="Welcome">
        <p>
          No password is set yet. paygate has printed a link for that when it started; on its
          machine, this prints another one:
        </p>
        <LinkCommand />
      </Narrow>
    );
  }
  return (
    <Narrow title="Sign in">
      <Problem visit={visit} />
      {visit.problem === undefined && visit.context.req.query('late') !== undefined ? (
        <Late />
      ) : null}
      <Form visit={visit} does="sign-in" button="Sign in">
        {/* For password managers, which want a name to go with it. */}
        <input type="text" name="username" value="admin" autocomplete="username" hidden />
        <label>
          Password
          <input
            type="password"
            name="password"
            autocomplete="current-password"
            required
            autofocus
          />
        </label>
        {operator.totpSecret === null ? null : <CodeField />}
      </Form>
      <p>
        <small>
          Forgotten? On the machine of paygate, <code>paygate admin link</code>, {withOptions},
          prints a link that sets a new one.
        </small>
      </p>
    </Narrow>
  );
}

export const signOutPage: Page = {
  path: '/sign-out',
  show: (visit) => (
    <Narrow title="Sign out">
      <Form visit={visit} does="sign-out" button="Sign out" />
      <p>
        <a href={base}>Stay</a>
      </p>
    </Narrow>
  ),
  actions: {
    'sign-out': async (visit) => {
      await signOut(visit);
      return { to: `${base}/sign-in` };
    },
  },
};
