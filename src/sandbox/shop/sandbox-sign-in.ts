// The dashboard page behind the links that the sandbox prints. The key in the link signs the
// visitor in, any number of times, and the page redirects. Only the sandbox has this page, because
// the link is as good as a password.

import { createHash, timingSafeEqual } from 'node:crypto';
import {
  beginSession,
  pageAfterSignIn,
  setSessionCookie,
} from '../../dashboard/guard/dashboard-session.ts';
import { base, type ExtraPage, type PageRequest } from '../../dashboard/page.ts';
import { PaygateError } from '../../lib/errors.ts';

const path = '/sandbox';

export interface SandboxSignIn {
  readonly page: ExtraPage;
  /** Path and query of this page, with the page of the dashboard to redirect to. */
  linkTo(page: string): string;
}

/** @param key a secret that must be unpredictable */
export function createSandboxSignIn(key: string): SandboxSignIn {
  async function enter(request: PageRequest): Promise<Response> {
    const { context, session } = request;
    if (session === undefined) {
      if (!isSame(context.req.query('key') ?? '', key)) {
        throw new PaygateError('forbidden', 'This is not the link that the sandbox has printed.');
      }
      const { database } = request.parts.records;
      setSessionCookie(request, await database.write((tx) => beginSession(tx, request)));
    }
    return context.redirect(pageAfterSignIn(context.req.query('next')), 303);
  }
  return {
    page: { path, open: true, show: enter },
    linkTo: (page) => `${base}${path}?${new URLSearchParams({ key, next: page })}`,
  };
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [given, wanted].map((text) => createHash('sha256').update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}
