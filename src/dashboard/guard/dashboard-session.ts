// Signing in and out, and the password (with a code if an authenticator app is set up) or passkey
// again before harmful actions. Signing in asks for the code after the password. A session always
// begins with a new token, whatever cookie the browser sent.

import { deleteCookie, setCookie } from 'hono/cookie';
import { networkPrefix48 } from '../../domain/access/client-address.ts';
import { parseRecoveryCode } from '../../domain/access/recovery-code.ts';
import { matchingStep } from '../../domain/access/totp.ts';
import { maxSetBackMs } from '../../domain/payment/clock-check.ts';
import { zoneIn } from '../../domain/text/time-zone.ts';
import { PaygateError, reasonOf } from '../../lib/errors.ts';
import {
  type Admin,
  absoluteMs,
  ownerId,
  type Person,
  type Session,
} from '../../store/access/admin.ts';
import type { Tx } from '../../store/db/writer.ts';
import { base, field, type PageRequest } from '../page.ts';
import { FieldErrors, fieldError } from '../parts/form-fields.ts';
import { clientOf, recordChange } from './audit-entry.ts';
import type { ChallengePurpose } from './challenges.ts';
import { type ProvenPasskey, provenPasskey } from './passkeys.ts';
import type { PasswordClient } from './password.ts';

/** How long a typed password or a used passkey counts as recent. */
const passwordConfirmationMs = 5 * 60_000;
const tokenBytes = 32;
const maxAgentLength = 200;

export const newToken = ({ parts }: Pick<PageRequest, 'parts'>): string =>
  Buffer.from(parts.world.randomBytes(tokenBytes)).toString('base64url');

export const setSessionCookie = (request: PageRequest, token: string): void =>
  setDashboardCookie(request, request.transport.cookieName, token);

/**
 * Sets the cookie that binds forms of public pages to this browser. It must not replace the session
 * cookie: browsers omit that for a link from another site (SameSite), so the link would sign out.
 */
export const setVisitorCookie = (request: PageRequest): void =>
  setDashboardCookie(request, request.transport.visitorCookieName, request.token);

function setDashboardCookie(
  { context, transport }: PageRequest,
  name: string,
  token: string,
): void {
  setCookie(context, name, token, {
    path: '/',
    httpOnly: true,
    sameSite: 'Strict',
    secure: transport.secure,
    maxAge: absoluteMs / 1000,
  });
}

/**
 * @returns the person whose password was checked, by the field `username`
 * @throws PaygateError limited, unauthorized for a wrong name or password
 */
async function checkPassword(request: PageRequest): Promise<Person> {
  const { admin } = request.parts.records;
  const name = field(request, 'username');
  const named = name === '' ? admin.operator() : admin.personNamed(name);
  const person = named?.passwordHash === '' ? undefined : named;
  // An unknown name takes as long as a wrong password.
  const tried = person ?? admin.operator();
  const isRight = tried !== undefined && (await isPasswordRight(request, tried));
  if (person === undefined || !isRight) throw wrongCredentials(admin);
  return person;
}

const wrongCredentials = (admin: Admin): PaygateError =>
  new PaygateError(
    'unauthorized',
    `Wrong ${admin.hasViewers() ? 'name or ' : ''}password. Is the keyboard in the right language?`,
  );

/** Whether the field `password` is correct. @throws PaygateError limited */
async function isPasswordRight(
  request: PageRequest,
  { passwordHash }: Pick<Person, 'passwordHash'>,
): Promise<boolean> {
  const { parts, form } = request;
  const client = passwordClientOf(request);
  parts.limits.take('password', client.network);
  return parts.passwords.verify(form.get('password') ?? '', passwordHash, client);
}

function passwordClientOf(request: PageRequest): PasswordClient {
  const network = networkPrefix48(clientOf(request));
  const { admin } = request.parts.records;
  const isKnown =
    request.session !== undefined ||
    admin.sessionClients().some((each) => networkPrefix48(each) === network);
  return { network, isKnown };
}

interface CodeAttempt {
  /** What the limit counts. */
  readonly who: string;
  /** No session came from the client lately. */
  readonly isStranger: boolean;
}

/**
 * Uses up the code of the authenticator app, or the recovery code, of the form. The limit counts
 * all codes of unknown clients, and the wrong ones of others.
 * @throws PaygateError limited, unauthorized
 */
async function useCode(
  request: PageRequest,
  { who, isStranger }: CodeAttempt,
  secret: string,
  after: number,
): Promise<void> {
  const { limits } = request.parts;
  if (isStranger) limits.take('code', who);
  else limits.require('code', who);
  try {
    await checkCode(request, secret, after);
  } catch (error) {
    if (!isStranger) limits.take('code', who);
    throw error;
  }
}

/** The password before it was right. */
class WrongCode extends FieldErrors {
  constructor(name: 'code' | 'recovery-code', text: string) {
    super('unauthorized', new Map([[name, { label: '', text }]]));
  }
}

/** @throws WrongCode */
async function checkCode(request: PageRequest, secret: string, after: number): Promise<void> {
  const { account, parts, now } = request;
  if (field(request, 'recovery-code') !== '') return useRecoveryCode(request);
  const code = field(request, 'code');
  if (code === '') throw new WrongCode('code', 'Type the code that your authenticator app shows.');
  const step = matchingStep(secret, code, now, after);
  const taken =
    step !== undefined && (await parts.records.database.write((tx) => account.takeStep(tx, step)));
  if (taken) return;
  const isOld = matchingStep(secret, code, now, 0) !== undefined;
  throw new WrongCode(
    'code',
    isOld
      ? 'This code, or a newer one, was already used. Wait for the next one: your app shows a new ' +
          'code every 30 seconds.'
      : 'This code is wrong. Type the one that your app shows now for this paygate. If it stays ' +
          'wrong, the clock of the app may be.',
  );
}

/** @throws WrongCode */
async function useRecoveryCode(request: PageRequest): Promise<void> {
  const { account } = request;
  const code = parseRecoveryCode(field(request, 'recovery-code'));
  const isUsed =
    code !== undefined &&
    (await request.parts.records.database.write((tx) => {
      if (!account.useRecoveryCode(tx, code)) return false;
      recordChange(request, tx, 'recovery-code.use', { left: account.recoveryCodesLeft() });
      return true;
    }));
  if (isUsed) return;
  const text = 'This recovery code is wrong, or was already used. Each one works once.';
  throw new WrongCode('recovery-code', text);
}

/**
 * Begins a session of the request's account in the given transaction. The caller sets the cookie
 * after the commit.
 */
export function beginSession(tx: Tx, request: PageRequest): string {
  const { admin } = request.parts.records;
  const token = newToken(request);
  if (request.session !== undefined) admin.end(tx, request.session.id);
  noteZone(tx, request);
  const agent = (request.context.req.header('User-Agent') ?? '').slice(0, maxAgentLength);
  admin.clearSessions(tx, request.now);
  request.account.begin(tx, request.now, { token, agent, client: clientOf(request) });
  return token;
}

/** The owner's first sign-in by a browser that names its time zone sets that of the merchant. */
function noteZone(tx: Tx, request: PageRequest): void {
  const { state } = request.parts.records;
  const zone = zoneIn(field(request, 'zone'));
  if (zone === undefined || state.timeZone.read() !== undefined) return;
  if (request.account.personId !== ownerId) return;
  state.timeZone.write(tx, zone);
  recordChange(request, tx, 'zone.set', { zone, by: 'browser' });
}

/**
 * Attempts beyond the limit are not logged. Strangers may send thousands of others, which must not
 * hide a thief that knows the password, or the clients of the owner.
 */
function logRefusedSignIn(request: PageRequest, error: unknown): void {
  if (error instanceof PaygateError && error.code === 'limited') return;
  const client = passwordClientOf(request).isKnown ? 'known' : 'strangers';
  const share = error instanceof WrongCode ? 'code' : client;
  request.parts.refusedSignIns.note({
    client: clientOf(request),
    reason: reasonOf(error),
    share,
  });
}

/** Logs why the attempt failed, if it fails. */
async function logIfRefused<T>(request: PageRequest, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    logRefusedSignIn(request, error);
    throw error;
  }
}

/**
 * Checks name and password, and begins the session of a person without an authenticator app.
 * @returns for another person: what `signInByCode` needs in the field `password-proof`
 */
export const signIn = (request: PageRequest): Promise<string | undefined> =>
  logIfRefused(request, async () => {
    const person = await checkPassword(request);
    const { world, challenges } = request.parts;
    if (person.totpSecret === null) {
      await beginCheckedSession(request, person);
      return undefined;
    }
    world.log.info('sign-in: the password was right, a code is required', {
      client: clientOf(request),
      person: person.name,
    });
    return challenges.issue(request.token, codePurpose(person));
  });

/** Each person has another one. A new password and another authenticator app change it. */
const codePurpose = ({ passwordHash, totpSecret }: Person): ChallengePurpose =>
  `code:${passwordHash} ${totpSecret}`;

const passwordProof = ({ form }: PageRequest): string => form.get('password-proof') ?? '';

/** The person whose right password this browser sent lately, and whose code is required now. */
export const personWithProof = (request: PageRequest): Person | undefined =>
  request.parts.records.admin
    .people()
    .find((person) =>
      request.parts.challenges.isValid(passwordProof(request), request.token, codePurpose(person)),
    );

/** Completes the sign-in of the person of `password-proof` with a code. */
export const signInByCode = (request: PageRequest): Promise<void> =>
  logIfRefused(request, async () => {
    const { network, isKnown } = passwordClientOf(request);
    const { limits, challenges, records } = request.parts;
    // As many as passwords, and counted apart: one sign-in has one of each.
    limits.take('password', `code ${network}`);
    const person = personWithProof(request);
    if (!person?.totpSecret) throw passwordAgain();
    const own = { ...request, account: records.admin.of(person.id) };
    // All unknown clients share one limit: each has the password, and may use many addresses.
    const attempt = {
      who: `${isKnown ? 'known' : 'strangers'} ${person.id}`,
      isStranger: !isKnown,
    };
    await useCode(own, attempt, person.totpSecret, person.totpStep);
    if (!challenges.use(passwordProof(request))) throw passwordAgain();
    await beginCheckedSession(request, person);
  });

const passwordAgain = (): PaygateError =>
  new PaygateError(
    'unauthorized',
    'The code came more than five minutes after the password, or your sign-in was changed or used ' +
      'meanwhile. Type your password again.',
  );

/** @param person as read before the password or code was checked */
async function beginCheckedSession(request: PageRequest, person: Person): Promise<void> {
  const { admin, database } = request.parts.records;
  const own = { ...request, account: admin.of(person.id) };
  const token = await database.write((tx) => {
    const now = own.account.person();
    // The password or the authenticator app changed while it was checked: reject.
    if (now?.passwordHash !== person.passwordHash || now.totpSecret !== person.totpSecret)
      throw wrongCredentials(admin);
    return beginSession(tx, own);
  });
  logSignIn(own);
  setSessionCookie(request, token);
}

/** @param by a way to sign in without a password */
export function logSignIn(request: PageRequest, by?: 'passkey' | 'link'): void {
  const person = request.account.person()?.name;
  request.parts.world.log.info('signed in', { client: clientOf(request), person, by });
}

/** Signs in with the passkey of the form. It needs no password and no code. */
export const signInByPasskey = (request: PageRequest): Promise<void> =>
  logIfRefused(request, async () => {
    request.parts.limits.take('passkey', networkPrefix48(clientOf(request)));
    const proven = await provenPasskey(request, 'sign-in');
    const { admin, database } = request.parts.records;
    const own = { ...request, account: admin.of(proven.personId) };
    const token = await database.write((tx) => {
      notePasskeyUse(tx, own, proven);
      return beginSession(tx, own);
    });
    logSignIn(own, 'passkey');
    setSessionCookie(request, token);
  });

/** @throws PaygateError unauthorized if the passkey was removed or copied meanwhile */
function notePasskeyUse(
  tx: Tx,
  { account, now }: PageRequest,
  { credentialId, counter }: ProvenPasskey,
): void {
  if (account.usePasskey(tx, now, credentialId, counter)) return;
  throw new PaygateError('unauthorized', 'This passkey was removed, or used at the same time.');
}

export async function signOut(request: PageRequest): Promise<void> {
  const { admin, database } = request.parts.records;
  const { id } = signedIn(request);
  await database.write((tx) => admin.end(tx, id));
  const { cookieName: name, secure } = request.transport;
  deleteCookie(request.context, name, { path: '/', secure });
}

export function signedIn({ session }: PageRequest): Session {
  if (session === undefined) throw new PaygateError('unauthorized', 'Sign in first');
  return session;
}

/** Whether the password (with a code, if an authenticator app is set up) or a passkey is recent. */
export const isPasswordRecent = ({ session, now }: PageRequest): boolean =>
  session !== undefined &&
  now - session.confirmedAt <= passwordConfirmationMs &&
  session.confirmedAt <= now + maxSetBackMs;

export const hasAuthenticator = ({ account }: Pick<PageRequest, 'account'>): boolean =>
  Boolean(account.person()?.totpSecret);

/**
 * Requires a recent password or passkey before a harmful action.
 * @throws PaygateError forbidden, limited; unauthorized for a wrong code or an ended session
 */
export async function requireRecentPassword(request: PageRequest): Promise<void> {
  if (isPasswordRecent(request)) return;
  if (request.form.get('passkey')) return confirmByPasskey(request);
  const isWithApp = hasAuthenticator(request);
  const hasCode = field(request, 'code') !== '' || field(request, 'recovery-code') !== '';
  const isTyped = Boolean(request.form.get('password'));
  if (!isTyped || (isWithApp && !hasCode)) {
    const what = isWithApp ? ', and a code from your authenticator app,' : '';
    const missing = isTyped ? 'code' : 'password';
    throw fieldError('forbidden', missing, `Type your password again${what} for this.`);
  }
  await logIfRefused(request, () => checkPasswordAgain(request));
  await request.parts.records.database.write((tx) => confirmSession(tx, request));
}

const confirmByPasskey = (request: PageRequest): Promise<void> =>
  logIfRefused(request, async () => {
    request.parts.limits.take('passkey', `session ${signedIn(request).id}`);
    const proven = await provenPasskey(request, 'confirm');
    await request.parts.records.database.write((tx) => {
      notePasskeyUse(tx, request, proven);
      confirmSession(tx, request);
    });
  });

async function checkPasswordAgain(request: PageRequest): Promise<void> {
  const person = request.account.person();
  if (person === undefined || !(await isPasswordRight(request, person))) {
    throw fieldError('forbidden', 'password', 'Wrong password.');
  }
  const { totpSecret, totpStep } = person;
  if (totpSecret === null) return;
  // Counted for each session, so that a stolen session cannot use up the attempts to sign in.
  const attempt = { who: `session ${signedIn(request).id}`, isStranger: false };
  await useCode(request, attempt, totpSecret, totpStep);
}

/**
 * Call it in the transaction of the action.
 * @throws PaygateError unauthorized if the session has ended
 */
export function confirmSession(tx: Tx, request: PageRequest): void {
  if (request.parts.records.admin.confirm(tx, request.now, signedIn(request))) return;
  throw new PaygateError('unauthorized', 'Your session has ended: sign in again.');
}

/** The page that was requested before signing in, if it is one of ours; otherwise the first one. */
export const pageAfterSignIn = (text: string | undefined): string =>
  text !== undefined && ownPage.test(text) ? text : base;

/** The query of a page for plugins is as they wrote it. */
const ownPage = /^(\/dashboard(\/[\w-]+)*(\?[\w.~%+=&-]*)?|\/api-keys\/authorize\/?(\?[!-~]*)?)$/;
