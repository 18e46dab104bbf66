// The pages with settings of a store: general ones, those of callbacks, and those of webhooks. Each
// page saves its own settings.

import type { Child } from 'hono/jsx';
import { type StoreSettings, storeSettingsOf } from '../../../domain/store/store-settings.ts';
import { PaygateError } from '../../../lib/errors.ts';
import { requireRunning } from '../../../store/wallets/catalog.ts';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import type { ActionResult, FormAction, Page, PageRequest } from '../../page.ts';
import { isOutdated, readFields, versionOf } from '../../parts/form-fields.ts';
import { Form, FormVersion } from '../../parts/form-parts.tsx';
import { DoneNote } from '../../parts/layout.tsx';
import {
  callbackSettings,
  generalSettings,
  readSettings,
  requireOwnCallbackUrl,
  type SettingNames,
  StoreFields,
  webhookSettings,
} from './store-fields.tsx';
import {
  type StoreProps,
  type StoreSection,
  storeMarkup,
  storeOf,
  storePath,
} from './store-layout.tsx';
import { sendTest, sendTestEvent, TestCallback, TestEvent } from './store-test-page.tsx';

interface SettingsPage {
  readonly section: StoreSection;
  readonly names: SettingNames;
  /** The first sentences. */
  readonly about: string;
  /** What stands below the form. */
  readonly more?: (props: StoreProps) => Child;
  /** Actions of forms below the settings. */
  readonly actions?: Readonly<Record<string, FormAction>>;
}

const settingsPage = ({ section, names, about, more, actions }: SettingsPage): Page => ({
  path: `/stores/:id${section}`,
  show: (request) =>
    storeMarkup(request, section, (props) => (
      <>
        <p>{about}</p>
        <SettingsForm {...props} names={names} />
        {more?.(props)}
      </>
    )),
  actions: { change: (request) => changeSettings(request, section, names), ...actions },
});

export const storeSettingsPages: readonly Page[] = [
  settingsPage({
    section: '/general',
    names: generalSettings,
    about: 'Payments and orders that are final stay as they are.',
  }),
  settingsPage({
    section: '/callbacks',
    names: callbackSettings,
    about:
      'paygate calls this URL when a payment is seen, confirming and confirmed. Callbacks that ' +
      'were already sent stay as they are.',
    more: (props) => (props.row.callbackUrl === '' ? null : <TestCallback {...props} />),
    actions: { 'send-test': sendTest },
  }),
  settingsPage({
    section: '/webhooks',
    names: webhookSettings,
    about: 'paygate posts events of orders and payments to this URL, as JSON.',
    more: (props) => (props.row.webhookUrl === null ? null : <TestEvent {...props} />),
    actions: { 'send-event': sendTestEvent },
  }),
];

const SettingsForm = ({ request, row, names }: StoreProps & { readonly names: SettingNames }) => (
  <section id="change" aria-label="Settings">
    <DoneNote request={request} />
    <Form request={request} action="change" button="Save" needsPassword>
      <FormVersion request={request} form="change" value={settingsOf(row, names)} />
      <StoreFields request={request} form="change" row={row} names={names} />
    </Form>
  </section>
);

const settingsOf = (row: StoreSettings, names: SettingNames): Partial<StoreSettings> =>
  Object.fromEntries(
    Object.entries(storeSettingsOf(row)).filter(([name]) => names.includes(name as never)),
  );

async function changeSettings(
  request: PageRequest,
  section: StoreSection,
  names: SettingNames,
): Promise<ActionResult> {
  const row = storeOf(request);
  const fields = readFields(request, (read) => readSettings(request, read, names, row));
  await requireRecentPassword(request);
  const { catalog, database } = request.parts.records;
  const isSaved = await database.write((tx) => {
    const before = requireRunning(catalog.store(row.id));
    const now = settingsOf(before, names);
    const after = settingsOf({ ...before, ...fields }, names);
    if (versionOf(now) === versionOf(after)) return true;
    // Saving would undo a change that this page has never shown.
    if (isOutdated(request, now)) return false;
    if (fields.callbackUrl !== undefined)
      requireOwnCallbackUrl(catalog, fields.callbackUrl, before);
    catalog.changeStore(tx, row.id, fields);
    const { callbackUrl: http_callback, ...rest } = fields;
    recordChange(
      request,
      tx,
      'store.change',
      { ...rest, ...(http_callback !== undefined && { http_callback }) },
      row.id,
    );
    return true;
  });
  if (!isSaved) throw conflict(request);
  request.parts.records.events.emit('catalogChanged');
  return { to: `${storePath(row.id, section)}?done=saved#change` };
}

function conflict({ form }: PageRequest): PaygateError {
  // The page comes back with the current values, not with the ones that were typed.
  for (const name of [...form.keys()]) form.delete(name);
  return new PaygateError(
    'conflict',
    'Nothing was saved: a plugin or another page has changed this store since you opened it. ' +
      'The page shows the store as it is now; make your change again.',
  );
}
