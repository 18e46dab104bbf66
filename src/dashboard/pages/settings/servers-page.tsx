// The current state of the Electrum servers. A changed certificate is accepted here, a ban is
// lifted, and a deep branch is followed.

import { PaygateError } from '../../../lib/errors.ts';
import type { ServerHealth } from '../../../status/health.ts';
import { Time } from '../../../web/values.tsx';
import { recordChange } from '../../guard/audit-entry.ts';
import { requireRecentPassword } from '../../guard/dashboard-session.ts';
import { type ActionResult, base, field, type Page, type PageRequest } from '../../page.ts';
import { Form } from '../../parts/form-parts.tsx';
import { DoneNote, type FactRows, Facts, Layout } from '../../parts/layout.tsx';

const here = `${base}/servers`;

export const serversPage: Page = {
  path: '/servers',
  show: (request) => serversMarkup(request),
  actions: { accept: acceptCertificate, 'lift-ban': liftBan, follow: followBranch },
};

function serversMarkup(request: PageRequest) {
  const { electrum } = request.parts.health();
  return (
    <Layout request={request} title="Servers" poll>
      <DoneNote request={request} />
      <p>
        {electrum.server === null ? 'No server is connected.' : `${electrum.server} is in use.`}{' '}
        {electrum.caught_up ? 'Every address is in sync with it.' : 'Still catching up.'}
      </p>
      {electrum.servers.map((server) => (
        <Server request={request} server={server} />
      ))}
      <DeepBranches request={request} />
    </Layout>
  );
}

interface ServerProps {
  readonly request: PageRequest;
  readonly server: ServerHealth;
}

const Server = ({ request, server }: ServerProps) => (
  <section aria-label={server.server}>
    <h2>{server.server}</h2>
    <Facts rows={factsOf(server)} />
    {server.banned_until === undefined ? null : (
      <Form request={request} action="lift-ban" button="Lift the ban" isDangerous needsPassword>
        <input type="hidden" name="server" value={server.server} />
      </Form>
    )}
    {server.certificate_refused ? <ChangedCertificate request={request} server={server} /> : null}
  </section>
);

const ChangedCertificate = ({ request, server }: ServerProps) => (
  <>
    <p class="alarm">
      It presents another certificate than before, so paygate does not use it.{' '}
      {server.certificate_shown === undefined
        ? 'Its pin is an option of serve. If you know why it changed, give the new one there.'
        : 'Accept the new one only if you know why it changed, for example after a new setup of your own server. Only the certificate with the SHA-256 under “Presented now” is accepted.'}
    </p>
    {server.certificate_shown === undefined ? null : (
      <Form
        request={request}
        action="accept"
        button="Accept the certificate presented now"
        isDangerous
        needsPassword
      >
        <input type="hidden" name="server" value={server.server} />
        <input type="hidden" name="sha256" value={server.certificate_shown} />
      </Form>
    )}
  </>
);

const factsOf = (server: ServerHealth): FactRows => [
  ['State', server.state],
  ['Software', server.software],
  ['Protocol', server.protocol],
  ['Height', server.height],
  ['Latency', server.latency_ms === undefined ? undefined : `${server.latency_ms} ms`],
  ['Certificate', server.certificate],
  ['Pinned', server.pin],
  ['Presented now', server.certificate_shown],
  ['Doubt', server.doubt],
  ['Error', server.error],
  [
    'Banned until',
    server.banned_until && (
      <>
        <Time at={server.banned_until * 1000} />: {server.ban_reason}
      </>
    ),
    'bad',
  ],
];

const DeepBranches = ({ request }: { readonly request: PageRequest }) => {
  const deep = request.parts.records.state.hold
    .read()
    .filter(({ deepTip }) => deepTip !== undefined);
  return deep.map(({ server, text }) => (
    <section aria-label={`Branch of ${server}`}>
      <p class="alarm">
        {server}: {text}. Follow it only if your own node or an explorer follows it, too.
      </p>
      <Form request={request} action="follow" button="Follow this branch" isDangerous needsPassword>
        <input type="hidden" name="server" value={server} />
      </Form>
    </section>
  ));
};

async function acceptCertificate(request: PageRequest): Promise<ActionResult> {
  const label = field(request, 'server');
  const sha256 = field(request, 'sha256');
  if (!/^[0-9a-f]{64}$/.test(sha256)) {
    throw new PaygateError('invalid', 'The certificate fingerprint is invalid. Reload the page.');
  }
  await requireRecentPassword(request);
  const { servers, database } = request.parts.records;
  const fault = request.parts.clockFault();
  if (fault !== undefined)
    throw new PaygateError('conflict', `No certificate is accepted: ${fault}.`);
  await database.write((tx) => {
    if (!servers.accept(tx, label, sha256, request.now)) {
      throw new PaygateError('not_found', 'No certificate of this server is stored.');
    }
    recordChange(request, tx, 'server.accept', { server: label, sha256 });
  });
  request.parts.records.events.emit('serversChanged');
  return { to: `${here}?done=accepted` };
}

async function liftBan(request: PageRequest): Promise<ActionResult> {
  const label = field(request, 'server');
  await requireRecentPassword(request);
  const { servers, database } = request.parts.records;
  await database.write((tx) => {
    if (!servers.liftBan(tx, label)) {
      throw new PaygateError('not_found', 'This server is not banned.');
    }
    recordChange(request, tx, 'server.lift_ban', { server: label });
  });
  request.parts.records.events.emit('serversChanged');
  return { to: `${here}?done=lifted` };
}

async function followBranch(request: PageRequest): Promise<ActionResult> {
  const label = field(request, 'server');
  await requireRecentPassword(request);
  const { state, database } = request.parts.records;
  const { deepTip } = state.hold.read().find(({ server }) => server === label) ?? {};
  if (deepTip === undefined) {
    throw new PaygateError('not_found', 'This server no longer follows that branch.');
  }
  await database.write((tx) => {
    state.acceptedBranch.write(tx, deepTip);
    recordChange(request, tx, 'branch.follow', { server: label, block: deepTip });
  });
  return { to: `${here}?done=followed` };
}
