// Signing in, and out.

import { pageAfterSignIn, signIn, signOut } from '../dashboard-session.ts';
import { CodeField, Form, NarrowPage, ProblemNote } from '../layout.tsx';
import { base, type Page, type PageRequest } from '../page.ts';

export const signInPage: Page = {
  path: '/sign-in',
  open: true,
  show: (request) => signInMarkup(request),
  actions: {
    'sign-in': async (request) => {
      await signIn(request);
      return { to: pageAfterSignIn(request.context.req.query('next')) };
    },
  },
};

const SessionEnded = () => (
  <p role="alert" class="problem">
    What you have sent was not done: your session was over. Sign in, and you come back to the page
    that it was sent from.
  </p>
);

/** Not as they are: anybody may see this, and where the database lies is not for everybody. */
const optionsText =
  'with the --db and --listen, --domain or --public-url that serve has (without --db, in the folder of serve)';

/** What prints another link, on a page that anybody may see. */
export const LinkCommand = () => (
  <>
    <pre>
      <code>paygate admin link</code>
    </pre>
    <p>
      <small>{optionsText}</small>
    </p>
  </>
);

function signInMarkup(request: PageRequest) {
  const operator = request.parts.store.admin.operator();
  if (operator === undefined) {
    return (
      <NarrowPage title="Welcome">
        <p>
          No password is set yet. paygate has printed a link for that when it started; on its
          machine, this prints another one:
        </p>
        <LinkCommand />
      </NarrowPage>
    );
  }
  return (
    <NarrowPage title="Sign in">
      <ProblemNote request={request} />
      {request.problem === undefined && request.context.req.query('late') !== undefined ? (
        <SessionEnded />
      ) : null}
      <Form request={request} action="sign-in" button="Sign in">
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
          Forgotten? On the machine of paygate, <code>paygate admin link</code>, {optionsText},
          prints a link that sets a new one.
        </small>
      </p>
    </NarrowPage>
  );
}

export const signOutPage: Page = {
  path: '/sign-out',
  show: (request) => (
    <NarrowPage title="Sign out">
      <Form request={request} action="sign-out" button="Sign out" />
      <p>
        <a href={base}>Stay</a>
      </p>
    </NarrowPage>
  ),
  actions: {
    'sign-out': async (request) => {
      await signOut(request);
      return { to: `${base}/sign-in` };
    },
  },
};
