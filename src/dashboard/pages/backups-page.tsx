// The copies of the database that lie beside it, and their download. A copy holds every secret that the
// database holds, so it is only sent after the password.

import { Readable } from 'node:stream';
import { listBackups, readBackup } from '../../store/backup/backup.ts';
import { recordAudit } from '../audit-entry.ts';
import { requireRecentPassword } from '../dashboard-session.ts';
import { chosenBefore, Form, Layout, Select, Time } from '../layout.tsx';
import { type ActionResult, field, type Page, type PageRequest } from '../page.ts';

export const backupsPage: Page = {
  path: '/settings/backups',
  show: (request) => backupsMarkup(request),
  actions: { download },
};

function backupsMarkup(request: PageRequest) {
  const files = listBackups(request.parts.store.database.path);
  const [newest] = files;
  return (
    <Layout request={request} title="Backups">
      {newest === undefined ? (
        <p class="alarm">
          There is none yet. paygate takes one by itself soon after something changed.
        </p>
      ) : (
        <>
          <p>
            The newest was written at <Time at={newest.at} />. Whoever has a copy has the keys of
            your shops: keep it like one.
          </p>
          <Form request={request} action="download" button="Download" needsPassword>
            <Select
              name="file"
              label="Copy"
              options={files.map(({ name, bytes }) => [name, `${name}, ${sizeOf(bytes)}`] as const)}
              chosen={chosenBefore(request, 'download', 'file')}
            />
          </Form>
        </>
      )}
      <p>
        <code>paygate backup</code> writes one at once, <code>paygate restore</code> puts one back.
      </p>
    </Layout>
  );
}

const sizeOf = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`;

async function download(request: PageRequest): Promise<ActionResult> {
  const name = field(request, 'file');
  await requireRecentPassword(request);
  const { database } = request.parts.store;
  await database.write((tx) => recordAudit(request, tx, 'backup.download', { file: name }));
  const { stream, bytes } = readBackup(database.path, name);
  return {
    send: new Response(Readable.toWeb(stream) as ReadableStream, {
      headers: {
        'Content-Type': 'application/vnd.sqlite3',
        'Content-Length': String(bytes),
        'Content-Disposition': 'attachment; filename="paygate-backup.db"',
      },
    }),
  };
}
