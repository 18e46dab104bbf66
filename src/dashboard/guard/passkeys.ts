// Passkeys: what a browser is asked, and the check of what it answers. A passkey verifies its user,
// so it replaces the password together with the code of an authenticator app.
// Source: https://www.w3.org/TR/webauthn-3/

import { isIP } from 'node:net';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { PaygateError } from '../../lib/errors.ts';
import { ownerName } from '../../store/access/admin.ts';
import type { NewPasskey } from '../../store/access/second-factors.ts';
import type { PageRequest } from '../page.ts';
import { challengeMs, type PasskeyPurpose } from './challenges.ts';

/** Ed25519, ECDSA with P-256, RSA (RFC 8812, RFC 9053). */
const algorithms = [-8, -7, -257];
const userHandleBytes = 32;
export const maxPasskeys = 20;
export const maxNameLength = 60;

/** A passkey that a browser proved to have. */
export interface ProvenPasskey {
  readonly personId: number;
  readonly credentialId: string;
  readonly counter: number;
}

/** The library takes long to load and is rarely used. */
const webAuthn = () => import('@simplewebauthn/server');

/**
 * The host name that a passkey is bound to, for a page of this origin. Undefined for an IP address,
 * and for plain HTTP except at `localhost`: browsers have no passkeys there.
 */
function rpIdOf(origin: string): string | undefined {
  const { protocol, hostname } = new URL(origin);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return undefined;
  return protocol === 'https:' || hostname === 'localhost' ? hostname : undefined;
}

/**
 * The host name for passkeys at this origin. A configured address is the only one, beside loopback:
 * any other origin may be another service of the host.
 */
function acceptedRpId(origin: string, { parts }: PageRequest): string | undefined {
  const rpId = rpIdOf(origin);
  const own = URL.parse(parts.publicUrl ?? '')?.origin ?? origin;
  return rpId === 'localhost' || own === origin ? rpId : undefined;
}

/** Whether browsers have passkeys for this page, under one of the names of this paygate. */
export const arePasskeysPossible = (request: PageRequest): boolean =>
  request.transport.origins.some((origin) => acceptedRpId(origin, request) !== undefined);

export const hasPasskeys = ({ account }: Pick<PageRequest, 'account'>): boolean =>
  account.passkeys().length > 0;

/** The page that sent the form; the guard has checked it. @throws PaygateError conflict */
function siteOf(request: PageRequest): { readonly origin: string; readonly rpId: string } {
  const origin = (request.context.req.header('Origin') ?? '').toLowerCase();
  const rpId = acceptedRpId(origin, request);
  if (rpId !== undefined) return { origin, rpId };
  throw new PaygateError(
    'conflict',
    'Passkeys need HTTPS with the host name of --domain or --public-url, or with any host name ' +
      'where none is set, or http://localhost. Open the dashboard there.',
  );
}

const challengeOf = (
  { parts, token }: PageRequest,
  purpose: PasskeyPurpose,
): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(parts.challenges.issue(token, purpose), 'base64url'));

/**
 * What the browser is asked, to prove that it has a passkey. It names no passkey, because strangers
 * may ask too.
 */
export async function passkeyRequest(
  request: PageRequest,
  purpose: PasskeyPurpose,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await webAuthn();
  return generateAuthenticationOptions({
    rpID: siteOf(request).rpId,
    challenge: challengeOf(request, purpose),
    timeout: challengeMs,
    userVerification: 'required',
  });
}

/** What the browser is asked, to make a passkey. */
export async function newPasskeyRequest(
  request: PageRequest,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await webAuthn();
  const { rpId } = siteOf(request);
  const { account } = request;
  const name = account.person()?.name ?? ownerName;
  return generateRegistrationOptions({
    rpName: 'paygate',
    rpID: rpId,
    userName: name,
    userDisplayName: `${name} of ${rpId}`,
    userID: await userHandleOf(request),
    challenge: challengeOf(request, 'add'),
    timeout: challengeMs,
    supportedAlgorithmIDs: algorithms,
    excludeCredentials: account.passkeys().map(({ credentialId, transports }) => ({
      id: credentialId,
      transports: listed(transports),
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/** All passkeys of a person have the same user handle, so that a new one replaces a removed one. */
async function userHandleOf({ parts, account }: PageRequest): Promise<Uint8Array<ArrayBuffer>> {
  const fresh = Buffer.from(parts.world.randomBytes(userHandleBytes));
  return new Uint8Array(await parts.records.database.write((tx) => account.passkeyUser(tx, fresh)));
}

const listed = (transports: string): string[] => transports.split(',').filter(Boolean);

/**
 * Checks the field `passkey`: the browser's answer to `passkeyRequest`. The caller records the use
 * in its transaction, which checks the counter again.
 * @throws PaygateError unauthorized
 */
export async function provenPasskey(
  request: PageRequest,
  purpose: PasskeyPurpose,
): Promise<ProvenPasskey> {
  const { origin } = siteOf(request);
  const response = answerIn(request, 'passkey') as AuthenticationResponseJSON;
  const found = request.parts.records.admin.passkeyOf(String(response.id));
  if (found === undefined) {
    throw new PaygateError('unauthorized', 'This passkey is not one of this paygate.');
  }
  if (found.origin !== origin) {
    throw new PaygateError('unauthorized', `This passkey works at ${found.origin} only.`);
  }
  if (purpose === 'confirm' && found.personId !== request.account.personId) {
    throw new PaygateError('unauthorized', 'This passkey is another person’s. Use one of yours.');
  }
  const { verifyAuthenticationResponse } = await webAuthn();
  const challenge = expectedChallenge(request, purpose);
  const { personId, credentialId, counter } = found;
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge.check,
    expectedOrigin: found.origin,
    expectedRPID: found.rpId,
    credential: { id: credentialId, publicKey: new Uint8Array(found.publicKey), counter },
    requireUserVerification: true,
  }).catch(refuse);
  if (!verified || !challenge.use()) refuse();
  return { personId, credentialId, counter: authenticationInfo.newCounter };
}

/**
 * Checks the field `passkey-new`: the browser's answer to `newPasskeyRequest`.
 * @throws PaygateError unauthorized
 */
export async function newPasskey(request: PageRequest): Promise<Omit<NewPasskey, 'name'>> {
  const { origin, rpId } = siteOf(request);
  const response = answerIn(request, 'passkey-new') as RegistrationResponseJSON;
  const { verifyRegistrationResponse } = await webAuthn();
  const challenge = expectedChallenge(request, 'add');
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge.check,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
    supportedAlgorithmIDs: algorithms,
  }).catch(refuse);
  if (!verified || !challenge.use()) return refuse();
  const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
  return {
    credentialId: id,
    publicKey: Buffer.from(publicKey),
    counter,
    // The library checks the shape of this list; browsers choose its words.
    transports: transports.filter((each) => /^[a-z-]{1,20}$/.test(each)).join(','),
    rpId,
    origin,
  };
}

/** @throws PaygateError invalid */
function answerIn({ form }: PageRequest, name: string): object {
  try {
    const answer: unknown = JSON.parse(form.get(name) ?? '');
    if (typeof answer === 'object' && answer !== null) return answer;
  } catch {
    // Refused below.
  }
  throw new PaygateError('invalid', 'Your browser did not answer with a passkey. Try again.');
}

/** Accepts a challenge of ours for this purpose, and remembers it for its use. */
function expectedChallenge({ parts, token }: PageRequest, purpose: PasskeyPurpose) {
  let given = '';
  return {
    check: (challenge: string): boolean => {
      given = challenge;
      return parts.challenges.isValid(challenge, token, purpose);
    },
    use: (): boolean => parts.challenges.use(given),
  };
}

/** The reason of the library repeats what a stranger sent, so it is left out. */
function refuse(): never {
  throw new PaygateError(
    'unauthorized',
    'This passkey was not accepted. Reload the page and try again.',
  );
}
