// How a device is a till: a cookie that it gets once for a code, which says its till and its store
// (docs/decisions/061).

import { base64url } from '@scure/base';
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { PaygateError } from '../../lib/errors.ts';
import type { TillRow } from '../../store/orders/tills.ts';
import type { StoreRow } from '../../store/wallets/catalog.ts';
import { clientAddressOf, isSentFrom, ownOriginsOf } from '../../web/limits/request-origin.ts';
import type { LinkRouteOptions } from '../link-routes.tsx';
import { type Reading, readingOf } from '../reading.ts';

/** The till of a request, and its store. */
export interface TillRequest {
  readonly till: TillRow;
  readonly store: StoreRow;
  readonly reading: Reading;
  /** ISO 4217; null for satoshis. */
  readonly currency: string | null;
}

const tokenBytes = 32;
/** Browsers keep no cookie for longer. */
const cookieSeconds = 400 * 86_400;

/** Cookies are not separated by port: two paygates on one machine must not share one. */
const cookieNameOf = ({ protocol, port }: URL): string =>
  protocol === 'https:' ? '__Host-paygate-till' : `paygate-till-${port || '80'}`;

export type TillDevices = ReturnType<typeof createTillDevices>;

export function createTillDevices(options: LinkRouteOptions) {
  const { records, world, proxies, publicUrl, prices, takeRequest } = options;
  const { tills, database, catalog, audit } = records;
  const originsOf = (context: Context): string[] => ownOriginsOf(context, proxies, publicUrl);

  /** Only of our own page. @throws PaygateError forbidden */
  function checkForm(context: Context): void {
    if (isSentFrom(context, originsOf(context))) return;
    throw new PaygateError('forbidden', 'The form is not of our own page');
  }

  function ofTill(context: Context, till: TillRow): TillRequest {
    const store = catalog.store(till.storeId);
    const reading = readingOf(context, undefined, store);
    context.set('reading', reading);
    return { till, store, reading, currency: prices === undefined ? null : store.currency };
  }

  return {
    checkForm,
    /** @throws PaygateError unauthorized, limited */
    async requested(context: Context): Promise<TillRequest> {
      const tokens = originsOf(context).flatMap(
        (origin) => getCookie(context, cookieNameOf(new URL(origin))) ?? [],
      );
      const [till] = tokens.flatMap((token) => tills.byToken(token) ?? []);
      if (till === undefined || catalog.store(till.storeId).archivedAt !== null) {
        takeRequest('page', context);
        throw new PaygateError('unauthorized', 'This device is no till');
      }
      const now = world.now();
      if (tills.isDueToBeSeen(till, now)) {
        await database.write((tx) => tills.seen(tx, now, till.id));
      }
      return ofTill(context, till);
    },
    /** The till that the device with this code becomes. @throws PaygateError gone, limited */
    coded(context: Context, code: string): TillRequest {
      takeRequest('page', context);
      const till = tills.byCode(world.now(), code);
      if (till === undefined) throw codeIsOver();
      return ofTill(context, till);
    },
    /** Makes the device of the request the till of the code. @throws PaygateError gone, … */
    async pair(context: Context, code: string): Promise<void> {
      takeRequest('page', context);
      checkForm(context);
      const token = base64url.encode(world.randomBytes(tokenBytes));
      await database.write((tx) => {
        const now = world.now();
        const till = tills.byCode(now, code);
        if (till === undefined) throw codeIsOver();
        tills.pair(tx, now, till.id, token);
        const client = clientAddressOf(context, proxies);
        audit.noteChange(tx, now, client, 'till.pair', { name: till.name }, till.storeId);
      }, 'awaited');
      setTillCookie(context, token);
    },
  };
}

const codeIsOver = (): PaygateError => new PaygateError('gone', 'The code was used, or is too old');

/** The request's own origin, which was checked, says how the browser reached us. */
function setTillCookie(context: Context, token: string): void {
  const origin = new URL(context.req.header('Origin') ?? '');
  setCookie(context, cookieNameOf(origin), token, {
    path: '/',
    httpOnly: true,
    sameSite: 'Lax',
    secure: origin.protocol === 'https:',
    maxAge: cookieSeconds,
  });
}
