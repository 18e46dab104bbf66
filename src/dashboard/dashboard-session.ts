// Signing in and out, and typing the password again before what could do harm, with a code where there is an app. A session begins with a
// token that nobody knew before, whatever cookie the browser brought.

import { deleteCookie, setCookie } from 'hono/cookie';
import { networkPrefix48 } from '../domain/client-address.ts';
import { maxSetBackMs } from '../domain/clock-check.ts';
import { matchingStep } from '../domain/totp.ts';
import { PaygateError, reasonOf } from '../lib/errors.ts';
import type { Tx } from '../store/db/writer.ts';
import { absoluteMs, type Operator, type Session } from '../store/records/admin.ts';
import { clientAddressOf } from '../web/request-origin.ts';
import { base, field, type Visit } from './page.ts';
import type { Trier } from './password.ts';

/** How long a typed password is fresh. */
const freshMs = 5 * 60_000;
const tokenBytes = 32;
const agentLength = 200;

export const newToken = ({ parts }: Pick<Visit, 'parts'>): string =>
  Buffer.from(parts.world.randomBytes(tokenBytes)).toString('base64url');

export const giveCookie = (visit: Visit, token: string): void =>
  give(visit, visit.transport.cookieName, token);

/**
 * What forms of open pages are bound to. Never in the place of a session's: that does not come along with a link
 * from another site (SameSite), and such a link would sign out.
 */
export const giveVisitorCookie = (visit: Visit): void =>
  give(visit, visit.transport.visitorName, visit.token);

function give({ context, transport }: Visit, name: string, token: string): void {
  setCookie(context, name, token, {
    path: '/',
    httpOnly: true,
    sameSite: 'Strict',
    secure: transport.secure,
    maxAge: absoluteMs / 1000,
  });
}

/** The client address, for limits and logs. */
export const clientOf = ({ context, parts }: Visit): string =>
  clientAddressOf(context, parts.proxies);

/**
 * @returns by what it was looked at
 * @throws PaygateError limited, unauthorized for a wrong password or code
 */
async function checkSignIn(visit: Visit): Promise<Operator> {
  const operator = visit.parts.store.admin.operator();
  if (operator === undefined) throw wrong();
  if (!(await isPassword(visit))) throw wrong();
  const { totpSecret, totpStep } = operator;
  // Counted together: a client that comes so far has the password, and may come from anywhere.
  const who = trierOf(visit).isKnown ? 'known' : 'strangers';
  if (totpSecret !== null) await takeCode(visit, who, totpSecret, totpStep);
  return operator;
}

const wrong = (): PaygateError =>
  new PaygateError('unauthorized', 'That is not right. Is the keyboard in the right language?');

/** Whether the field `password` holds it. @throws PaygateError limited */
async function isPassword(visit: Visit): Promise<boolean> {
  const { parts, form } = visit;
  const trier = trierOf(visit);
  parts.limits.take('password', trier.line);
  const { passwordHash = '' } = parts.store.admin.operator() ?? {};
  return parts.passwords.verify(form.get('password') ?? '', passwordHash, trier);
}

function trierOf(visit: Visit): Trier {
  const line = networkPrefix48(clientOf(visit));
  const { admin } = visit.parts.store;
  const isKnown =
    visit.session !== undefined ||
    admin.sessionClients().some((each) => networkPrefix48(each) === line);
  return { line, isKnown };
}

/** @param who counts as one @throws PaygateError limited, unauthorized */
async function takeCode(visit: Visit, who: string, secret: string, after: number): Promise<void> {
  const { admin, database } = visit.parts.store;
  visit.parts.limits.take('code', who);
  const step = matchingStep(secret, field(visit, 'code'), visit.now, after);
  const taken = step !== undefined && (await database.write((tx) => admin.takeStep(tx, step)));
  if (!taken)
    throw new PaygateError('unauthorized', 'This code is not right, or was used already.');
}

/** Begins a session in the transaction of what allowed it; the cookie is given after the commit. */
export function beginSession(tx: Tx, visit: Visit): string {
  const { admin } = visit.parts.store;
  const token = newToken(visit);
  if (visit.session !== undefined) admin.end(tx, visit.session.id);
  const agent = (visit.context.req.header('User-Agent') ?? '').slice(0, agentLength);
  admin.begin(tx, visit.now, { token, agent, client: clientOf(visit) });
  return token;
}

/** What comes too often is not looked at, and strangers send it by thousands. */
function logRefusal(visit: Visit, error: unknown): void {
  if (error instanceof PaygateError && error.code === 'limited') return;
  const fields = { client: clientOf(visit), reason: reasonOf(error) };
  visit.parts.world.log.warn('sign-in refused', fields);
}

export async function signIn(visit: Visit): Promise<void> {
  const { log } = visit.parts.world;
  const { admin, database } = visit.parts.store;
  const client = clientOf(visit);
  let token: string;
  try {
    const { passwordHash, totpSecret } = await checkSignIn(visit);
    token = await database.write((tx) => {
      const now = admin.operator();
      // Looked at while another one was set, which signs out whoever had it, or while a code was not asked for yet.
      if (now?.passwordHash !== passwordHash || now.totpSecret !== totpSecret) throw wrong();
      return beginSession(tx, visit);
    });
  } catch (error) {
    logRefusal(visit, error);
    throw error;
  }
  log.info('signed in', { client });
  giveCookie(visit, token);
  await renewHash(visit);
}

/** Hashes the password that was right anew: an earlier hash takes four times as much memory with each try. */
async function renewHash({ parts, form }: Visit): Promise<void> {
  const { admin, database } = parts.store;
  const { passwordHash = '' } = admin.operator() ?? {};
  const renewed = parts.passwords.renew(form.get('password') ?? '', passwordHash);
  // If too many hashes wait, the next sign-in does it.
  const better = await renewed.catch(() => undefined);
  if (better !== undefined) await database.write((tx) => admin.renewHash(tx, passwordHash, better));
}

export async function signOut(visit: Visit): Promise<void> {
  const { admin, database } = visit.parts.store;
  const { id } = signedIn(visit);
  await database.write((tx) => admin.end(tx, id));
  const { cookieName: name, secure } = visit.transport;
  deleteCookie(visit.context, name, { path: '/', secure });
}

/** The session of a page that is not open. */
export function signedIn({ session }: Visit): Session {
  if (session === undefined) throw new PaygateError('unauthorized', 'Sign in first');
  return session;
}

/** Whether the password was typed a moment ago, and a code where there is an app. */
export const isFresh = ({ session, now }: Visit): boolean =>
  session !== undefined &&
  now - session.confirmedAt <= freshMs &&
  session.confirmedAt <= now + maxSetBackMs;

export const hasApp = ({ parts }: Visit): boolean =>
  Boolean(parts.store.admin.operator()?.totpSecret);

/**
 * Before what could do harm.
 * @throws PaygateError forbidden, limited, unauthorized for a wrong code, and for who was signed out meanwhile
 */
export async function requireFresh(visit: Visit): Promise<void> {
  if (isFresh(visit)) return;
  const isWithApp = hasApp(visit);
  if (!visit.form.get('password') || (isWithApp && field(visit, 'code') === '')) {
    const what = isWithApp ? ', and a code of your authenticator app,' : '';
    throw new PaygateError('forbidden', `Type your password again${what} for this.`);
  }
  try {
    await checkAgain(visit);
  } catch (error) {
    logRefusal(visit, error);
    throw error;
  }
  await visit.parts.store.database.write((tx) => confirmSession(tx, visit));
}

async function checkAgain(visit: Visit): Promise<void> {
  if (!(await isPassword(visit))) {
    throw new PaygateError('forbidden', 'This is not your password.');
  }
  const { totpSecret = null, totpStep = 0 } = visit.parts.store.admin.operator() ?? {};
  if (totpSecret === null) return;
  // Counted by session: a thief of one must not use up the tries of signing in.
  await takeCode(visit, `session ${signedIn(visit).id}`, totpSecret, totpStep);
}

/** In the transaction of what took its time. @throws PaygateError unauthorized for who was signed out meanwhile */
export function confirmSession(tx: Tx, visit: Visit): void {
  if (visit.parts.store.admin.confirm(tx, visit.now, signedIn(visit))) return;
  throw new PaygateError('unauthorized', 'Your session is over: sign in again.');
}

/** Where somebody wanted to go before signing in: a page of ours, or the first one. */
export const wantedPage = (text: string | undefined): string =>
  text !== undefined && /^\/dashboard(\/[a-z0-9-]+)*(\?[\w.~%+=&-]*)?$/.test(text) ? text : base;
