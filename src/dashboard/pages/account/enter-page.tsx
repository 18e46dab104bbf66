// The page of a one-time link: it sets the first or a new password and signs in.

import { PaygateError } from '../../../lib/errors.ts';
import type { Tx } from '../../../store/db/writer.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import {
  beginSession,
  clientOf,
  hasAuthenticator,
  setSessionCookie,
} from '../../guard/dashboard-session.ts';
import { namesOfStores } from '../../guard/first-password.ts';
import { hasPasskeys } from '../../guard/passkeys.ts';
import { minPasswordLength } from '../../guard/password.ts';
import { type ActionResult, base, type Page, type PageRequest } from '../../page.ts';
import { atField, fieldError } from '../../parts/form-fields.ts';
import { FaultNote, Form, faultAttributes, Switch, ZoneField } from '../../parts/form-parts.tsx';
import { NarrowPage, ProblemNote } from '../../parts/layout.tsx';
import { LinkCommand } from './sign-in-page.tsx';
import { isSetupUnfinished, welcomePath } from './welcome-page.tsx';

export const enterPage: Page = {
  path: '/enter',
  open: true,
  show: (request) => (isLinkValid(request) ? passwordMarkup(request) : expiredLink()),
  actions: { enter },
};

const linkOf = ({ context }: PageRequest): string => context.req.query('token') ?? '';

const isLinkValid = (request: PageRequest): boolean =>
  request.parts.records.admin.hasLink(request.now, linkOf(request));

const expiredLink = () => (
  <NarrowPage title="This link is no longer valid">
    <p>
      A link works once, within 15 minutes. To print another one, run this on the machine of
      paygate:
    </p>
    <LinkCommand />
    <p>
      <a href={base}>Go to the dashboard</a>
    </p>
  </NarrowPage>
);

function passwordMarkup(request: PageRequest) {
  const devices = devicesOf(request);
  return (
    <NarrowPage title="Set a password">
      <ProblemNote request={request} />
      <Form request={request} action="enter" button="Set password">
        <input type="text" name="username" value="admin" autocomplete="username" hidden />
        <ZoneField />
        <NewPasswordFields request={request} />
        {devices.length === 0 ? null : (
          <Switch
            request={request}
            form="enter"
            name="no-devices"
            label={`Also remove ${devices.join(' and ')}, because a device was lost or stolen`}
            on={false}
          />
        )}
      </Form>
    </NarrowPage>
  );
}

const devicesOf = (request: PageRequest): string[] => [
  ...(hasAuthenticator(request) ? ['the authenticator app with its recovery codes'] : []),
  ...(hasPasskeys(request) ? ['all passkeys'] : []),
];

export const NewPasswordFields = ({ request }: { readonly request: PageRequest }) => (
  <>
    <label>
      New password
      <input
        type="password"
        name="password-new"
        autocomplete="new-password"
        minlength={minPasswordLength}
        required
        {...faultAttributes(request, 'password-new')}
      />
      <small>At least {minPasswordLength} characters, such as four or five words.</small>
    </label>
    <FaultNote request={request} name="password-new" />
    <label>
      Repeat the password
      <input
        type="password"
        name="password-again"
        autocomplete="new-password"
        required
        {...faultAttributes(request, 'password-again')}
      />
    </label>
    <FaultNote request={request} name="password-again" />
  </>
);

/** The new password of the form. @throws FieldErrors */
export function newPasswordIn({ form }: PageRequest): string {
  const password = form.get('password-new') ?? '';
  if (password === (form.get('password-again') ?? '')) return password;
  throw fieldError('invalid', 'password-again', 'The two passwords do not match.');
}

/** The hash of a new password. @throws FieldErrors; PaygateError limited */
export function hashOf({ parts, transport }: PageRequest, password: string): Promise<string> {
  const hosts = transport.origins.map((origin) => new URL(origin).hostname);
  return parts.passwords
    .hash(password, [...namesOfStores(parts.records), ...hosts])
    .catch((error: unknown) => {
      throw atField('password-new', '', error);
    });
}

function removeDevices(tx: Tx, request: PageRequest): void {
  const { admin } = request.parts.records;
  if (hasAuthenticator(request)) recordChange(request, tx, 'totp.off', { by: 'link' });
  admin.setTotp(tx, null);
  for (const { id, name } of admin.passkeys()) {
    admin.removePasskey(tx, id);
    recordChange(request, tx, 'passkey.remove', { name, by: 'link' });
  }
}

async function enter(request: PageRequest): Promise<ActionResult> {
  const { admin, database } = request.parts.records;
  // A hash is expensive: only a valid link gets one.
  if (!isLinkValid(request)) throw new PaygateError('forbidden', 'This link is no longer valid.');
  const hash = await hashOf(request, newPasswordIn(request));
  const token = await database.write((tx) => {
    if (!admin.useLink(tx, request.now, linkOf(request))) {
      throw new PaygateError('forbidden', 'This link is no longer valid.');
    }
    admin.setPassword(tx, request.now, hash);
    recordChange(request, tx, 'password.set', { by: 'link' });
    if (request.form.has('no-devices')) removeDevices(tx, request);
    return beginSession(tx, { ...request, session: undefined });
  });
  request.parts.world.log.info('signed in', { client: clientOf(request), by: 'link' });
  setSessionCookie(request, token);
  return { to: isSetupUnfinished(request) ? welcomePath : base };
}
