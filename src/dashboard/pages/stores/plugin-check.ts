// What a plugin would make of its settings: the calls of its set-up, asked of our own routes with
// its key. It changes nothing.

import { isThisMachineName } from '../../../domain/access/client-address.ts';
import { permissionsFor } from '../../../domain/access/key-scope.ts';
import type { StoreRow } from '../../../store/wallets/catalog.ts';
import type { PageRequest } from '../../page.ts';
import type { Platform } from './plugin-platforms.ts';

export interface CheckLine {
  readonly what: string;
  /** Undefined if the plugin finds nothing wrong. */
  readonly problem?: string;
}

/** Judges the body of a good answer. */
type Judge = (body: unknown) => string | undefined;

/** The URL that a merchant types in a plugin. */
export const pluginUrl = ({ parts, transport }: PageRequest): string =>
  parts.publicUrl ?? transport.origins[0] ?? '';

export async function checkPlugin(
  request: PageRequest,
  row: StoreRow,
  { plugin = 'standard' }: Platform,
  key: string,
): Promise<CheckLine[]> {
  const store = `/stores/${row.publicId}`;
  const expected = permissionsFor({ scope: 'payments', plugin }, row.publicId);
  const calls: readonly (readonly [what: string, path: string, judge: Judge])[] = [
    ['Server', '/server/info', judgeServer],
    ['Permissions of the key', '/api-keys/current', judgeKey(expected)],
    ['Store', store, () => undefined],
    ['Payment methods', `${store}/payment-methods`, judgeMethods(plugin === 'prestashop')],
    ['Webhook', `${store}/webhooks`, judgeWebhooks],
  ];
  const lines = await Promise.all(
    calls.map(async ([what, path, judge]) =>
      lineOf(what, await problemOf(request, path, key, judge)),
    ),
  );
  return [lineOf('URL', urlProblem(pluginUrl(request))), ...lines];
}

const lineOf = (what: string, problem: string | undefined): CheckLine =>
  problem === undefined ? { what } : { what, problem };

function urlProblem(text: string): string | undefined {
  const { protocol, hostname = '' } = URL.parse(text) ?? {};
  if (isThisMachineName(hostname.replace(/^\[|\]$/g, ''))) {
    return `${text} leads a shop on another machine to itself: set --public-url or --domain`;
  }
  return protocol === 'https:' ? undefined : `${text} is not HTTPS, which some plugins refuse`;
}

async function problemOf(
  { parts, context }: PageRequest,
  path: string,
  key: string,
  judge: Judge,
): Promise<string | undefined> {
  const { origin } = new URL(context.req.url);
  const asked = new Request(`${origin}/api/v1${path}`, {
    headers: { Authorization: `token ${key}`, Accept: 'application/json' },
  });
  const response = await parts.askApi(asked, context.env as object);
  const body = (await response.json()) as unknown;
  if (response.ok) return judge(body);
  const { message } = body as { readonly message?: string };
  return `${response.status}: ${message ?? 'no reason'}`;
}

const judgeServer: Judge = (body) =>
  (body as { readonly fullySynched: boolean }).fullySynched
    ? undefined
    : 'paygate makes no orders now, so shops hide the payment: see the alarms of the overview';

const judgeKey =
  (expected: readonly string[]): Judge =>
  (body) => {
    const { permissions } = body as { readonly permissions: readonly string[] };
    const isEqual =
      permissions.length === expected.length &&
      expected.every((each) => permissions.includes(each));
    return isEqual ? undefined : 'the key is not for this platform and store: create one here';
  };

const judgeMethods =
  (isObject: boolean): Judge =>
  (body) => {
    if (Array.isArray(body) === isObject) return 'the key is for another platform: create one here';
    return Object.keys(body as object).length > 0 ? undefined : 'the store has no wallet';
  };

const judgeWebhooks: Judge = (body) =>
  (body as readonly { readonly enabled: boolean }[]).some(({ enabled }) => enabled)
    ? undefined
    : 'there is none yet: save the settings of the plugin while it may set up its store';
