// The pages that sign in and sign out.

import {
  pageAfterSignIn,
  personWithProof,
  signIn,
  signInByCode,
  signInByPasskey,
  signOut,
} from '../../guard/dashboard-session.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { Form, SecondFactorFields, UserName, ZoneField } from '../../parts/form-parts.tsx';
import { NarrowPage, ProblemNote } from '../../parts/layout.tsx';
import { isPasskeyOffered, PasskeyButton } from '../../parts/passkey-button.tsx';
import { askPasskey } from './passkeys-section.tsx';

const signInPath = `${base}/sign-in`;

export const signInPage: Page = {
  path: '/sign-in',
  open: true,
  show: (request) => signInMarkup(request),
  actions: {
    'sign-in': async (request) => {
      const proof = await signIn(request);
      if (proof === undefined) return toPage(request);
      const form = new URLSearchParams({ 'password-proof': proof });
      return { show: signInMarkup({ ...request, form }) };
    },
    'use-code': async (request) => {
      await signInByCode(request);
      return toPage(request);
    },
    'ask-passkey': askPasskey('sign-in'),
    'use-passkey': async (request) => {
      await signInByPasskey(request);
      return toPage(request);
    },
  },
};

const toPage = ({ context }: PageRequest): ActionResult => ({
  to: pageAfterSignIn(context.req.query('next')),
});

const SessionEnded = () => (
  <p role="alert" class="problem">
    Nothing was changed: your session had ended. Sign in to return to the page of your form.
  </p>
);

/** Without values: the page is public, and must not reveal the path of the database. */
const optionsText =
  'with the --db and --listen, --domain or --public-url of serve (without --db, in the folder of serve)';

/** The command that prints another link, for a public page. */
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
  const { admin } = request.parts.records;
  const people = admin.people();
  if (people.length === 0) {
    return (
      <NarrowPage title="Welcome">
        <p>
          No password is set yet. paygate printed a link for that when it started. To print another
          one, run this on its machine:
        </p>
        <LinkCommand />
      </NarrowPage>
    );
  }
  const proven = personWithProof(request);
  if (proven !== undefined) return codeMarkup({ ...request, account: admin.of(proven.id) });
  return (
    <NarrowPage title="Sign in">
      <ProblemNote request={request} />
      {request.problem === undefined && request.context.req.query('late') !== undefined ? (
        <SessionEnded />
      ) : null}
      <Form request={request} action="sign-in" button="Sign in">
        {admin.hasViewers() ? <NameField request={request} /> : <UserName request={request} />}
        <ZoneField />
        <label>
          Password
          <input
            type="password"
            name="password"
            autocomplete="current-password"
            required
            autofocus={!admin.hasViewers()}
          />
        </label>
      </Form>
      {people.some(({ id }) => isPasskeyOffered({ ...request, account: admin.of(id) })) ? (
        <Form request={request} action="use-passkey" label="Sign in with a passkey">
          <PasskeyButton label="Sign in with a passkey" asks={signInPath} />
          <ZoneField />
        </Form>
      ) : null}
      <p>
        <small>
          Forgot your password? On the machine of paygate, <code>paygate admin link</code>,{' '}
          {optionsText}, prints a link that sets a new one.
        </small>
      </p>
    </NarrowPage>
  );
}

/** Only after a right password: no other page says who has an authenticator app. */
const codeMarkup = (request: PageRequest) => (
  <NarrowPage title="Your code">
    <ProblemNote request={request} />
    <Form request={request} action="use-code" button="Sign in">
      <input
        type="hidden"
        name="password-proof"
        value={request.form.get('password-proof') ?? undefined}
      />
      <ZoneField />
      <SecondFactorFields request={request} form="use-code" hasFocus />
    </Form>
    <p>
      <a href={request.url}>Start again</a>
    </p>
  </NarrowPage>
);

const NameField = ({ request }: { readonly request: PageRequest }) => (
  <label>
    Name
    <input
      name="username"
      value={request.form.get('username') ?? undefined}
      autocomplete="username"
      autocapitalize="none"
      spellcheck={false}
      required
      autofocus
    />
  </label>
);

export const signOutPage: Page = {
  path: '/sign-out',
  viewers: ['sign-out'],
  show: (request) => (
    <NarrowPage title="Sign out">
      <Form request={request} action="sign-out" button="Sign out" />
      <p>
        <a href={base}>Stay signed in</a>
      </p>
    </NarrowPage>
  ),
  actions: {
    'sign-out': async (request) => {
      await signOut(request);
      return { to: signInPath };
    },
  },
};
