// `/api-keys/authorize`: a shop's plugin asks for a key. The owner chooses one store, and the page
// hands its key to the shop by a form.
// https://docs.btcpayserver.org/API/Greenfield/v1/#operation/ApiKeys_Authorize

import { isThisMachineName } from '../../../domain/access/client-address.ts';
import { type KeyPlugin, permissionsFor } from '../../../domain/access/key-scope.ts';
import { checkWebhookUrl } from '../../../domain/delivery/callback.ts';
import { type CallbackFlags, portOf } from '../../../domain/delivery/callback-url-policy.ts';
import { isOnion } from '../../../domain/delivery/onion.ts';
import { plainText } from '../../../domain/text/format.ts';
import { throwInvalid } from '../../../lib/errors.ts';
import type { StoreRow } from '../../../store/wallets/catalog.ts';
import { setFormTarget } from '../../../web/content-policy.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { isLocalName } from '../../guard/transport.ts';
import { type ActionResult, base, field, type Page, type PageRequest } from '../../page.ts';
import { fieldError } from '../../parts/form-fields.ts';
import { Form, Select } from '../../parts/form-parts.tsx';
import { NarrowPage, ProblemNote } from '../../parts/layout.tsx';
import { addPluginKey } from './store-plugin-page.tsx';

export const authorizeBase = '/api-keys';

const authorizePage: Page = {
  path: '/authorize',
  linked: true,
  show: (request) => <Consent {...keyRequestOf(request)} request={request} />,
  actions: { 'give-key': giveKey },
};

/** Some plugins write a slash before the query. */
export const authorizePages: readonly Page[] = [
  authorizePage,
  { ...authorizePage, path: '/authorize/' },
];

interface KeyRequest {
  /** The page of the shop that receives the key. */
  readonly target: URL;
  /** Untrusted: the asking page chooses it. */
  readonly application: string;
  readonly plugin: KeyPlugin;
  /** Permissions that no key of a store has. */
  readonly refused: readonly string[];
}

const maxName = 60;
const maxRefused = 20;

/** @throws PaygateError invalid */
function keyRequestOf(request: PageRequest): KeyRequest {
  const { searchParams } = new URL(request.context.req.url);
  const asked = new Set(
    searchParams.getAll('permissions').map((name) => name.replace(/:.*/s, '').trim()),
  );
  const [standard, prestashop] = [namesOf('standard'), namesOf('prestashop')];
  const plugin = prestashop.every((name) => asked.has(name)) ? 'prestashop' : 'standard';
  const given = plugin === 'prestashop' ? prestashop : standard;
  const names = searchParams.getAll('applicationName').concat('');
  return {
    target: targetOf(request, { allowHttpCallback: true, allowPrivateCallback: true }),
    application: plainText(names[0] ?? '', maxName),
    plugin,
    refused: [...asked].filter((name) => name !== '' && !given.includes(name)),
  };
}

const namesOf = (plugin: KeyPlugin): string[] =>
  permissionsFor({ scope: 'payments', plugin }, '').map((name) => name.slice(0, -1));

/**
 * The receiver of the key: never paygate itself, and by plain HTTP only as far as callbacks may.
 * @throws PaygateError invalid
 */
function targetOf(request: PageRequest, flags: CallbackFlags): URL {
  const [redirect = '', ...more] = new URL(request.context.req.url).searchParams.getAll('redirect');
  const url = URL.parse(redirect);
  if (redirect === '' || more.length > 0) throwInvalid('the page that asks must name one redirect');
  if (url !== null && isOwn(request, url)) throwInvalid('the redirect leads to paygate itself');
  const isLocal = url?.protocol === 'https:' || (url !== null && isLocalName(nameOf(url)));
  const allowed = {
    allowHttpCallback: flags.allowHttpCallback,
    allowPrivateCallback: flags.allowPrivateCallback && isLocal,
  };
  checkWebhookUrl(redirect, allowed, request.parts.callbackSender(), 'redirect');
  if (url === null) throwInvalid('the redirect has no valid host name');
  return url;
}

const nameOf = ({ hostname }: URL): string => hostname.replace(/^\[|\.$|\]$/g, '');

const isOwn = ({ transport, parts, context }: PageRequest, url: URL): boolean =>
  [...transport.origins, parts.publicUrl ?? '', context.req.url].some((text) => {
    const own = URL.parse(text);
    if (own === null) return false;
    const [one, other] = [nameOf(own), nameOf(url)];
    const isSamePort = portOf(own) === portOf(url);
    // A port that is not named is that of the scheme, and a server has both.
    if (one === other) return isSamePort || own.port === url.port;
    return isSamePort && isThisMachineName(one) && isThisMachineName(other);
  });

const Consent = (props: KeyRequest & { readonly request: PageRequest }) => {
  const { request, target, application, refused } = props;
  const stores = request.parts.records.catalog.stores();
  const options = stores.map(({ id, name }) => [id, name] as const);
  return (
    <NarrowPage title="Connect a plugin">
      <ProblemNote request={request} />
      <p>A shop asks for an API key of one of your stores. The key goes to</p>
      <p class="host">{target.host}</p>
      {target.protocol === 'http:' && !isOnion(target.hostname) ? (
        <p class="note">by plain HTTP: everybody on the way can read it.</p>
      ) : null}
      <p>
        Go on only if you have just begun this in the settings of your own shop at that host.
        {application === ''
          ? null
          : ` The shop calls itself “${application}”; any page can say so.`}
      </p>
      <ul>
        <li>The key makes and reads orders of the store that you choose. It moves no money.</li>
        <li>For 15 minutes it may also change that store, such as add its webhook.</li>
        <li>Each time you go on makes a new key. The page of the store revokes those before.</li>
      </ul>
      {refused.length === 0 ? null : (
        <>
          <p>It asks for more, which it does not get:</p>
          <ul>
            {refused.slice(0, maxRefused).map((name) => (
              <li>
                <code>{plainText(name, maxName)}</code>
              </li>
            ))}
            {refused.length > maxRefused ? <li>and {refused.length - maxRefused} more</li> : null}
          </ul>
        </>
      )}
      {stores.length === 0 ? (
        <p class="note">
          There is no store yet: <a href={`${base}/stores/new`}>add one</a>, then begin again.
        </p>
      ) : (
        <Form
          request={request}
          action="give-key"
          button={`Give a key to ${target.host}`}
          needsPassword
        >
          <Select
            request={request}
            name="store"
            label="Store"
            options={stores.length === 1 ? options : [['', 'Choose a store'], ...options]}
            chosen={request.form.get('store') ?? undefined}
          />
        </Form>
      )}
      <p>
        <a href={base}>Cancel</a>
      </p>
    </NarrowPage>
  );
};

async function giveKey(request: PageRequest): Promise<ActionResult> {
  const { plugin, application } = keyRequestOf(request);
  const id = field(request, 'store');
  const row = request.parts.records.catalog.stores().find((each) => String(each.id) === id);
  if (row === undefined) throw fieldError('invalid', 'store', 'Choose a store.');
  const target = targetOf(request, row);
  await requireRecentPassword(request);
  const key = await request.parts.records.database.write((tx) =>
    addPluginKey(request, tx, row, plugin, { for: target.host, application }),
  );
  setFormTarget(request.context, target.origin);
  return { show: <Handover target={target} apiKey={key} plugin={plugin} row={row} /> };
}

interface HandoverProps {
  readonly target: URL;
  readonly apiKey: string;
  readonly plugin: KeyPlugin;
  readonly row: StoreRow;
}

/** The script of pages sends the form by itself. */
const Handover = ({ target, apiKey, plugin, row }: HandoverProps) => (
  <NarrowPage title="Connect a plugin">
    <p>The key is made. The shop at {target.host} receives it now.</p>
    <form method="post" action={target.href} data-send>
      <input type="hidden" name="apiKey" value={apiKey} />
      <input type="hidden" name="userId" value="paygate" />
      {permissionsFor({ scope: 'payments', plugin }, row.publicId).map((name) => (
        <input type="hidden" name="permissions[]" value={name} />
      ))}
      <button type="submit">Continue to {target.host}</button>
    </form>
  </NarrowPage>
);
