// A visitor of the dashboard, like a browser without script. It stores cookies, follows no redirect
// by itself, and submits the forms of the page that it reads.

import { scryptSync } from 'node:crypto';
import type { TestApp } from './app.ts';

export const password = 'velvet otter ladder';
export const viewerPassword = 'copper basin lantern';

export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Target of the redirect. */
  readonly to: string | undefined;
}

export interface Visitor {
  /** Name and value of the session cookie; empty without one. */
  cookie: string;
  /** The same for the cookie that binds forms of pages without a session. */
  visiting: string;
  /** Form token of the latest page. */
  formToken: string;
  get(path: string, headers?: Record<string, string>): Promise<Seen>;
  /** Gets the page, then submits one of its forms. */
  submit(path: string, does: string, fields?: Record<string, string>): Promise<Seen>;
  /** Sends a body, by default with the headers of a browser on our own page. */
  post(path: string, body: string, headers?: Record<string, string>): Promise<Seen>;
}

export interface VisitorOptions {
  /** Sent with every request: what a proxy would add. */
  readonly headers?: Record<string, string>;
  readonly origin?: string;
  /** The host that it connects to and names, `127.0.0.1` by default. */
  readonly host?: string;
}

export function visitorOf({ port }: Pick<TestApp, 'port'>, options: VisitorOptions = {}): Visitor {
  const { host = '127.0.0.1' } = options;
  const own = `http://${host}:${port}`;
  const { origin = own } = options;
  async function request(path: string, init: RequestInit): Promise<Seen> {
    const headers = { ...options.headers, ...(init.headers as Record<string, string>) };
    const cookies = [visitor.cookie, visitor.visiting].filter(Boolean);
    if (cookies.length > 0) headers.Cookie = cookies.join('; ');
    const response = await fetch(own + path, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const kept = /Max-Age=0/i.test(line) ? '' : pair;
      if (/^[^=]*-visitor=/.test(pair)) visitor.visiting = kept;
      else visitor.cookie = kept;
    }
    const text = await response.text();
    visitor.formToken = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? visitor.formToken;
    const to = response.headers.get('Location') ?? undefined;
    return { status: response.status, headers: response.headers, text, to };
  }
  const visitor: Visitor = {
    cookie: '',
    visiting: '',
    formToken: '',
    get: (path, headers = {}) => request(path, { headers }),
    post: (path, body, headers = {}) =>
      request(path, {
        method: 'POST',
        body,
        headers: {
          Origin: origin,
          'Content-Type': 'application/x-www-form-urlencoded',
          ...headers,
        },
      }),
    async submit(path, does, fields = {}) {
      await visitor.get(path);
      const form = new URLSearchParams({ token: visitor.formToken, do: does, ...fields });
      return visitor.post(path, String(form));
    },
  };
  return visitor;
}

export const signInPath = '/dashboard/sign-in';

/** What the page that asks for the code sends along; undefined on any other page. */
export const proofIn = ({ text }: Pick<Seen, 'text'>): string | undefined =>
  /name="password-proof" value="([^"]+)"/.exec(text)?.[1];

/** Signs in with a name and password, then with the code of the fields where a page asks for it. */
export async function signInAs(
  visitor: Visitor,
  { code, 'recovery-code': recovery, ...fields }: Record<string, string>,
  path = signInPath,
): Promise<Seen> {
  const seen = await visitor.submit(path, 'sign-in', fields);
  const proof = proofIn(seen);
  if (proof === undefined || (code ?? recovery) === undefined) return seen;
  return visitor.post(path, codeForm(visitor, proof, { code, 'recovery-code': recovery }));
}

/** The body of the form that follows a right password. */
export const codeForm = (
  { formToken }: Pick<Visitor, 'formToken'>,
  proof: string,
  fields: Record<string, string | undefined>,
): string =>
  String(
    new URLSearchParams({
      ...{ token: formToken, do: 'use-code', 'password-proof': proof },
      ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? ''])),
    }),
  );

/** As paygate keeps a password, but cheap: what it costs stands in it. */
export function cheapHash(text: string): string {
  const salt = Buffer.from('salt');
  const hash = scryptSync(text, salt, 32, { N: 2 ** 4, r: 8, p: 1 });
  return ['scrypt', 4, 8, 1, salt.toString('base64'), hash.toString('base64')].join(':');
}

export const setPassword = (app: TestApp, text = password): Promise<void> =>
  app.withStore((records) =>
    records.database.write((tx) => records.admin.setPassword(tx, app.world.now(), cheapHash(text))),
  );

/** Adds a viewer. @returns a visitor who signed in with this name */
export async function signedInViewer(
  app: TestApp,
  options: VisitorOptions = {},
  name = 'Anna',
): Promise<Visitor> {
  await app.withStore(({ admin, database }) =>
    database.write((tx) => {
      if (admin.operator() === undefined) {
        admin.setPassword(tx, app.world.now(), cheapHash(password));
      }
      const { id } = admin.addViewer(tx, app.world.now(), name);
      admin.of(id).setPassword(tx, app.world.now(), cheapHash(viewerPassword));
    }),
  );
  const visitor = visitorOf(app, options);
  const fields = { username: name, password: viewerPassword };
  const seen = await visitor.submit('/dashboard/sign-in', 'sign-in', fields);
  if (seen.status !== 303) throw new Error(`not signed in: ${seen.status} ${seen.text}`);
  return visitor;
}

/** Somebody who has just signed in. */
export async function signedIn(app: TestApp, options: VisitorOptions = {}): Promise<Visitor> {
  await app.withStore(async ({ admin, database }) => {
    if (admin.operator() !== undefined) return;
    await database.write((tx) => admin.setPassword(tx, app.world.now(), cheapHash(password)));
  });
  const visitor = visitorOf(app, options);
  const seen = await visitor.submit('/dashboard/sign-in', 'sign-in', { password });
  if (seen.status !== 303) throw new Error(`not signed in: ${seen.status} ${seen.text}`);
  return visitor;
}
