// The sessions that are signed in, and how to end them.

import { browserName } from '../../../domain/access/browser-name.ts';
import type { Session } from '../../../store/access/admin.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { signedIn } from '../../guard/dashboard-session.ts';
import { type ActionResult, accountPath, field, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { Table } from '../../parts/layout.tsx';

export const Sessions = ({ request }: { readonly request: PageRequest }) => {
  const sessions = request.parts.records.admin.sessions(request.now);
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <p>A session ends 30 minutes after its last use and 12 hours after its start.</p>
      <Table
        label="Signed-in browsers"
        heads={['Browser', 'Address', 'Started', 'Last used', <span class="hidden">Action</span>]}
      >
        {sessions.map((session) => (
          <SessionRow request={request} session={session} />
        ))}
      </Table>
      {sessions.length > 1 ? (
        <Form request={request} action="end-others" button="Sign out all others" />
      ) : null}
    </section>
  );
};

const SessionRow = ({
  request,
  session,
}: {
  readonly request: PageRequest;
  readonly session: Session;
}) => (
  <tr>
    <td title={session.agent}>{browserName(session.agent)}</td>
    <td>{session.client}</td>
    <td>
      <Time at={session.createdAt} />
    </td>
    <td>
      <Time at={session.seenAt} />
    </td>
    <td>
      {session.id === request.session?.id ? (
        'This browser'
      ) : (
        <Form request={request} action="end-session" button="Sign out">
          <input type="hidden" name="session" value={session.hash.toString('base64url')} />
        </Form>
      )}
    </td>
  </tr>
);

export async function endSession(request: PageRequest): Promise<ActionResult> {
  const { admin, database } = request.parts.records;
  const hash = Buffer.from(field(request, 'session'), 'base64url');
  await database.write((tx) => {
    if (admin.endByHash(tx, hash)) recordChange(request, tx, 'session.end');
  });
  return { to: `${accountPath}?done=signed-out` };
}

export async function endOthers(request: PageRequest): Promise<ActionResult> {
  const { admin, database } = request.parts.records;
  await database.write((tx) => {
    admin.endOthers(tx, signedIn(request).id);
    recordChange(request, tx, 'session.end-others');
  });
  return { to: `${accountPath}?done=others-signed-out` };
}
