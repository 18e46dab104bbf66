// Recipients of the notifications of one store.

import { storeNoticeKinds } from '../../../domain/delivery/notice.ts';
import { base, type Page, type PageRequest } from '../../page.ts';
import { DoneNote } from '../../parts/layout.tsx';
import {
  NotifyTargetForms,
  revealNotifySecret,
  saveRecipients,
  sendNotifyTest,
} from '../settings/notification-fields.tsx';
import { type StoreProps, storeMarkup, storeOf, storePath } from './store-layout.tsx';

const section = '/notifications';

const pathOf = (request: PageRequest): string => storePath(storeOf(request).id, section);

export const storeNotificationsPage: Page = {
  path: `/stores/:id${section}`,
  show: (request) => storeMarkup(request, section, (props) => <StoreNotifications {...props} />),
  actions: {
    'save-recipients': (request) =>
      saveRecipients(request, storeOf(request).id, storeNoticeKinds, pathOf(request)),
    'reveal-secret': (request) => revealNotifySecret(request, storeOf(request).id, pathOf(request)),
    'send-test': (request) => sendNotifyTest(request, storeOf(request).id, pathOf(request)),
  },
};

const StoreNotifications = ({ request, row }: StoreProps) => (
  <>
    <DoneNote request={request} />
    {request.parts.records.state.mailServer.read() === undefined ? (
      <p class="note">
        No mail is sent until a <a href={`${base}/settings/notifications`}>mail server</a> is set.
      </p>
    ) : null}
    <NotifyTargetForms request={request} owner={row.id} kinds={storeNoticeKinds} />
  </>
);
